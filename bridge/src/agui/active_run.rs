//! The active run of an agent. An open question suspends the run.

use agentese::any::Run;
use futures::future::BoxFuture;

/// The active run of the agent for a thread.
pub(super) enum ActiveRun {
    /// The input was sent; the agent has not accepted it yet.
    Starting(BoxFuture<'static, Result<Run, agentese::Error>>),
    /// The agent has accepted the input and works.
    Started(Box<Run>),
}
