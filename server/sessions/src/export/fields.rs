//! Access to members of entries from any program. A member that is missing, or has another type, counts as
//! empty.

use serde_json::Value;

/// Returns a string member.
pub(super) fn optional_text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

/// Returns a string member, or an empty text.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    optional_text(value, name).unwrap_or_default()
}

/// Returns true if the member is `true`.
pub(super) fn flag(value: &Value, name: &str) -> bool {
    value.get(name).is_some_and(|value| value == &Value::Bool(true))
}

/// Returns the elements of a list member.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the message of an entry of type `message`.
pub(super) fn message(entry: &Value) -> Option<&Value> {
    (text(entry, "type") == "message").then(|| entry.get("message")).flatten()
}

/// Returns the role of an entry's message, or an empty text for other entries.
pub(super) fn role(entry: &Value) -> &str {
    message(entry).map_or("", |message| text(message, "role"))
}

/// Returns the text of a message's content. If the content is a list of blocks, returns the text blocks, each
/// on its own line.
pub(super) fn plain_content(message: &Value) -> String {
    if let Some(content) = optional_text(message, "content") {
        return content.to_owned();
    }
    let texts = list(message, "content").iter().filter(|block| text(block, "type") == "text");
    texts.map(|block| text(block, "text")).collect::<Vec<_>>().join("\n")
}

/// Returns the tool calls of an answer, each with the index of its content block.
pub(super) fn calls(entry: &Value) -> impl Iterator<Item = (usize, &Value)> {
    let blocks = message(entry).map_or(&[][..], |message| list(message, "content"));
    blocks.iter().enumerate().filter(|(_, block)| text(block, "type") == "toolCall")
}
