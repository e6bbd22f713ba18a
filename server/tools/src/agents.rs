//! Other agents that a tool can start. The engine implements the trait; tools only know the trait.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentese::types::{
    AgentMessage, AssistantMessage, BudgetViolationReason, StopReason, SubagentVerificationCommandEnd,
    SubagentVerificationCommandStart, SubagentVerificationEnd, SubagentVerificationStart, ThinkingLevel,
    ToolCall, VerificationResult,
};
use futures::future::BoxFuture;

use super::{ToolOutput, ToolSet};

/// Specification of a child agent.
#[derive(Clone)]
pub struct Order {
    /// Identifies the child in events.
    pub id: String,
    /// Name of the agent, in events.
    pub agent: String,
    /// Base of its system prompt, in place of the parent's.
    pub instructions: String,
    /// Its tools; `None` for the parent's tools. Guards of the parent check its calls too.
    pub tools: Option<ToolSet>,
    /// Its model, in the form of `--model`; `None` for the parent's model.
    pub model: Option<String>,
    /// Its thinking level; `None` for the parent's level.
    pub thinking: Option<ThinkingLevel>,
    /// Its working directory; `None` for the parent's directory.
    pub cwd: Option<PathBuf>,
    /// The file for its conversation; `None` for no file.
    pub history: Option<PathBuf>,
    /// True if it works in a copy of the directory, for the event of its start.
    pub isolated: bool,
    /// True if it continues the work of an earlier child: no event reports its start, and it does not add to
    /// the number of children.
    pub resumes: bool,
    /// Receives its steps.
    pub watch: Option<Watch>,
}

/// Callback for the steps of a child. Must not block.
pub type Watch = Arc<dyn Fn(ChildStep<'_>) + Send + Sync>;

/// A step of a child.
#[derive(Debug, Clone, Copy)]
pub enum ChildStep<'a> {
    /// The child called a tool.
    Called(&'a ToolCall),
    /// The call ended.
    Returned(&'a ToolCall, &'a ToolOutput),
    /// Its model completed a message.
    Answered(&'a AssistantMessage),
}

/// Events about a child for subscribers of the parent, except its start.
#[derive(Debug, Clone, Copy)]
pub enum ChildNews<'a> {
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

/// Data of the parent agent.
#[derive(Clone)]
pub struct Parent {
    /// Its own tools.
    pub tools: ToolSet,
    /// Its model, as `provider/id`.
    pub model: Option<String>,
    /// The file of its session; `None` for a session in memory.
    pub session_file: Option<PathBuf>,
    /// Number of further generations of children.
    pub generations: usize,
}

/// Response of a child.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildAnswer {
    /// The text of its last message.
    pub text: String,
    /// Stop reason of that message.
    pub stop: StopReason,
    /// The error, if any.
    pub error: Option<String>,
    /// Its conversation.
    pub messages: Vec<Arc<AgentMessage>>,
}

/// Reason for a failed start or a rejected prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentsError {
    /// The parent is at the maximum depth.
    #[error("a subagent at depth {0} cannot start subagents")]
    TooDeep(usize),
    /// The maximum number of children is reached.
    #[error("{0} subagents are at work already")]
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
    Refused(String),
}

/// A child: an agent with a conversation of its own. Dropping it aborts its work.
pub trait Child: Send + Sync {
    /// Sends a prompt and waits for the response. An abort of the call that started the child, or dropping
    /// the future, stops the child.
    fn say<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<ChildAnswer, AgentsError>>;
}

/// Starts other agents.
pub trait Agents: Send + Sync {
    /// Returns the data of the parent, or `None` after its end.
    fn parent(&self) -> Option<Parent>;

    /// Emits an event about a child to subscribers of the parent.
    fn tell(&self, id: &str, agent: &str, news: ChildNews<'_>);

    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> i64;

    /// Waits for that duration by the parent's clock. Dropping the future ends the wait.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// Requests permission for a call from the guards of the parent. Fails with a message for the model. An
    /// abort of the call that started the child denies the permission.
    fn may<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<(), String>>;

    /// Creates a child, which is idle at first. The child is included in the number of children until it is
    /// dropped.
    fn start(&self, order: Order) -> BoxFuture<'_, Result<Box<dyn Child>, AgentsError>>;
}
