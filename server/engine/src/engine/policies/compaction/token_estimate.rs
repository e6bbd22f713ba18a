//! Number of tokens in a conversation. It is the count of the provider, plus an estimate for messages that the
//! provider has not counted.

use std::sync::Arc;

use agentese::types::{
    AgentMessage, AssistantBlock, InputBlock, InputContent, Model, StopReason, ToolDeclaration, Usage,
};
use serde_json::Value;

use crate::config::CompactionSettings;
use crate::dialect_messages;
use crate::providers::tokens;
use crate::session::{MessageSnapshot, Session};

/// Average number of characters per token, used without a tokenizer.
const CHARACTERS_PER_TOKEN: usize = 4;
/// Length of an image for the estimate, in characters.
const IMAGE_CHARACTERS: usize = 4800;

/// Returns `true` if a compaction is due: it is enabled, and `tokens` exceed the model's context minus the reserved
/// tokens.
pub(crate) fn is_due(settings: &CompactionSettings, tokens: u64, model: &Model) -> bool {
    settings.enabled && tokens > model.context_window.saturating_sub(settings.reserve_tokens)
}

/// A conversation whose messages are decoded one by one.
pub(crate) trait MessageHistory {
    /// Returns the messages, the newest first.
    fn newest_first(&self) -> impl Iterator<Item = Arc<AgentMessage>>;

    /// Returns the number of messages since the newest compaction. Older messages are the ones that the compaction
    /// kept. Token counts in them describe the context before that compaction.
    fn count_since_compaction(&self) -> usize;
}

impl MessageHistory for Session {
    fn newest_first(&self) -> impl Iterator<Item = Arc<AgentMessage>> {
        self.messages_rev()
    }

    fn count_since_compaction(&self) -> usize {
        self.message_count().saturating_sub(self.compacted_messages())
    }
}

/// A copy of the conversation of a session, for work that has no access to the session itself.
#[derive(Debug)]
pub(crate) struct ConversationSnapshot {
    messages: MessageSnapshot,
    since_compaction: usize,
}

impl ConversationSnapshot {
    /// Takes a snapshot of the conversation.
    pub fn of(session: &mut Session) -> Self {
        Self { since_compaction: session.count_since_compaction(), messages: session.message_snapshot() }
    }

    /// Returns `true` if the conversation is so long that other work should not wait while it is read.
    pub fn is_long(&self) -> bool {
        self.messages.is_long()
    }
}

impl MessageHistory for ConversationSnapshot {
    fn newest_first(&self) -> impl Iterator<Item = Arc<AgentMessage>> {
        self.messages.iter().rev()
    }

    fn count_since_compaction(&self) -> usize {
        self.since_compaction
    }
}

/// Returns the number of tokens in the conversation, as in [`counted_tokens`]; without a count, an estimate of all
/// messages.
pub(crate) fn context_tokens(conversation: &impl MessageHistory) -> u64 {
    counted_tokens(conversation).unwrap_or_else(|| estimate(conversation.newest_first()))
}

/// Returns the token count of the newest answer that has one, plus an estimate of the later messages. Returns
/// `None` if no answer since the newest compaction has a count.
pub(crate) fn counted_tokens(conversation: &impl MessageHistory) -> Option<u64> {
    let mut later = 0_u64;
    for message in conversation.newest_first().take(conversation.count_since_compaction()) {
        if let Some(tokens) = reported_tokens(&message) {
            return Some(later.saturating_add(tokens));
        }
        later = later.saturating_add(message_tokens(&message));
    }
    None
}

/// Converts `keep` from tokens as the provider counts them to estimated tokens. The result is smaller than `keep`
/// if the provider counted more tokens for the newest answer's request than were estimated.
pub(crate) fn scale_to_estimate(keep: u64, conversation: &impl MessageHistory) -> u64 {
    let newest = conversation.newest_first().find_map(|message| match &*message {
        AgentMessage::Assistant(answer) if reported_tokens(&message).is_some() => {
            Some(answer.usage.input + answer.usage.cache_read + answer.usage.cache_write)
        }
        _ => None,
    });
    let counted = newest.unwrap_or(0);
    let estimated = estimate(conversation.newest_first().take(conversation.count_since_compaction()));
    if estimated == 0 || counted <= estimated {
        return keep;
    }
    let kept = u128::from(keep) * u128::from(estimated) / u128::from(counted);
    u64::try_from(kept).unwrap_or(keep).max(1)
}

/// Returns an estimate for messages, in tokens.
pub(crate) fn estimate(messages: impl Iterator<Item = Arc<AgentMessage>>) -> u64 {
    messages.fold(0, |sum: u64, message| sum.saturating_add(message_tokens(&message)))
}

/// Returns the number of tokens that the provider counted for a complete answer. Returns `None` if there is no
/// count.
fn reported_tokens(message: &AgentMessage) -> Option<u64> {
    match message {
        AgentMessage::Assistant(answer)
            if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) =>
        {
            Some(total_tokens(&answer.usage)).filter(|tokens| *tokens > 0)
        }
        _ => None,
    }
}

fn total_tokens(usage: &Usage) -> u64 {
    usage.total_tokens.filter(|total| *total > 0).unwrap_or_else(|| tokens(usage))
}

/// Returns an estimate for one message, in tokens, rounded up.
pub(super) fn message_tokens(message: &AgentMessage) -> u64 {
    characters(message).div_ceil(CHARACTERS_PER_TOKEN) as u64
}

