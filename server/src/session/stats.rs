//! What a conversation amounts to.

use std::sync::Arc;

use agentese::types::{AgentMessage, AssistantBlock, Usage};

/// Counts of a list of messages, and the tokens and the cost of their answers and of the subagents that they tell of.
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
                AgentMessage::ToolResult(result) => {
                    stats.tool_results += 1;
                    // What the subagents of a call have used stands in its result.
                    let used = result.details.as_option().and_then(|details| details.get("usage"));
                    if let Some(used) = used.and_then(|used| agentese::wire::decode(&used.to_string()).ok()) {
                        stats.add(&used);
                    }
                }
                AgentMessage::Assistant(answer) => {
                    stats.assistant_messages += 1;
                    let calls = answer.content.iter();
                    stats.tool_calls +=
                        calls.filter(|block| matches!(block, AssistantBlock::ToolCall(_))).count() as u64;
                    stats.add(&answer.usage);
                }
                _ => {}
            }
        }
        stats
    }

    fn add(&mut self, usage: &Usage) {
        self.input = self.input.saturating_add(usage.input);
        self.output = self.output.saturating_add(usage.output);
        self.cache_read = self.cache_read.saturating_add(usage.cache_read);
        self.cache_write = self.cache_write.saturating_add(usage.cache_write);
        self.cost += usage.cost.total.as_f64().unwrap_or_default();
    }

    /// Tokens of all four kinds together.
    pub fn tokens(&self) -> u64 {
        [self.output, self.cache_read, self.cache_write].into_iter().fold(self.input, u64::saturating_add)
    }
}
