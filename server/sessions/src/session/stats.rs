//! What a conversation amounts to.

use std::sync::Arc;

use agentese::types::{AgentMessage, AssistantBlock, Usage};
use agentese::wire::decode;

use super::body::Body;
use super::entry::Entry;

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
    pub(super) fn of(messages: impl Iterator<Item = Arc<AgentMessage>>) -> Self {
        let mut stats = Self::default();
        messages.for_each(|message| stats.count(&message));
        stats
    }

    /// The figures of a whole file: messages of all branches, also of those that were compacted, and what summaries took.
    pub(super) fn of_file(entries: &[Entry]) -> Self {
        let mut stats = Self::default();
        for entry in entries {
            let says_what_it_took = match entry.body() {
                Body::Message(_) => {
                    entry.message().into_iter().for_each(|message| stats.count(&message));
                    false
                }
                Body::Compaction(_) | Body::BranchSummary(_) => true,
                // It is about something that is no answer, such as keeping a cache warm.
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
                // What the subagents of a call have used stands in its result.
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

    /// Tokens of all four kinds together.
    pub fn tokens(&self) -> u64 {
        [self.output, self.cache_read, self.cache_write].into_iter().fold(self.input, u64::saturating_add)
    }
}
