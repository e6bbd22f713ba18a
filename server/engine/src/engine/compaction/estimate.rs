//! Number of tokens in a conversation: the count of the provider, and an estimate for the rest.

use std::sync::Arc;

use agentese::types::{
    AgentMessage, AssistantBlock, InputBlock, InputContent, Model, StopReason, ToolDeclaration, Usage,
};
use serde_json::Value;

use crate::config::CompactionSettings;
use crate::providers::tokens;
use crate::roles;
use crate::session::{Session, Transcript};

/// Average number of characters per token, used without a tokenizer.
const CHARACTERS_PER_TOKEN: usize = 4;
/// Length of an image for the estimate, in characters.
const IMAGE: usize = 4800;

/// Returns `true` if `tokens` exceed the model's context without the reserved part.
pub(crate) fn is_due(settings: &CompactionSettings, tokens: u64, model: &Model) -> bool {
    settings.enabled && tokens > model.context_window.saturating_sub(settings.reserve_tokens)
}

/// A conversation whose messages are decoded one by one.
pub(crate) trait Conversation {
    /// Returns the messages, the newest first.
    fn back(&self) -> impl Iterator<Item = Arc<AgentMessage>>;

    /// Returns the number of messages since the newest compaction. The older messages are the ones that the
    /// compaction left. Their token counts belong to the context before the compaction, not to this one.
    fn fresh(&self) -> usize;
}

impl Conversation for Session {
    fn back(&self) -> impl Iterator<Item = Arc<AgentMessage>> {
        self.messages_back()
    }

    fn fresh(&self) -> usize {
        self.message_count().saturating_sub(self.compacted_messages())
    }
}

/// The conversation of a session at one moment, for work that no longer holds the session.
#[derive(Debug)]
pub(crate) struct Snapshot {
    messages: Transcript,
    fresh: usize,
}

impl Snapshot {
    /// Takes a snapshot of the conversation.
    pub fn of(session: &mut Session) -> Self {
        Self { fresh: session.fresh(), messages: session.transcript() }
    }

    /// Returns `true` if reading the whole conversation takes so long that other work should not wait for it.
    pub fn is_long(&self) -> bool {
        self.messages.is_long()
    }
}

impl Conversation for Snapshot {
    fn back(&self) -> impl Iterator<Item = Arc<AgentMessage>> {
        self.messages.iter().rev()
    }

    fn fresh(&self) -> usize {
        self.fresh
    }
}

/// Returns the number of tokens in the conversation, as in [`counted_tokens`]; without a count, an estimate of all
/// messages.
pub(crate) fn context_tokens(conversation: &impl Conversation) -> u64 {
    counted_tokens(conversation).unwrap_or_else(|| estimate(conversation.back()))
}

/// Returns the count of the last answer that has one, plus an estimate of the later messages. Returns `None` if there
/// is no count since the newest compaction.
pub(crate) fn counted_tokens(conversation: &impl Conversation) -> Option<u64> {
    let mut later = 0_u64;
    for message in conversation.back().take(conversation.fresh()) {
        if let Some(tokens) = counted(&message) {
            return Some(later.saturating_add(tokens));
        }
        later = later.saturating_add(message_tokens(&message));
    }
    None
}

/// Converts a number of tokens to keep from the provider's count to the estimate. The result is smaller if the provider
/// counted more tokens for the request of the newest answer than the estimate.
pub(crate) fn kept_by_count(wanted: u64, conversation: &impl Conversation) -> u64 {
    let newest = conversation.back().find_map(|message| match &*message {
        AgentMessage::Assistant(answer) if counted(&message).is_some() => {
            Some(answer.usage.input + answer.usage.cache_read + answer.usage.cache_write)
        }
        _ => None,
    });
    let asked = newest.unwrap_or(0);
    let estimated = estimate(conversation.back().take(conversation.fresh()));
    if estimated == 0 || asked <= estimated {
        return wanted;
    }
    let kept = u128::from(wanted) * u128::from(estimated) / u128::from(asked);
    u64::try_from(kept).unwrap_or(wanted).max(1)
}

/// Returns an estimate for messages, in tokens.
pub(crate) fn estimate(messages: impl Iterator<Item = Arc<AgentMessage>>) -> u64 {
    messages.fold(0, |sum: u64, message| sum.saturating_add(message_tokens(&message)))
}

