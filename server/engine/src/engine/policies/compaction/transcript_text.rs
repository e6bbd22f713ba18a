//! Conversion of a conversation to text, so that a model summarises the conversation and does not continue it.

use agentese::types::{AgentMessage, AssistantBlock, InputBlock, InputContent};

use crate::providers::history;
use crate::session::MessageSnapshot;
use crate::tools::as_terminal_shows;

/// Maximum length of a tool result in the text, in characters.
const RESULT_LIMIT: usize = 2000;

/// Returns the conversation as text: one paragraph for each item, composed when it is requested. Images are left
/// out.
pub(super) fn transcript_paragraphs(
    messages: &MessageSnapshot,
) -> impl Iterator<Item = String> + Send + use<> {
    history::for_model(messages.iter()).flat_map(|message| message_paragraphs(&message))
}

fn message_paragraphs(message: &AgentMessage) -> Vec<String> {
    let mut paragraphs: Vec<String> = Vec::new();
    let mut say = |who: &str, text: &str| {
        if !text.trim().is_empty() {
            paragraphs.push(format!("{who}: {text}"));
        }
    };
    match message {
        AgentMessage::User(message) => match &message.content {
            InputContent::Text(text) => say("User", text),
            InputContent::Blocks(blocks) => say("User", &texts(blocks)),
        },
        AgentMessage::Assistant(answer) => {
            let mut calls = Vec::new();
            for block in &answer.content {
                match block {
                    AssistantBlock::Text(block) => say("Assistant", &block.text),
                    AssistantBlock::Thinking(block) => say("Assistant, thinking", &block.thinking),
                    AssistantBlock::ToolCall(call) => {
                        let arguments = call.arguments.iter().map(|(name, value)| format!("{name}={value}"));
                        calls.push(format!("{}({})", call.name, arguments.collect::<Vec<_>>().join(", ")));
                    }
                    _ => {}
                }
            }
            say("Assistant, calling tools", &calls.join("; "));
        }
        AgentMessage::ToolResult(result) => {
            say("Tool result", &truncate_result(&as_terminal_shows(&texts(&result.content))))
        }
        _ => {}
    }
    paragraphs
}

fn texts(blocks: &[InputBlock]) -> String {
    let text = |block: &InputBlock| match block {
        InputBlock::Text(block) => Some(block.text.clone()),
        _ => None,
    };
    blocks.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

fn truncate_result(text: &str) -> String {
    match text.char_indices().nth(RESULT_LIMIT) {
        None => text.to_owned(),
        Some((end, _)) => {
            let left_out = text[end..].chars().count();
            format!("{}\n[{left_out} more characters left out]", &text[..end])
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::session::StoredMessage;

    #[test]
    fn roles_are_named_and_long_results_are_truncated() {
        let usage = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}});
        let messages: MessageSnapshot = serde_json::from_value::<Vec<AgentMessage>>(json!([
            {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image", "data": "", "mimeType": "image/png"}], "timestamp": 1},
            {"role": "assistant", "api": "a", "provider": "p", "model": "m", "usage": usage, "stopReason": "toolUse", "timestamp": 1,
             "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I look."},
                         {"type": "toolCall", "id": "1", "name": "read", "arguments": {"path": "a b", "limit": 3}}]},
            {"role": "toolResult", "toolCallId": "1", "toolName": "read", "isError": false, "timestamp": 1,
             "content": [{"type": "text", "text": "é".repeat(2005)}]},
        ]))
        .unwrap()
        .into_iter()
        .map(|message| StoredMessage::from(Arc::new(message)))
        .collect();
        let expected = format!(
            "User: look\n\nAssistant, thinking: hm\n\nAssistant: I look.\n\nAssistant, calling tools: \
             read(path=\"a b\", limit=3)\n\nTool result: {}\n[5 more characters left out]",
            "é".repeat(2000)
        );
        assert_eq!(transcript_paragraphs(&messages).collect::<Vec<_>>().join("\n\n"), expected);
        assert_eq!(transcript_paragraphs(&std::iter::empty().collect()).count(), 0);
    }
}
