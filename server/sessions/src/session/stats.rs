//! Statistics of a conversation.

use std::sync::Arc;

use agentese::types::{AgentMessage, AssistantBlock, Usage};
use agentese::wire::decode;

use super::body::Body;
use super::entry::Entry;

/// Counts, tokens and cost of messages. Tokens and cost include subagents that are reported in tool results.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stats {
    /// Number of messages of the user.
    pub user_messages: u64,
    /// Number of answers of the model.
    pub assistant_messages: u64,
    /// Number of tool calls in the answers.
    pub tool_calls: u64,
    /// Number of results of tools.
    pub tool_results: u64,
    /// Number of all messages, of every role.
    pub total_messages: u64,
    /// Number of input tokens that did not come from a cache.
    pub input: u64,
    /// Number of output tokens.
    pub output: u64,
    /// Number of tokens read from a cache.
    pub cache_read: u64,
    /// Number of tokens written to a cache.
    pub cache_write: u64,
    /// Cost in US dollars.
    pub cost: f64,
}

impl Stats {
    pub(super) fn of(messages: impl Iterator<Item = Arc<AgentMessage>>) -> Self {
        let mut stats = Self::default();
        messages.for_each(|message| stats.count(&message));
        stats
    }

    /// Returns the statistics of all entries of a file: messages of all branches, including compacted ones, and the
    /// usage of summaries.
    pub(super) fn of_file(entries: &[Entry]) -> Self {
        let mut stats = Self::default();
        for entry in entries {
            let says_what_it_took = match entry.body() {
                Body::Message(_) => {
                    entry.message().into_iter().for_each(|message| stats.count(&message));
                    false
                }
                Body::Compaction(_) | Body::BranchSummary(_) => true,
                // It belongs to a request that is not an answer, such as one that keeps a cache warm.
                Body::Other(kind) => kind == "usage",
                _ => false,
            };
            if says_what_it_took {
                let took = entry.member("usage").and_then(|usage| decode(&usage).ok());
                took.iter().for_each(|took| stats.add(took));
            }
        }
        stats
    }

    fn count(&mut self, message: &AgentMessage) {
        self.total_messages += 1;
        match message {
            AgentMessage::User(_) => self.user_messages += 1,
            AgentMessage::ToolResult(result) => {
                self.tool_results += 1;
                // The result of a call contains the usage of its subagents.
                let used = result.details.as_option().and_then(|details| details.get("usage"));
                if let Some(used) = used.and_then(|used| decode(&used.to_string()).ok()) {
                    self.add(&used);
                }
            }
            AgentMessage::Assistant(answer) => {
                self.assistant_messages += 1;
                let calls = answer.content.iter();
                self.tool_calls +=
                    calls.filter(|block| matches!(block, AssistantBlock::ToolCall(_))).count() as u64;
                self.add(&answer.usage);
            }
            _ => {}
        }
    }

    fn add(&mut self, usage: &Usage) {
        self.input = self.input.saturating_add(usage.input);
        self.output = self.output.saturating_add(usage.output);
        self.cache_read = self.cache_read.saturating_add(usage.cache_read);
        self.cache_write = self.cache_write.saturating_add(usage.cache_write);
        self.cost += usage.cost.total.as_f64().unwrap_or_default();
    }

    /// Returns the number of tokens of all four kinds.
    pub fn tokens(&self) -> u64 {
        [self.output, self.cache_read, self.cache_write].into_iter().fold(self.input, u64::saturating_add)
    }
}
