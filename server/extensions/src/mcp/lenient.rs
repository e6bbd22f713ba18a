//! Lenient reading of lists and results from servers. A part that does not fit the schema of the protocol is left out
//! and reported.

use rmcp::model::{CallToolResult, ContentBlock, GetPromptResult, Prompt, PromptMessage, Role, Tool};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::providers::schema_problem;

/// Maximum number of left-out items that are reported one by one.
const MAX_NAMED: usize = 10;
/// Maximum displayed length of a name or type, in characters.
const MAX_SHOWN: usize = 80;

/// A page of a list.
#[derive(Debug)]
pub(super) struct Page<T> {
    pub items: Vec<T>,
    pub cursor: Option<String>,
    /// A sentence for each item that is left out.
    pub left_out: Vec<String>,
}

/// An item of a list.
pub(super) trait ListItem: DeserializeOwned {
    /// The member that contains the list. Its name without the final `s` is the name of one item.
    const MEMBER: &'static str;

    /// Returns a text about the error in an item. Returns `None` if the item is valid.
    fn problem(item: &Value) -> Option<String>;
}

impl ListItem for Tool {
    const MEMBER: &'static str = "tools";

    fn problem(item: &Value) -> Option<String> {
        match item.get("inputSchema") {
            None => Some("it has no inputSchema".to_owned()),
            Some(schema) => schema_problem(schema),
        }
    }
}

impl ListItem for Prompt {
    const MEMBER: &'static str = "prompts";

    fn problem(_: &Value) -> Option<String> {
        None
    }
}

/// Reads a page item by item. Returns `None` if the result contains no list.
pub(super) fn parse_page<T: ListItem>(result: &Value) -> Option<Page<T>> {
    let list = result.get(T::MEMBER)?.as_array()?;
    let (mut items, mut left_out) = (Vec::with_capacity(list.len()), Vec::new());
    for item in list {
        let read = match T::problem(item) {
            Some(problem) => Err(problem),
            None => serde_json::from_value(item.clone()).map_err(|error| error.to_string()),
        };
        match read {
            Ok(item) => items.push(item),
            Err(problem) => {
                let name = item["name"].as_str().map_or_else(|| "without a name".to_owned(), quoted);
                let word = T::MEMBER.trim_end_matches('s');
                left_out.push(format!("the {word} {name} is left out: {problem}"));
            }
        }
    }
    let cursor = result["nextCursor"].as_str().filter(|cursor| !cursor.is_empty());
    Some(Page { items, cursor: cursor.map(str::to_owned), left_out })
}

/// Returns the first [`MAX_NAMED`] sentences. If there are more, adds a sentence with their number.
pub(super) fn limit_sentences(mut sentences: Vec<String>) -> Vec<String> {
    if let Some(more) = sentences.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        sentences.truncate(MAX_NAMED);
        sentences.push(format!("and {more} more are left out"));
    }
    sentences
}

/// Reads the result of a tool call part by part. Returns `None` if the value is not a tool result.
pub(super) fn parse_result(value: &Value) -> Option<CallToolResult> {
    let known = ["content", "structuredContent", "isError"];
    if known.iter().all(|name| value.get(*name).is_none()) {
        return None;
    }
    let content = match &value["content"] {
        Value::Array(parts) => parts.iter().map(content_block).collect(),
        Value::Null => Vec::new(),
        one => vec![content_block(one)],
    };
    let mut result = CallToolResult::default();
    result.content = content;
    result.structured_content = value.get("structuredContent").filter(|value| !value.is_null()).cloned();
    result.is_error = value["isError"].as_bool();
    Some(result)
}

/// Reads the messages of a prompt one by one. Returns `None` if the value contains no list of messages.
pub(super) fn parse_prompt(value: &Value) -> Option<GetPromptResult> {
    let message = |message: &Value| {
        let role = serde_json::from_value(message["role"].clone()).unwrap_or(Role::User);
        PromptMessage::new(role, content_block(&message["content"]))
    };
    Some(GetPromptResult::new(value.get("messages")?.as_array()?.iter().map(message).collect()))
}

