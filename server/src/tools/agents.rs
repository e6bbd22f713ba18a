//! Other agents that a tool can set to work. The engine implements it; tools know this trait alone.

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

/// What a child is to be.
#[derive(Clone)]
pub struct Order {
    /// Names it among the children, in events.
    pub id: String,
    /// The agent that it is, in events.
    pub agent: String,
    /// What its model is told beforehand, in place of what the parent's is.
    pub instructions: String,
    /// Its tools; those of the parent where it is none. Guards of the parent look at their calls as well.
    pub tools: Option<ToolSet>,
    /// Its model, as `--model` reads it; the parent's where it is none.
    pub model: Option<String>,
    /// How hard that thinks; as the parent's does where it is none.
    pub thinking: Option<ThinkingLevel>,
    /// The directory in which it works; the parent's where it is none.
    pub cwd: Option<PathBuf>,
    /// The file that keeps its conversation; nothing does where it is none.
    pub history: Option<PathBuf>,
    /// It works in a copy of the directory: for the event that tells of it.
    pub isolated: bool,
    /// It goes on with the work of a child that was told of: no event tells that it starts, and it does not count as
    /// another child.
    pub resumes: bool,
    /// Sees what it does.
    pub watch: Option<Watch>,
}

/// Sees what a child does, step by step. Must not block.
pub type Watch = Arc<dyn Fn(ChildStep<'_>) + Send + Sync>;

/// A step of a child.
#[derive(Debug, Clone, Copy)]
pub enum ChildStep<'a> {
    /// It calls a tool.
    Called(&'a ToolCall),
    /// The call is over.
    Returned(&'a ToolCall, &'a ToolOutput),
    /// Its model has answered.
    Answered(&'a AssistantMessage),
}

/// What those who listen to the parent are told of a child, besides that it starts.
#[derive(Debug, Clone, Copy)]
pub enum ChildNews<'a> {
    /// An attempt to verify what it did begins.
    VerificationStarted(&'a SubagentVerificationStart),
    /// A command of the verification is about to run.
    VerificationCommandStarted(&'a SubagentVerificationCommandStart),
    /// A command of the verification has ended.
    VerificationCommandEnded(&'a SubagentVerificationCommandEnd),
    /// An attempt to verify has ended.
    VerificationEnded(&'a SubagentVerificationEnd),
    /// It has ended, and its verification with it.
    Ended {
        /// 0 where it did what it was told.
        exit_code: i64,
        /// What came of verifying.
        verification: Option<&'a VerificationResult>,
    },
}

/// What the one who sets children to work is.
#[derive(Clone)]
pub struct Parent {
    /// Its own tools.
    pub tools: ToolSet,
    /// Its model, as `provider/id`.
    pub model: Option<String>,
    /// The file of its session; none where that is in memory alone.
    pub session_file: Option<PathBuf>,
    /// How many generations of children there may be below it.
    pub generations: usize,
}

/// How a child answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildAnswer {
    /// The text of its last answer.
    pub text: String,
    /// How that ended.
    pub stop: StopReason,
    /// What went wrong, where something did.
    pub error: Option<String>,
    /// Its conversation.
    pub messages: Vec<Arc<AgentMessage>>,
}

/// Why no child is started, or does nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentsError {
    /// Its parent is a child already, and that many generations are enough.
    #[error("a subagent at depth {0} cannot start subagents")]
    TooDeep(usize),
    /// There are that many already.
    #[error("{0} subagents are at work already")]
    TooMany(usize),
    /// A limit of the budget is reached.
    // The text is the one that pisces gives.
    #[error("Budget exceeded ({0})")]
    Budget(BudgetViolationReason),
    /// Its parts cannot be had.
    #[error("{0}")]
    Unusable(String),
    /// It does not take the words.
    #[error("{0}")]
    Refused(String),
}

/// A child: an agent with a conversation of its own. Dropping it aborts what it does.
pub trait Child: Send + Sync {
    /// Says something to it and waits for its answer. An abort of the call that started it, and dropping the future, stop
    /// it.
    fn say<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<ChildAnswer, AgentsError>>;
}

/// Sets other agents to work.
pub trait Agents: Send + Sync {
    /// What the one who does so is; none where it has ended.
    fn parent(&self) -> Option<Parent>;

    /// Tells those who listen to the parent of a child.
    fn tell(&self, id: &str, agent: &str, news: ChildNews<'_>);

    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> i64;

    /// Waits that long, by the parent's clock. Dropping the future stops waiting.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// Whether those who guard the parent's calls allow this one; if not, what the model is told. An abort of the call
    /// that started it refuses it.
    fn may<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<(), String>>;

    /// Puts a child together; it does nothing yet. It counts against the limit until it is dropped.
    fn start(&self, order: Order) -> BoxFuture<'_, Result<Box<dyn Child>, AgentsError>>;
}
