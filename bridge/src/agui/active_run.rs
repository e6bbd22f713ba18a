//! The active run of an agent, which a question suspends.

use agentese::any::Run;
use futures::future::BoxFuture;

/// The active run of the agent for a thread.
pub(super) enum ActiveRun {
    /// The agent has the input, and has not accepted it yet.
    Starting(BoxFuture<'static, Result<Run, agentese::Error>>),
    /// The agent works.
    Started(Box<Run>),
}