/// Returns the provider's count for a complete answer; `None` without a count.
fn counted(message: &AgentMessage) -> Option<u64> {
    match message {
        AgentMessage::Assistant(answer)
            if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) =>
        {
            Some(total(&answer.usage)).filter(|tokens| *tokens > 0)
        }
        _ => None,
    }
}

fn total(usage: &Usage) -> u64 {
    usage.total_tokens.filter(|total| *total > 0).unwrap_or_else(|| tokens(usage))
}

/// Returns an estimate for one message, in tokens, rounded up.
pub(super) fn message_tokens(message: &AgentMessage) -> u64 {
    characters(message).div_ceil(CHARACTERS_PER_TOKEN) as u64
}

fn characters(message: &AgentMessage) -> usize {
    match message {
        AgentMessage::User(message) => match &message.content {
            InputContent::Text(text) => count(text),
            InputContent::Blocks(blocks) => blocks.iter().map(block).sum(),
        },
        AgentMessage::Assistant(answer) => answer.content.iter().map(answer_block).sum(),
        AgentMessage::ToolResult(result) => result.content.iter().map(block).sum(),
        AgentMessage::BashExecution(command) => count(&command.command) + count(&command.output),
        AgentMessage::Custom(message) => match &message.content {
            InputContent::Text(text) => count(text),
            InputContent::Blocks(blocks) => blocks.iter().map(block).sum(),
        },
        AgentMessage::BranchSummary(message) => count(&message.summary),
        AgentMessage::CompactionSummary(message) => count(&message.summary),
        AgentMessage::System(message) => {
            let sections = message.sections.iter().flat_map(|sections| sections.values());
            let tools = message.tools_added.iter().flatten();
            let tool = |tool: &ToolDeclaration| {
                count(&tool.name)
                    + count(&tool.description)
                    + Value::from(tool.parameters.clone()).to_string().len()
            };
            sections.filter_map(Value::as_str).map(count).sum::<usize>() + tools.map(tool).sum::<usize>()
        }
        AgentMessage::Unknown(unknown) => match roles::content_of(unknown) {
            Some((InputContent::Blocks(blocks), _)) => blocks.iter().map(block).sum(),
            Some((InputContent::Text(text), _)) => count(&text),
            None => 0,
        },
        _ => 0,
    }
}

fn count(text: &str) -> usize {
    text.chars().count()
}

fn block(block: &InputBlock) -> usize {
    match block {
        InputBlock::Text(block) => count(&block.text),
        InputBlock::Image(_) => IMAGE,
        _ => 0,
    }
}

fn answer_block(block: &AssistantBlock) -> usize {
    match block {
        AssistantBlock::Text(block) => count(&block.text),
        AssistantBlock::Thinking(block) => count(&block.thinking),
        AssistantBlock::ToolCall(call) => {
            let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
            count(&call.name) + count(&arguments)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Messages, with the number of the first ones that a compaction kept.
    struct Left<'a>(&'a [Arc<AgentMessage>], usize);

    impl Conversation for Left<'_> {
        fn back(&self) -> impl Iterator<Item = Arc<AgentMessage>> {
            self.0.iter().rev().cloned()
        }

        fn fresh(&self) -> usize {
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
    fn what_the_provider_counted_wins_over_an_estimate() {
        let context_tokens = |messages: &[Arc<AgentMessage>]| context_tokens(&Left(messages, 0));
        assert_eq!(context_tokens(&[]), 0);
        assert_eq!(context_tokens(&[user("12345")]), 2);
        assert_eq!(context_tokens(&[user("12345"), answer("x", "stop", 700), user("1234")]), 701);
        // A failed answer and one without counts are ignored.
        assert_eq!(context_tokens(&[answer("x", "stop", 700), answer("12345678", "error", 900)]), 702);
        assert_eq!(context_tokens(&[answer("12345678", "stop", 0)]), 2);
    }

    #[test]
    fn what_was_counted_before_a_compaction_does_not_count() {
        let tokens = |messages: &[Arc<AgentMessage>], compacted: usize| {
            (context_tokens(&Left(messages, compacted)), counted_tokens(&Left(messages, compacted)))
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
    fn images_and_arguments_count() {
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
