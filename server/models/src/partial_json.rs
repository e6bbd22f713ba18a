//! Parser for the text of a JSON object that arrives in chunks.

use serde_json::{Map, Value, to_string};

/// Maximum nesting depth, the same as in serde_json.
const MAX_DEPTH: usize = 127;

/// A change of a JSON text, as the arguments of a tool call arrive. The text after the change, followed by `closers`,
/// is a complete JSON object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JsonDelta {
    /// Number of bytes at the start of the earlier text that stay unchanged.
    pub keep: usize,
    /// The text that follows the kept bytes.
    pub text: String,
    /// The characters that close all open values.
    pub closers: String,
}

/// A parser that returns an object with the members that have arrived so far. Open strings, arrays and objects end at
/// the end of the text. An incomplete key or number is left out. The cost of a chunk depends only on the length of the
/// chunk.
///
/// If the text is not JSON, or contains a member twice, the object does not change any more.
#[derive(Debug, Default)]
pub(super) struct PartialJsonParser {
    mode: Mode,
    stack: Vec<Container>,
    /// The characters so far of an incomplete key, number or word.
    token: String,
    /// The characters so far of an incomplete escape, with its backslash.
    escape: String,
    /// The first half of a surrogate pair.
    high_surrogate: Option<u16>,
    /// `true` if the open string is a value.
    in_string: bool,
    /// Spaces at the current end of that string. They are added to the value when another character follows.
    held_spaces: String,
    /// `true` if the object contains the incomplete number or word with its value so far.
    has_partial_scalar: bool,
    /// Length of the text that later chunks do not change.
    written: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Mode {
    /// No character of the object has arrived.
    #[default]
    Start,
    /// The next element is a key, or the end of the object.
    FirstKey,
    /// The next element is a key.
    NextKey,
    /// The position is within a key.
    Key,
    /// The next element is a colon.
    Colon,
    /// The next element is a value, or the end of the array.
    FirstItem,
    /// The next element is a value.
    Value,
    /// The position is within a string.
    String,
    /// The position is within a number or a word.
    Scalar,
    /// The next element is a comma, or the end of the object or array.
    AfterValue,
    /// The object has ended; the rest of the text is ignored.
    Ended,
}

/// An open object or array, with its number of members.
#[derive(Debug)]
enum Container {
    /// The container is an object. Contains the key of its latest member.
    Object(String, usize),
    Array(usize),
}

enum InsertPoint<'a> {
    Object(&'a mut Map<String, Value>, &'a str),
    Array(&'a mut Vec<Value>),
}

impl InsertPoint<'_> {
    fn put(self, value: Value) {
        match self {
            Self::Object(members, key) => drop(members.insert(key.to_owned(), value)),
            Self::Array(items) => items.push(value),
        }
    }

    fn take(self) {
        match self {
            Self::Object(members, key) => drop(members.remove(key)),
            Self::Array(items) => drop(items.pop()),
        }
    }
}

impl PartialJsonParser {
    /// Parses the next chunk and adds its members to `object`, which contains the members of the earlier chunks.
    pub fn push(&mut self, piece: &str, object: &mut Map<String, Value>) -> JsonDelta {
        let keep = self.written;
        let mut text = String::new();
        if std::mem::take(&mut self.has_partial_scalar)
            && let Some(slot) = self.insert_point(object)
        {
            slot.take();
        }
        let mut at = 0;
        while at < piece.len() && self.mode != Mode::Ended {
            at = self.step(piece, at, object, &mut text);
        }
        self.written += text.len();
        // The scalar may continue, and its value may change.
        if self.mode == Mode::Scalar
            && let Ok(value) = serde_json::from_str::<Value>(&self.token)
            && self.is_new(object)
        {
            text.push_str(&self.member_prefix());
            text.push_str(&value.to_string());
            if let Some(slot) = self.insert_point(object) {
                slot.put(value);
                self.has_partial_scalar = true;
            }
        }
        JsonDelta { keep, text, closers: self.closers() }
    }

