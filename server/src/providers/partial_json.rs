//! Reading JSON that is still being written.

use serde_json::{Map, Value};

/// The object that a text begins, as far as it goes: open strings, arrays and objects are closed
/// where the text ends, and what cannot be closed yet (half a key, half a number) is left out. A
/// text that is no beginning of an object gives an empty one.
pub(super) fn object(text: &str) -> Map<String, Value> {
    let parse = |text: &str| match agentese::wire::decode(text) {
        Ok(Value::Object(members)) => Some(members),
        _ => None,
    };
    if let Some(members) = parse(text) {
        return members;
    }
    let scanned = Scan::of(text);
    let (end, stack) = &scanned.end;
    parse(&closed(&text[..*end], scanned.in_string, stack))
        .or_else(|| {
            let (safe, stack) = &scanned.safe;
            parse(&closed(&text[..*safe], false, stack))
        })
        .unwrap_or_default()
}

fn closed(text: &str, in_string: bool, stack: &[u8]) -> String {
    let mut whole = String::with_capacity(text.len() + stack.len() + 1);
    whole.push_str(text);
    if in_string {
        whole.push('"');
    }
    whole.extend(stack.iter().rev().map(|closer| char::from(*closer)));
    whole
}

/// Where a text can be cut, and what is open there.
struct Scan {
    /// The end, before an escape that is not complete.
    end: (usize, Vec<u8>),
    in_string: bool,
    /// After the last value that is complete, or the last bracket that opened.
    safe: (usize, Vec<u8>),
}

impl Scan {
    fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut stack: Vec<u8> = Vec::new();
        let mut safe = (0, Vec::new());
        // Whether the string that is open, or was closed last, is a key.
        let mut key = false;
        let mut expects_key = false;
        let mut position = 0;
        while position < bytes.len() {
            match bytes[position] {
                b'"' => {
                    key = expects_key;
                    match string_end(bytes, position + 1) {
                        Ok(after) => {
                            position = after;
                            if !key {
                                safe = (position, stack.clone());
                            }
                            continue;
                        }
                        Err(end) => return Self { end: (end, stack), in_string: true, safe },
                    }
                }
                open @ (b'{' | b'[') => {
                    stack.push(if open == b'{' { b'}' } else { b']' });
                    expects_key = open == b'{';
                    safe = (position + 1, stack.clone());
                }
                b'}' | b']' => {
                    stack.pop();
                    expects_key = false;
                    safe = (position + 1, stack.clone());
                }
                b':' => expects_key = false,
                b',' => {
                    // What stands before a comma is complete, a number among others.
                    if !key || !expects_key {
                        safe = (position, stack.clone());
                    }
                    expects_key = stack.last() == Some(&b'}');
                }
                _ => {}
            }
            position += 1;
        }
        Self { end: (bytes.len(), stack), in_string: false, safe }
    }
}

/// The position after the closing quote, or where to cut a string that is not closed.
fn string_end(bytes: &[u8], mut position: usize) -> Result<usize, usize> {
    while position < bytes.len() {
        match bytes[position] {
            b'"' => return Ok(position + 1),
            b'\\' => {
                let wide = bytes.get(position + 1) == Some(&b'u');
                let length = if wide { 6 } else { 2 };
                // A high surrogate means nothing without the escape that follows it.
                let high = wide
                    && matches!(bytes.get(position + 2), Some(b'd' | b'D'))
                    && matches!(bytes.get(position + 3), Some(b'8' | b'9' | b'a' | b'b' | b'A' | b'B'));
                let length = if high { 12 } else { length };
                if position + length > bytes.len() {
                    return Err(position);
                }
                position += length;
            }
            _ => position += 1,
        }
    }
    Err(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[track_caller]
    fn check(text: &str, expected: Value) {
        assert_eq!(Value::Object(object(text)), expected, "{text}");
    }

    #[test]
    fn what_is_there_is_read() {
        check("", json!({}));
        check("{", json!({}));
        check(r#"{"comma"#, json!({}));
        check(r#"{"command""#, json!({}));
        check(r#"{"command":"#, json!({}));
        check(r#"{"command": "e"#, json!({"command": "e"}));
        check(r#"{"command": "e\"#, json!({"command": "e"}));
        check(r#"{"command": "e\u00e"#, json!({"command": "e"}));
        check(r#"{"command": "e\ud83d\ude0"#, json!({"command": "e"}));
        check(r#"{"command": "e\n", "timeout": 1"#, json!({"command": "e\n", "timeout": 1}));
        check(r#"{"a": 1, "b": tr"#, json!({"a": 1}));
        check(r#"{"a": [1, {"b": "c"#, json!({"a": [1, {"b": "c"}]}));
        check(r#"{"a": {"b": 2}, "c"#, json!({"a": {"b": 2}}));
        check(r#"{"a": 12., "#, json!({}));
        check("[1, 2", json!({}));
        check("nonsense", json!({}));
    }

    proptest! {
        #[test]
        fn every_beginning_of_an_object_is_an_object_that_agrees_with_it(
            key in "[a-y]{1,5}", text in any::<String>(), number in any::<i32>(), cut in any::<prop::sample::Index>()
        ) {
            let whole = json!({key.clone(): text.clone(), "zz": [number, {"deep": text}]});
            let json = serde_json::to_string(&whole).unwrap();
            let boundaries: Vec<_> = json.char_indices().map(|(at, _)| at).chain([json.len()]).collect();
            let part = object(&json[..boundaries[cut.index(boundaries.len())]]);
            if let Some(found) = part.get(&key) {
                prop_assert!(text.starts_with(found.as_str().unwrap()));
            }
        }
    }
}
