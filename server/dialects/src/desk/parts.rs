//! The parts of an agent, independent of its dialect.

use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::agents::{Abilities, Kept, Trouble};
use super::trust::Undecided;
use crate::engine;
use crate::extensions;
use crate::mcp;
use crate::session::Session;

/// The content of the frames of a growing answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Updates {
    /// The whole answer so far.
    #[default]
    Snapshots,
    /// The additions since the previous frame.
    Delta,
}

/// Creates the parts of an agent in another directory, equal to the parts of an agent that is started there.
/// Fails with a sentence for the client.
pub trait Elsewhere: Send + Sync {
    /// Returns the parts. May block.
    fn parts(&self, cwd: &Path) -> Result<Parts, String>;
}

/// The parts of an agent. Cheap to clone except for the session, which is unique: see [`Parts::with`].
pub struct Parts {
    /// The options of its engine. Hooks and commands of extensions are added to them.
    pub options: engine::Options,
    /// The session to continue, or `None` for a new one.
    pub session: Option<Session>,
    /// The extensions.
    pub extensions: extensions::Options,
    /// The MCP servers.
    pub mcp: mcp::Options,
    /// The question about trust in the working directory, if it is open.
    pub undecided: Option<Undecided>,
    /// The content of the frames of a growing answer, in a dialect that leaves it open.
    pub updates: Updates,
    /// True if no tools were configured, so that a dialect may add its own.
    pub usual_tools: bool,
    /// The factory for sessions in other directories, in protocols that have them. `None` if those sessions
    /// use the same parts.
    pub elsewhere: Option<Arc<dyn Elsewhere>>,
    /// The remote agents, one for each session, in protocols with several sessions. `None` if this agent
    /// carries out the sessions.
    pub agents: Option<Arc<dyn Agents>>,
}

impl Parts {
    /// Returns the same parts for another session, or for a new one. The new parts count their usage
    /// separately and share the MCP servers.
    pub fn with(&self, session: Option<Session>) -> Self {
        let mut options = self.options.clone();
        options.ledger = Arc::new(options.ledger.fresh());
        // The name belongs to the initial session of the process.
        options.session_name = None;
        Self {
            options,
            session,
            extensions: self.extensions.clone(),
            mcp: self.mcp.clone(),
            undecided: self.undecided.clone(),
            updates: self.updates,
            usual_tools: self.usual_tools,
            elsewhere: self.elsewhere.clone(),
            agents: self.agents.clone(),
        }
    }
}

/// Starts an agent for each session of a client, and knows their stored sessions.
pub trait Agents: Send + Sync {
    /// Returns the common abilities of the agents.
    fn abilities(&self) -> Abilities;

    /// Starts an agent in a directory, for a new session or for the stored session with that id. Returns
    /// `None` if no such session exists. Awaits `before` after the session is found and before the agent
    /// opens it, so that `before` can close the session elsewhere.
    fn join<'a>(
        &'a self,
        cwd: &'a Path,
        session: Option<&'a str>,
        before: BoxFuture<'a, ()>,
    ) -> BoxFuture<'a, Result<Option<Parts>, Trouble>>;

    /// Ends the agent of a session, if there is one.
    fn leave<'a>(&'a self, session: &'a str) -> BoxFuture<'a, ()>;

    /// Returns the stored sessions, newest first, optionally of one directory.
    fn list<'a>(&'a self, cwd: Option<&'a str>) -> BoxFuture<'a, Result<Vec<Kept>, Trouble>>;

    /// Deletes a session that no agent has open. Returns false if there is no such session.
    fn delete<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, Trouble>>;
}
