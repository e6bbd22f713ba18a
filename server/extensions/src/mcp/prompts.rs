//! Prompts of servers as slash commands: their arguments and their expansion.

use agentese::types::ImageContent;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, Role};
use serde_json::Value;

use super::result::prompt_content;
use crate::resources::split_arguments;
use crate::tools::ToolContent;

/// The text and images into which a server expands a prompt. They replace the user's input.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptExpansion {
    /// Text of the input.
    pub text: String,
    /// Images of the input.
    pub images: Vec<ImageContent>,
}

/// Assigns words to the arguments of a prompt. A word `name=value` is assigned by name, the others in order; the last
/// argument receives all remaining words. Fails if a required argument is missing; the error names it.
pub(super) fn parse_arguments(prompt: &Prompt, text: &str) -> Result<JsonObject, String> {
    let declared = prompt.arguments.as_deref().unwrap_or_default();
    let mut given = JsonObject::new();
    let mut rest = Vec::new();
    for word in split_arguments(text) {
        match word.split_once('=') {
            Some((name, value)) if declared.iter().any(|argument| argument.name == name) => {
                given.insert(name.to_owned(), value.into());
            }
            _ => rest.push(word),
        }
    }
    let mut open = declared.iter().filter(|argument| !given.contains_key(&argument.name)).collect::<Vec<_>>();
    open.truncate(rest.len().max(1));
    let mut rest = rest.into_iter();
    let count = open.len();
    let mut placed = Vec::new();
    for (place, argument) in open.into_iter().enumerate() {
        let value = match place + 1 == count {
            true => rest.by_ref().collect::<Vec<_>>().join(" "),
            false => rest.next().unwrap_or_default(),
        };
        if !value.is_empty() {
            placed.push((argument.name.clone(), Value::from(value)));
        }
    }
    given.extend(placed);
    let missing =
        |argument: &&PromptArgument| argument.required == Some(true) && !given.contains_key(&argument.name);
    match declared.iter().find(missing) {
        Some(argument) => {
            let usage = declared.iter().map(|argument| match argument.required {
                Some(true) => format!(" <{}>", argument.name),
                _ => format!(" [{}]", argument.name),
            });
            Err(format!(
                "the argument \"{}\" is missing; expected:{}",
                argument.name,
                usage.collect::<String>()
            ))
        }
        None => Ok(given),
    }
}

/// Combines the messages of a prompt into one user input. If a message is not from the user, each text begins with the
/// role of its message.
pub(super) fn combine_messages(result: GetPromptResult) -> PromptExpansion {
    let alone = result.messages.iter().all(|message| matches!(message.role, Role::User));
    let mut texts = Vec::new();
    let mut images = Vec::new();
    for message in result.messages {
        let speaker = match message.role {
            _ if alone => "",
            Role::User => "User: ",
            Role::Assistant => "Assistant: ",
        };
        match prompt_content(message.content) {
            ToolContent::Text(text) => texts.push(format!("{speaker}{text}")),
            ToolContent::Image { data, mime_type } => images.push(ImageContent::new(data, mime_type)),
        }
    }
    PromptExpansion { text: texts.join("\n\n"), images }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn given(declared: Value, words: &str) -> Result<Value, String> {
        let prompt: Prompt = serde_json::from_value(json!({"name": "p", "arguments": declared})).unwrap();
        parse_arguments(&prompt, words).map(Value::Object)
    }

    #[test]
    fn arguments_are_given_in_order_or_by_name() {
        let declared = || json!([{"name": "city", "required": true}, {"name": "when"}, {"name": "how"}]);
        for (words, expected) in [
            ("Oslo", json!({"city": "Oslo"})),
            ("Oslo now", json!({"city": "Oslo", "when": "now"})),
            ("\"New York\" now by train", json!({"city": "New York", "when": "now", "how": "by train"})),
            ("when=now Oslo x=y", json!({"when": "now", "city": "Oslo", "how": "x=y"})),
        ] {
            assert_eq!(given(declared(), words), Ok(expected), "{words}");
        }
        assert_eq!(
            given(declared(), "when=now"),
            Err("the argument \"city\" is missing; expected: <city> [when] [how]".to_owned())
        );
        assert_eq!(given(json!(null), "what ever"), Ok(json!({})));
        assert_eq!(given(json!([{"name": "all"}]), "a b  c"), Ok(json!({"all": "a b c"})));
    }

    #[test]
    fn messages_become_one() {
        let of = |messages: Value| {
            combine_messages(serde_json::from_value(json!({"messages": messages})).unwrap())
        };
        let message =
            |role: &str, text: &str| json!({"role": role, "content": {"type": "text", "text": text}});
        assert_eq!(of(json!([message("user", "a"), message("user", "b")])).text, "a\n\nb");
        assert_eq!(
            of(json!([message("user", "a"), message("assistant", "b")])).text,
            "User: a\n\nAssistant: b"
        );
        let image =
            json!({"role": "user", "content": {"type": "image", "data": "AA==", "mimeType": "image/png"}});
        let both = of(json!([message("user", "see"), image]));
        assert_eq!((both.text.as_str(), both.images.len()), ("see", 1));
    }
}
