//! Interfaces for agents that a tool can start. The engine implements them, so that tools do not depend on
//! the engine.

use std::sync::Arc;

use agentese::types::{
    AgentMessage, AssistantMessage, BudgetViolationReason, StopReason, SubagentVerificationCommandEnd,
    SubagentVerificationCommandStart, SubagentVerificationEnd, SubagentVerificationStart, ToolCall,
    VerificationResult,
};
use futures::future::BoxFuture;

use super::output::ToolOutput;

/// Callback that receives the steps of a subagent. It must not block.
pub type StepCallback = Arc<dyn Fn(ChildStep<'_>) + Send + Sync>;

/// A step of a subagent.
#[derive(Debug, Clone, Copy)]
pub enum ChildStep<'a> {
    /// The subagent called a tool.
    Called(&'a ToolCall),
    /// The call ended with this output.
    Returned(&'a ToolCall, &'a ToolOutput),
    /// The model of the subagent completed a message.
    Answered(&'a AssistantMessage),
}

/// Events about a subagent that the parent's subscribers receive. The event of its start is not included.
#[derive(Debug, Clone, Copy)]
pub enum SubagentEvent<'a> {
    /// An attempt to verify the subagent's work started.
    VerificationStarted(&'a SubagentVerificationStart),
    /// A command of the verification is about to run.
    VerificationCommandStarted(&'a SubagentVerificationCommandStart),
    /// A command of the verification has ended.
    VerificationCommandEnded(&'a SubagentVerificationCommandEnd),
    /// An attempt to verify has ended.
    VerificationEnded(&'a SubagentVerificationEnd),
    /// The subagent and its verification ended.
    Ended {
        /// 0 if the subagent succeeded.
        exit_code: i64,
        /// Result of the verification.
        verification: Option<&'a VerificationResult>,
    },
}

/// The answer of a subagent to a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildAnswer {
    /// Text of the subagent's last message.
    pub text: String,
    /// Stop reason of the subagent's last message.
    pub stop: StopReason,
    /// Error of the subagent, if any.
    pub error: Option<String>,
    /// Conversation of the subagent.
    pub messages: Vec<Arc<AgentMessage>>,
}

/// Reason why a subagent could not be started, or rejected a prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubagentError {
    /// The parent has the maximum depth, which is given here.
    #[error("a subagent at depth {0} cannot start subagents")]
    TooDeep(usize),
    /// The maximum number of subagents is running. The value is this maximum.
    #[error("{0} subagents are already running")]
    TooMany(usize),
    /// A limit of the budget is reached.
    // The text is from pisces.
    #[error("Budget exceeded ({0})")]
    Budget(BudgetViolationReason),
    /// The model or another component of the subagent is not available.
    #[error("{0}")]
    Unusable(String),
    /// The subagent rejected the prompt.
    #[error("{0}")]
    PromptRejected(String),
}

/// A child: an agent with a conversation of its own. Dropping it aborts its work.
pub trait Child: Send + Sync {
    /// Sends a prompt and waits for the answer. The subagent stops if the future is dropped, or if the call
    /// that started it is aborted.
    fn prompt<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<ChildAnswer, SubagentError>>;
}