    /// Parses a part of the chunk from the position `at` on. Returns the position after this part.
    fn step(&mut self, piece: &str, at: usize, object: &mut Map<String, Value>, text: &mut String) -> usize {
        let byte = piece.as_bytes()[at];
        match self.mode {
            Mode::Key => {
                let mut key = std::mem::take(&mut self.token);
                let (after, closed) = self.read_string(piece, at, &mut key);
                match (closed, self.stack.last_mut()) {
                    (true, Some(Container::Object(name, _))) => {
                        *name = key;
                        self.mode = Mode::Colon;
                    }
                    _ => self.token = key,
                }
                return after;
            }
            Mode::String => {
                let mut more = String::new();
                let (after, closed) = self.read_string(piece, at, &mut more);
                self.hold_spaces(&piece[at..after], closed, &mut more);
                let json = to_string(&more).unwrap_or_default();
                text.push_str(json.get(1..json.len().saturating_sub(1)).unwrap_or_default());
                if let Some(string) = self.open_string(object) {
                    string.push_str(&more);
                }
                if closed {
                    text.push('"');
                    self.in_string = false;
                    self.mode = Mode::AfterValue;
                }
                return after;
            }
            Mode::Scalar => {
                let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
                let rest = &piece.as_bytes()[at..];
                let length = rest.iter().position(|byte| !is_part(*byte)).unwrap_or(rest.len());
                self.token.push_str(&piece[at..at + length]);
                if length < rest.len() {
                    let value = serde_json::from_str::<Value>(&self.token).ok();
                    self.mode = Mode::AfterValue;
                    match value {
                        Some(value) => {
                            let json = value.to_string();
                            self.add_value(value, &json, object, text);
                        }
                        None => self.mode = Mode::Ended,
                    }
                }
                return at + length;
            }
            _ if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') => return at + 1,
            _ => {}
        }
        self.mode = match (self.mode, byte) {
            (Mode::Start, b'{') => {
                object.clear();
                self.stack.push(Container::Object(String::new(), 0));
                text.push('{');
                Mode::FirstKey
            }
            (Mode::FirstKey | Mode::NextKey, b'"') => {
                self.token.clear();
                Mode::Key
            }
            (Mode::Colon, b':') => Mode::Value,
            (Mode::FirstKey | Mode::FirstItem | Mode::AfterValue, b'}' | b']') => self.close(byte, text),
            (Mode::AfterValue, b',') => match self.stack.last() {
                Some(Container::Object(..)) => Mode::NextKey,
                _ => Mode::Value,
            },
            (Mode::FirstItem | Mode::Value, b'"') => {
                self.mode = Mode::String;
                self.in_string = self.add_value(Value::String(String::new()), "\"", object, text);
                self.mode
            }
            (Mode::FirstItem | Mode::Value, b'{' | b'[') if self.stack.len() < MAX_DEPTH => {
                let (value, json, open, mode) = match byte {
                    b'{' => {
                        (Value::Object(Map::new()), "{", Container::Object(String::new(), 0), Mode::FirstKey)
                    }
                    _ => (Value::Array(Vec::new()), "[", Container::Array(0), Mode::FirstItem),
                };
                self.mode = mode;
                if self.add_value(value, json, object, text) {
                    self.stack.push(open);
                }
                self.mode
            }
            (Mode::FirstItem | Mode::Value, b'-' | b'0'..=b'9' | b'a'..=b'z') => {
                self.token.clear();
                self.mode = Mode::Scalar;
                return at;
            }
            _ => Mode::Ended,
        };
        at + 1
    }

    /// Adds a value to the innermost open object or array. Returns false if the object already has a member of that
    /// name. The rest of the text is then ignored.
    fn add_value(
        &mut self,
        value: Value,
        json: &str,
        object: &mut Map<String, Value>,
        text: &mut String,
    ) -> bool {
        if !self.is_new(object) {
            self.mode = Mode::Ended;
            return false;
        }
        text.push_str(&self.member_prefix());
        text.push_str(json);
        if let Some(slot) = self.insert_point(object) {
            slot.put(value);
        }
        if let Some(Container::Object(_, members) | Container::Array(members)) = self.stack.last_mut() {
            *members += 1;
        }
        true
    }