fn characters(message: &AgentMessage) -> usize {
    match message {
        AgentMessage::User(message) => match &message.content {
            InputContent::Text(text) => character_count(text),
            InputContent::Blocks(blocks) => blocks.iter().map(block_characters).sum(),
        },
        AgentMessage::Assistant(answer) => answer.content.iter().map(answer_block_characters).sum(),
        AgentMessage::ToolResult(result) => result.content.iter().map(block_characters).sum(),
        AgentMessage::BashExecution(command) => {
            character_count(&command.command) + character_count(&command.output)
        }
        AgentMessage::Custom(message) => match &message.content {
            InputContent::Text(text) => character_count(text),
            InputContent::Blocks(blocks) => blocks.iter().map(block_characters).sum(),
        },
        AgentMessage::BranchSummary(message) => character_count(&message.summary),
        AgentMessage::CompactionSummary(message) => character_count(&message.summary),
        AgentMessage::System(message) => {
            let sections = message.sections.iter().flat_map(|sections| sections.values());
            let tools = message.tools_added.iter().flatten();
            let tool = |tool: &ToolDeclaration| {
                character_count(&tool.name)
                    + character_count(&tool.description)
                    + Value::from(tool.parameters.clone()).to_string().len()
            };
            sections.filter_map(Value::as_str).map(character_count).sum::<usize>()
                + tools.map(tool).sum::<usize>()
        }
        AgentMessage::Unknown(unknown) => match dialect_messages::content_of(unknown) {
            Some((InputContent::Blocks(blocks), _)) => blocks.iter().map(block_characters).sum(),
            Some((InputContent::Text(text), _)) => character_count(&text),
            None => 0,
        },
        _ => 0,
    }
}

fn character_count(text: &str) -> usize {
    text.chars().count()
}

fn block_characters(block: &InputBlock) -> usize {
    match block {
        InputBlock::Text(block) => character_count(&block.text),
        InputBlock::Image(_) => IMAGE_CHARACTERS,
        _ => 0,
    }
}

fn answer_block_characters(block: &AssistantBlock) -> usize {
    match block {
        AssistantBlock::Text(block) => character_count(&block.text),
        AssistantBlock::Thinking(block) => character_count(&block.thinking),
        AssistantBlock::ToolCall(call) => {
            let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
            character_count(&call.name) + character_count(&arguments)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// All messages, and the number of messages at the start that a compaction kept.
    struct CompactedHistory<'a>(&'a [Arc<AgentMessage>], usize);

    impl MessageHistory for CompactedHistory<'_> {
        fn newest_first(&self) -> impl Iterator<Item = Arc<AgentMessage>> {
            self.0.iter().rev().cloned()
        }

        fn count_since_compaction(&self) -> usize {
            self.0.len() - self.1
        }
    }

    fn message(value: Value) -> Arc<AgentMessage> {
        Arc::new(serde_json::from_value(value).unwrap())
    }

    fn user(text: &str) -> Arc<AgentMessage> {
        message(json!({"role": "user", "content": text, "timestamp": 1}))
    }

    fn answer(text: &str, stop: &str, input: u64) -> Arc<AgentMessage> {
        message(json!({
            "role": "assistant", "content": [{"type": "text", "text": text}],
            "api": "a", "provider": "p", "model": "m", "stopReason": stop, "timestamp": 1,
            "usage": {"input": input, "output": 0, "cacheRead": 0, "cacheWrite": 0,
                      "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
        }))
    }

    #[test]
    fn provider_count_takes_precedence_over_an_estimate() {
        let context_tokens = |messages: &[Arc<AgentMessage>]| context_tokens(&CompactedHistory(messages, 0));
        assert_eq!(context_tokens(&[]), 0);
        assert_eq!(context_tokens(&[user("12345")]), 2);
        assert_eq!(context_tokens(&[user("12345"), answer("x", "stop", 700), user("1234")]), 701);
        // A failed answer and one without counts are ignored.
        assert_eq!(context_tokens(&[answer("x", "stop", 700), answer("12345678", "error", 900)]), 702);
        assert_eq!(context_tokens(&[answer("12345678", "stop", 0)]), 2);
    }

    #[test]
    fn counts_before_a_compaction_are_ignored() {
        let tokens = |messages: &[Arc<AgentMessage>], compacted: usize| {
            (
                context_tokens(&CompactedHistory(messages, compacted)),
                counted_tokens(&CompactedHistory(messages, compacted)),
            )
        };
        let messages = [user("12345678"), answer("1234", "stop", 900), user("1234")];
        assert_eq!(tokens(&messages, 0), (901, Some(901)));
        assert_eq!(tokens(&messages, 2), (4, None));
        let since = [&messages[..], &[answer("x", "stop", 70), user("1234")]].concat();
        assert_eq!(tokens(&since, 2), (71, Some(71)));
        let failed = [&messages[..], &[answer("", "error", 0)]].concat();
        assert_eq!(tokens(&failed, 2).1, None);
    }

    #[test]
    fn images_and_arguments_are_estimated() {
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        assert_eq!(
            message_tokens(&message(json!({"role": "user", "content": [image], "timestamp": 1}))),
            1200
        );
        let call = json!([{"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": "ls"}}]);
        let mut value = serde_json::to_value(&*answer("", "toolUse", 0)).unwrap();
        value["content"] = call;
        // `bash` and `{"command":"ls"}`.
        assert_eq!(message_tokens(&message(value)), 5);
    }
}
