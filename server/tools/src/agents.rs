//! Other agents that a tool can start. The engine implements the trait; tools only know the trait.

use std::sync::Arc;

use agentese::types::{
    AgentMessage, AssistantMessage, BudgetViolationReason, StopReason, SubagentVerificationCommandEnd,
    SubagentVerificationCommandStart, SubagentVerificationEnd, SubagentVerificationStart, ToolCall,
    VerificationResult,
};
use futures::future::BoxFuture;

use super::output::ToolOutput;

/// Callback for the steps of a child. Must not block.
pub type StepCallback = Arc<dyn Fn(ChildStep<'_>) + Send + Sync>;

/// A step of a child.
#[derive(Debug, Clone, Copy)]
pub enum ChildStep<'a> {
    /// The child called a tool.
    Called(&'a ToolCall),
    /// The call ended.
    Returned(&'a ToolCall, &'a ToolOutput),
    /// The model of the child completed a message.
    Answered(&'a AssistantMessage),
}

/// Events about a child for subscribers of the parent, except its start.
#[derive(Debug, Clone, Copy)]
pub enum SubagentEvent<'a> {
    /// An attempt to verify its work started.
    VerificationStarted(&'a SubagentVerificationStart),
    /// A command of the verification is about to run.
    VerificationCommandStarted(&'a SubagentVerificationCommandStart),
    /// A command of the verification has ended.
    VerificationCommandEnded(&'a SubagentVerificationCommandEnd),
    /// An attempt to verify has ended.
    VerificationEnded(&'a SubagentVerificationEnd),
    /// The child and its verification ended.
    Ended {
        /// 0 if the child succeeded.
        exit_code: i64,
        /// Result of the verification.
        verification: Option<&'a VerificationResult>,
    },
}

/// Response of a child.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildAnswer {
    /// Text of the child's last message.
    pub text: String,
    /// Stop reason of that message.
    pub stop: StopReason,
    /// Error of the child, if any.
    pub error: Option<String>,
    /// Conversation of the child.
    pub messages: Vec<Arc<AgentMessage>>,
}

/// Reason for a failed start or a rejected prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubagentError {
    /// The parent is at the maximum depth.
    #[error("a subagent at depth {0} cannot start subagents")]
    TooDeep(usize),
    /// The maximum number of children is reached.
    #[error("{0} subagents are already running")]
    TooMany(usize),
    /// A limit of the budget is reached.
    // The text is from pisces.
    #[error("Budget exceeded ({0})")]
    Budget(BudgetViolationReason),
    /// The components of the child are not available.
    #[error("{0}")]
    Unusable(String),
    /// The child rejected the prompt.
    #[error("{0}")]
    PromptRejected(String),
}

/// A child: an agent with a conversation of its own. Dropping it aborts its work.
pub trait Child: Send + Sync {
    /// Sends a prompt and waits for the response. An abort of the call that started the child, or dropping
    /// the future, stops the child.
    fn prompt<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<ChildAnswer, SubagentError>>;
}