    fn close(&mut self, byte: u8, text: &mut String) -> Mode {
        match (self.stack.last(), byte) {
            (Some(Container::Object(..)), b'}') | (Some(Container::Array(_)), b']') => {}
            _ => return Mode::Ended,
        }
        self.stack.pop();
        text.push(char::from(byte));
        if self.stack.is_empty() { Mode::Ended } else { Mode::AfterValue }
    }

    /// Returns the text before the next member of the innermost open object or array: a comma and the key.
    fn member_prefix(&self) -> String {
        let comma = |members: usize| if members > 0 { "," } else { "" };
        match self.stack.last() {
            Some(Container::Object(key, members)) => {
                format!("{}{}:", comma(*members), to_string(key).unwrap_or_default())
            }
            Some(Container::Array(members)) => comma(*members).to_owned(),
            None => String::new(),
        }
    }

    fn closers(&self) -> String {
        if self.written == 0 {
            return "{}".to_owned();
        }
        let mut closers = String::new();
        if self.in_string {
            closers.push('"');
        }
        closers.extend(self.stack.iter().rev().map(|open| match open {
            Container::Object(..) => '}',
            Container::Array(_) => ']',
        }));
        closers
    }

    /// Adds the spaces that were held back before `read`, and holds back the spaces at the end of `read`. So an
    /// incomplete text ends with a whole word, as in the pi family. Escaped spaces are not held back.
    fn hold_spaces(&mut self, read: &str, closed: bool, more: &mut String) {
        let held = match closed || self.mode == Mode::Ended {
            true => 0,
            false => read.len() - read.trim_end().len(),
        };
        let held = more.split_off(more.len() - held);
        if !more.is_empty() || closed {
            more.insert_str(0, &std::mem::take(&mut self.held_spaces));
        }
        self.held_spaces.push_str(&held);
    }

    fn is_new(&self, object: &mut Map<String, Value>) -> bool {
        match self.insert_point(object) {
            Some(InsertPoint::Object(members, key)) => !members.contains_key(key),
            Some(InsertPoint::Array(_)) => true,
            None => false,
        }
    }

    /// Returns the place of the next member in the innermost open object or array.
    fn insert_point<'a>(&'a self, object: &'a mut Map<String, Value>) -> Option<InsertPoint<'a>> {
        let (first, rest) = self.stack.split_first()?;
        let Container::Object(key, _) = first else { return None };
        let mut slot = InsertPoint::Object(object, key);
        for open in rest {
            let child = match slot {
                InsertPoint::Object(members, key) => members.get_mut(key)?,
                InsertPoint::Array(items) => items.last_mut()?,
            };
            slot = match (child, open) {
                (Value::Object(members), Container::Object(key, _)) => InsertPoint::Object(members, key),
                (Value::Array(items), Container::Array(_)) => InsertPoint::Array(items),
                _ => return None,
            };
        }
        Some(slot)
    }

    fn open_string<'a>(&'a self, object: &'a mut Map<String, Value>) -> Option<&'a mut String> {
        let value = match self.insert_point(object)? {
            InsertPoint::Object(members, key) => members.get_mut(key),
            InsertPoint::Array(items) => items.last_mut(),
        };
        match value {
            Some(Value::String(string)) => Some(string),
            _ => None,
        }
    }

