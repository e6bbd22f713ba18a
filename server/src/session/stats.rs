//! What a conversation amounts to.

use std::sync::Arc;

use agentese::types::{AgentMessage, AssistantBlock};

/// Counts, tokens and cost of a list of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stats {
    /// Messages of the user.
    pub user_messages: u64,
    /// Answers of the model.
    pub assistant_messages: u64,
    /// Tool calls within those.
    pub tool_calls: u64,
    /// Results of tools.
    pub tool_results: u64,
    /// All messages, of every role.
    pub total_messages: u64,
    /// Tokens that went in and did not come from a cache.
    pub input: u64,
    /// Tokens that came out.
    pub output: u64,
    /// Tokens read from a cache.
    pub cache_read: u64,
    /// Tokens written to a cache.
    pub cache_write: u64,
    /// US dollars.
    pub cost: f64,
}

impl Stats {
    pub(super) fn of(messages: &[Arc<AgentMessage>]) -> Self {
        let mut stats = Self { total_messages: messages.len() as u64, ..Self::default() };
        for message in messages {
            match &**message {
                AgentMessage::User(_) => stats.user_messages += 1,
                AgentMessage::ToolResult(_) => stats.tool_results += 1,
                AgentMessage::Assistant(answer) => {
                    stats.assistant_messages += 1;
                    let calls = answer.content.iter();
                    stats.tool_calls +=
                        calls.filter(|block| matches!(block, AssistantBlock::ToolCall(_))).count() as u64;
                    stats.input = stats.input.saturating_add(answer.usage.input);
                    stats.output = stats.output.saturating_add(answer.usage.output);
                    stats.cache_read = stats.cache_read.saturating_add(answer.usage.cache_read);
                    stats.cache_write = stats.cache_write.saturating_add(answer.usage.cache_write);
                    stats.cost += answer.usage.cost.total.as_f64().unwrap_or_default();
                }
                _ => {}
            }
        }
        stats
    }

    /// Tokens of all four kinds together.
    pub fn tokens(&self) -> u64 {
        [self.output, self.cache_read, self.cache_write].into_iter().fold(self.input, u64::saturating_add)
    }
}
