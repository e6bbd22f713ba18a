//! Roles, states and usage of messages.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::record;

/// Author of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// The user is the author.
    User,
    /// The model is the author.
    Assistant,
    /// The message is the result of a tool call. The block of the call contains the result as well.
    Tool,
    /// The agent is the author; its message is addressed to the model.
    System,
    /// The message is a summary of earlier messages.
    Summary,
    /// The message is a shell command of the client.
    Shell,
    /// The message is of any other kind, such as a message of an extension.
    #[default]
    #[serde(other)]
    Note,
}

/// State of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum MessageState {
    /// The message is incomplete.
    Growing,
    /// The message is complete.
    #[default]
    Done,
    /// The message ended with an error.
    Failed,
    /// The message was aborted.
    Aborted,
}

/// State of a tool call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ToolState {
    /// The model is writing the call, or the tool has not started.
    #[default]
    Coming,
    /// The tool is running.
    Running,
    /// The tool ended successfully.
    Done,
    /// The call of the tool failed.
    Failed,
    /// The run ended before the tool started.
    Skipped,
}

impl ToolState {
    /// Returns `true` for a final state.
    pub(crate) fn is_over(self) -> bool {
        !matches!(self, ToolState::Coming | ToolState::Running)
    }
}

record! {
    /// Tokens, and the cost in US dollars.
    #[derive(Default)]
    Usage {} {
        /// Number of input tokens.
        input: u64,
        /// Number of output tokens.
        output: u64,
        /// Number of tokens read from the provider's cache.
        cache_read: u64,
        /// Number of tokens written to the provider's cache.
        cache_write: u64,
        /// Number of all tokens.
        total: u64,
        /// Cost in US dollars.
        cost: f64,
        /// The components of a message's cost, in the agent's own format. Absent for sums.
        costs: Value,
    }
}