    /// Reads characters of a string, up to its end or the end of the chunk. Returns the position after them, and `true`
    /// if the string has ended. Unpaired surrogates become replacement characters.
    fn read_string(&mut self, piece: &str, mut at: usize, into: &mut String) -> (usize, bool) {
        let bytes = piece.as_bytes();
        while at < bytes.len() {
            if !self.escape.is_empty() {
                let Some(character) = piece[at..].chars().next() else { break };
                at += character.len_utf8();
                if !self.push_escape(character, into) {
                    self.mode = Mode::Ended;
                    return (at, false);
                }
                continue;
            }
            let stops = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
            let end = bytes[at..].iter().position(stops).map_or(bytes.len(), |length| at + length);
            if end > at || bytes[end] != b'\\' {
                self.flush_surrogate(into);
            }
            into.push_str(&piece[at..end]);
            at = end + 1;
            match bytes.get(end) {
                None => return (end, false),
                Some(b'"') => return (at, true),
                Some(b'\\') => self.escape.push('\\'),
                Some(_) => {
                    self.mode = Mode::Ended;
                    return (at, false);
                }
            }
        }
        (at, false)
    }

    /// Adds a replacement character for the first half of a surrogate pair without a second half.
    fn flush_surrogate(&mut self, into: &mut String) {
        if self.high_surrogate.take().is_some() {
            into.push(char::REPLACEMENT_CHARACTER);
        }
    }

