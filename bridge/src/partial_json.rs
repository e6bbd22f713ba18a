//! JSON text of growing arguments, for agents that send parsed values instead of JSON text.

use agentese::view::ToolBlock;
use agentese_server_models::StreamEvent;
use serde_json::Value;

use super::convert;

/// Returns the arguments of a complete tool call as JSON text.
pub(super) fn complete_text(tool: &ToolBlock) -> String {
    Value::Object(convert::arguments(tool)).to_string()
}

/// Returns the length in bytes of the text that an event adds. Returns `None` for events without text.
pub(super) fn text_length(event: &StreamEvent) -> Option<usize> {
    match event {
        StreamEvent::TextDelta(text)
        | StreamEvent::ThinkingDelta(text)
        | StreamEvent::ToolCallDelta(text) => Some(text.len()),
        _ => None,
    }
}

/// Returns the JSON text of a growing value, up to the part that may still grow. As long as only the last
/// part grows, each text is a prefix of the next one.
pub(super) fn partial_text(value: &Value) -> String {
    let mut text = String::new();
    write_partial(value, &mut text);
    text
}

fn write_partial(value: &Value, text: &mut String) {
    match value {
        Value::String(words) => {
            let whole = Value::from(words.as_str()).to_string();
            text.push_str(whole.strip_suffix('"').unwrap_or_default());
        }
        Value::Array(items) => {
            text.push('[');
            write_items(items.iter().map(|item| (String::new(), item)), text);
        }
        Value::Object(members) => {
            text.push('{');
            write_items(
                members.iter().map(|(name, item)| (format!("{}:", Value::from(name.as_str())), item)),
                text,
            );
        }
        // A number may get more digits, so it is not written yet.
        Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

fn write_items<'a>(parts: impl Iterator<Item = (String, &'a Value)>, text: &mut String) {
    let mut parts = parts.peekable();
    while let Some((name, value)) = parts.next() {
        text.push_str(&name);
        match parts.peek() {
            Some(_) => {
                text.push_str(&value.to_string());
                text.push(',');
            }
            None => write_partial(value, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_text_is_the_beginning_of_the_next() {
        let growing = [
            json!({}),
            json!({"command": ""}),
            json!({"command": "echo \"a"}),
            json!({"command": "echo \"a\"\n"}),
            json!({"command": "echo \"a\"\n", "timeout": 1}),
            json!({"command": "echo \"a\"\n", "timeout": 12}),
            json!({"command": "echo \"a\"\n", "timeout": 12, "env": [{"name": "A"}]}),
            json!({"command": "echo \"a\"\n", "timeout": 12, "env": [{"name": "A"}, null]}),
        ];
        let texts: Vec<String> = growing.iter().map(partial_text).collect();
        for pair in texts.windows(2) {
            assert!(pair[1].starts_with(&pair[0]), "{pair:?}");
        }
        let whole = growing.last().unwrap().to_string();
        assert!(whole.starts_with(texts.last().unwrap()), "{texts:?}");
        assert_eq!(texts[2], r#"{"command":"echo \"a"#);
        assert_eq!(texts[4], r#"{"command":"echo \"a\"\n","timeout":"#);
    }
}
