//! Other agents that a tool can set to work. The engine implements it; tools know this trait alone.

use std::path::PathBuf;
use std::sync::Arc;

use agentese::types::{AgentMessage, StopReason, ThinkingLevel};
use futures::future::BoxFuture;

use super::ToolSet;

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
    /// Puts a child together; it does nothing yet. It counts against the limit until it is dropped.
    fn start(&self, order: Order) -> BoxFuture<'_, Result<Box<dyn Child>, AgentsError>>;
}