    /// Reads a character of an escape. Returns false if the escape is not valid.
    fn push_escape(&mut self, character: char, into: &mut String) -> bool {
        self.escape.push(character);
        let length = self.escape.len();
        if length == 2 && character != 'u' {
            self.escape.clear();
            self.flush_surrogate(into);
            into.push(match character {
                '"' | '\\' | '/' => character,
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                _ => return false,
            });
        } else if length > 2 && !character.is_ascii_hexdigit() {
            return false;
        } else if length == 6 {
            let unit = u16::from_str_radix(&self.escape[2..], 16).unwrap_or_default();
            self.escape.clear();
            if let (Some(high), 0xDC00..=0xDFFF) = (self.high_surrogate, unit) {
                self.high_surrogate = None;
                let both = char::decode_utf16([high, unit]).next();
                into.push(both.and_then(Result::ok).unwrap_or(char::REPLACEMENT_CHARACTER));
                return true;
            }
            self.flush_surrogate(into);
            match unit {
                0xD800..=0xDBFF => self.high_surrogate = Some(unit),
                unit => into.push(char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER)),
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Parses chunks, and checks after each one that text and object are equal.
    fn fed<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (Map<String, Value>, usize) {
        let (mut parser, mut object) = (PartialJsonParser::default(), Map::new());
        let (mut text, mut work) = (String::new(), 0);
        for piece in pieces {
            let delta = parser.push(piece, &mut object);
            text.truncate(delta.keep);
            text.push_str(&delta.text);
            work += delta.text.len();
            // A comparison of the whole text after each piece would be quadratic itself.
            if text.len() < 1000 {
                assert_eq!(format!("{text}{}", delta.closers), to_string(&object).unwrap(), "after {piece}");
            }
        }
        (object, work)
    }

    #[track_caller]
    fn check(text: &str, expected: Value) {
        assert_eq!(Value::Object(fed([text]).0), expected, "{text}");
        let characters = text.char_indices().map(|(at, character)| &text[at..at + character.len_utf8()]);
        assert_eq!(Value::Object(fed(characters).0), expected, "{text} in characters");
    }

    #[test]
    fn incomplete_objects_are_read() {
        check("", json!({}));
        check("{", json!({}));
        check(r#"{"comma"#, json!({}));
        check(r#"{"command""#, json!({}));
        check(r#"{"command":"#, json!({}));
        check(r#"{"command": "e"#, json!({"command": "e"}));
        check(r#"{"command": "e\"#, json!({"command": "e"}));
        check(r#"{"command": "e  "#, json!({"command": "e"}));
        check(r#"{"command": "e  f \n "#, json!({"command": "e  f \n"}));
        check(r#"{"command": " e  ", "b": "  "}"#, json!({"command": " e  ", "b": "  "}));
        check(r#"{"command": "e\u00e"#, json!({"command": "e"}));
        check(r#"{"command": "e\u00e4"#, json!({"command": "eä"}));
        check(r#"{"command": "e\ud83d\ude0"#, json!({"command": "e"}));
        check(r#"{"command": "e\ud83d\ude00"#, json!({"command": "e😀"}));
        check(
            r#"{"command": "\ud83dx\ude00\ud83d\ud83d\ude00\ud83d\n\ud83d"}"#,
            json!({"command": "\u{fffd}x\u{fffd}\u{fffd}😀\u{fffd}\n\u{fffd}"}),
        );
        check(r#"{"command": "e\n", "timeout": 1"#, json!({"command": "e\n", "timeout": 1}));
        check(r#"{"a": 1, "b": tr"#, json!({"a": 1}));
        check(r#"{"a": 1, "b": true"#, json!({"a": 1, "b": true}));
        check(r#"{"a": [1, {"b": "c"#, json!({"a": [1, {"b": "c"}]}));
        check(r#"{"a": {"b": 2}, "c"#, json!({"a": {"b": 2}}));
        check(
            r#"{"a": [[], {}, -1.5e3, null, "x"], "\u00e4" : {"b":{}}}  "#,
            json!({"a": [[], {}, -1500.0, null, "x"], "ä": {"b": {}}}),
        );
        check(r#"{"a": 12., "#, json!({}));
        check("[1, 2", json!({}));
        check("nonsense", json!({}));
    }

    #[test]
    fn invalid_json_ends_the_parsing() {
        check("{\"a\": \"b\nc\", \"d\": 1}", json!({"a": "b"}));
        check(r#"{"a": "b\x", "d": 1}"#, json!({"a": "b"}));
        check(r#"{"a": [1}, "d": 1}"#, json!({"a": [1]}));
        check(r#"{"a": 1,, "d": 1}"#, json!({"a": 1}));
        check(r#"{"a": 1} {"d": 1}"#, json!({"a": 1}));
        check(r#"{"a": 1, "a": "x", "d": 1}"#, json!({"a": 1}));
        check(r#"{"a": 1, "a": 2"#, json!({"a": 1}));
        check(
            &format!(r#"{{"a": {}"#, "[".repeat(500)),
            serde_json::from_str(&format!(r#"{{"a": {}{}}}"#, "[".repeat(126), "]".repeat(126))).unwrap(),
        );
    }

    #[test]
    fn arguments_in_40_000_pieces_cost_as_much_as_they_are_long() {
        let string = std::iter::once("{\"content\": \"").chain(std::iter::repeat_n("some words \\n", 40_000));
        let items = std::iter::once("{\"list\": [").chain(std::iter::repeat_n("{\"a\": 12345},", 40_000));
        for pieces in [string.collect::<Vec<_>>(), items.collect()] {
            let length: usize = pieces.iter().map(|piece| piece.len()).sum();
            let (object, work) = fed(pieces);
            assert!(work <= 2 * length, "{work} bytes were written for {length}");
            assert_eq!(object.len(), 1);
        }
    }

    proptest! {
        #[test]
        fn every_beginning_of_an_object_is_an_object_that_agrees_with_it(
            key in "[a-y]{1,5}", text in any::<String>(), number in any::<i32>(), cut in any::<prop::sample::Index>(),
            size in 1..7usize
        ) {
            let whole = json!({key.clone(): text.clone(), "zz": [number, {"deep": text}]});
            let json = to_string(&whole).unwrap();
            let boundaries: Vec<_> = json.char_indices().map(|(at, _)| at).chain([json.len()]).collect();
            let places: Vec<_> = boundaries.iter().copied().step_by(size).chain([json.len()]).collect();
            let pieces = places.windows(2).map(|pair| &json[pair[0]..pair[1]]);
            prop_assert_eq!(Value::Object(fed(pieces).0), whole);
            let (part, _) = fed([&json[..boundaries[cut.index(boundaries.len())]]]);
            if let Some(found) = part.get(&key) {
                prop_assert!(text.starts_with(found.as_str().unwrap()));
            }
        }
    }
}
