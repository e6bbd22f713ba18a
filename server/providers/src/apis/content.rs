//! Text and reasoning in all forms in which model servers send them.

use serde_json::Value;

use super::block_sequencer::BlockPart;

/// Maximum depth of nested lists of parts.
const MAX_DEPTH: usize = 6;

/// Returns the text and the reasoning in a content: a string, a part with a type, or a list of these. Other parts are
/// ignored.
pub(super) fn parts(content: &Value) -> Vec<BlockPart> {
    let mut found = Vec::new();
    collect(content, false, MAX_DEPTH, &mut found);
    found
}

/// Returns the arguments of a call as JSON text. An object is converted to text; a string is returned as it is. Returns
/// `None` if the call has no arguments.
pub(super) fn arguments(arguments: &Value) -> Option<String> {
    match arguments {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn collect(content: &Value, thinks: bool, depth: usize, found: &mut Vec<BlockPart>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match content {
        Value::String(text) if text.is_empty() => {}
        Value::String(text) if thinks => found.push(BlockPart::Thinking(text.clone())),
        Value::String(text) => found.push(BlockPart::Text(text.clone())),
        Value::Array(list) => list.iter().for_each(|part| collect(part, thinks, depth, found)),
        Value::Object(part) => {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or("text");
            let (thinks, members): (bool, &[&str]) = match kind {
                "text" | "output_text" | "text_delta" => (thinks, &["text", "content"]),
                "refusal" => (thinks, &["refusal"]),
                "thinking" | "thinking_delta" => (true, &["thinking", "text", "content"]),
                "reasoning" | "reasoning_text" | "summary_text" => {
                    (true, &["text", "reasoning", "summary", "content"])
                }
                _ => return,
            };
            if let Some(inner) = members.iter().find_map(|name| part.get(*name)) {
                collect(inner, thinks, depth, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn content_is_read_in_each_of_its_forms() {
        let (text, thought) =
            (|it: &str| BlockPart::Text(it.into()), |it: &str| BlockPart::Thinking(it.into()));
        for (content, expected) in [
            (json!("hi"), vec![text("hi")]),
            (json!(""), vec![]),
            (
                json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
                vec![text("a"), text("b")],
            ),
            (
                json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "a"}]),
                vec![thought("hm"), text("a")],
            ),
            (json!({"type": "thinking", "thinking": "hm"}), vec![thought("hm")]),
            (json!({"type": "refusal", "refusal": "no"}), vec![text("no")]),
            (json!(["a", "b"]), vec![text("a"), text("b")]),
            (json!([{"type": "image_url", "image_url": {}}, null, 7]), vec![]),
            (json!([[[[[[["deep"]]]]]]]), vec![]),
        ] {
            assert_eq!(parts(&content), expected, "{content}");
        }
    }

    #[test]
    fn arguments_in_any_form_become_text() {
        assert_eq!(arguments(&json!(null)), None);
        assert_eq!(arguments(&json!("{\"a\":")).as_deref(), Some("{\"a\":"));
        assert_eq!(arguments(&json!({"a": 1})).as_deref(), Some("{\"a\":1}"));
        assert_eq!(arguments(&json!([1])).as_deref(), Some("[1]"));
    }
}