fn content_block(part: &Value) -> ContentBlock {
    if let Value::String(text) = part {
        return ContentBlock::text(text.clone());
    }
    if let Ok(block) = serde_json::from_value(part.clone()) {
        return block;
    }
    let known = ["text", "image", "audio", "resource", "resource_link"];
    ContentBlock::text(match part["type"].as_str() {
        Some(kind) if known.contains(&kind) => {
            format!("[A part of the result is left out: it is not a valid {}.]", quoted(kind))
        }
        Some(kind) => format!("[A part of the result is left out: its type {} is not known.]", quoted(kind)),
        None => "[A part of the result is left out: it has no type.]".to_owned(),
    })
}

fn quoted(text: &str) -> String {
    json!(text.chars().take(MAX_SHOWN).collect::<String>()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_tool_is_left_out_of_ten() {
        let good = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
        let list = json!({"nextCursor": "on", "tools": [
            good("a"),
            {"name": "null", "inputSchema": null},
            {"name": "missing"},
            {"name": "text", "inputSchema": {"type": "string"}},
            {"inputSchema": {"type": "object"}},
            {"name": "list", "inputSchema": []},
            7,
            good("b"),
            {"name": "odd", "description": 7, "inputSchema": {}},
        ]});
        let page = parse_page::<Tool>(&list).unwrap();
        let names: Vec<_> = page.items.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!((names, page.cursor.as_deref()), (vec!["a", "b"], Some("on")));
        let starts = [
            "the tool \"null\" is left out: its schema is null, not an object",
            "the tool \"missing\" is left out: it has no inputSchema",
            "the tool \"text\" is left out: its schema has the type \"string\"",
            "the tool without a name is left out: ",
            "the tool \"list\" is left out: its schema is a list, not an object",
            "the tool without a name is left out: it has no inputSchema",
            "the tool \"odd\" is left out: invalid type",
        ];
        assert_eq!(page.left_out.len(), starts.len(), "{:?}", page.left_out);
        for (sentence, start) in page.left_out.iter().zip(starts) {
            assert!(sentence.starts_with(start), "{sentence}");
        }
        assert!(parse_page::<Tool>(&json!({"tools": null})).is_none());
        assert_eq!(limit_sentences(vec![String::new(); 25]).last().unwrap(), "and 15 more are left out");
    }

    #[test]
    fn parts_of_a_result_that_are_not_known_become_text() {
        let value = json!({"isError": true, "content": [
            {"type": "text", "text": "a"},
            {"type": "hologram", "data": 1},
            {"type": "image", "data": 7},
            {"no": "type"},
            "plain",
        ]});
        let result = parse_result(&value).unwrap();
        let texts: Vec<_> =
            result.content.iter().map(|block| serde_json::to_value(block).unwrap()["text"].clone()).collect();
        assert_eq!(
            texts,
            [
                "a",
                "[A part of the result is left out: its type \"hologram\" is not known.]",
                "[A part of the result is left out: it is not a valid \"image\".]",
                "[A part of the result is left out: it has no type.]",
                "plain",
            ]
        );
        assert_eq!(result.is_error, Some(true));
        assert_eq!(parse_result(&json!({"content": "words"})).unwrap().content.len(), 1);
        assert!(parse_result(&json!({"tools": []})).is_none());
        let prompt = |content: Value| json!({"messages": [{"role": "assistant", "content": content}]});
        let parsed = parse_prompt(&prompt(json!({"type": "hologram"}))).unwrap();
        assert_eq!(parsed.messages[0].role, Role::Assistant);
        assert_eq!(
            parsed.messages[0].content,
            ContentBlock::text("[A part of the result is left out: its type \"hologram\" is not known.]")
        );
        assert!(parse_prompt(&json!({})).is_none());
    }
}
