//! What an agent is put together from, whatever dialect it speaks.

use std::path::Path;
use std::sync::Arc;

use super::{Agents, Undecided};
use crate::engine;
use crate::extensions;
use crate::mcp;
use crate::session::Session;

/// What the frames of a growing answer carry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Updates {
    /// The whole answer so far.
    #[default]
    Snapshots,
    /// Only what is new.
    Delta,
}

/// Makes the parts of an agent that works in another directory, as they would be had it been started there. Fails with a
/// sentence.
pub trait Elsewhere: Send + Sync {
    /// The parts; may block.
    fn parts(&self, cwd: &Path) -> Result<Parts, String>;
}

/// The parts of an agent. Cheap to clone but for the session, of which there is one: see [`Parts::with`].
pub struct Parts {
    /// What its engine is made of. Hooks and commands of extensions are added to it.
    pub options: engine::Options,
    /// The session to go on with; a fresh one where there is none.
    pub session: Option<Session>,
    /// The extensions.
    pub extensions: extensions::Options,
    /// The MCP servers.
    pub mcp: mcp::Options,
    /// Whether somebody has to be asked about the working directory.
    pub undecided: Option<Undecided>,
    /// What the frames of a growing answer carry, in a dialect that leaves it open.
    pub updates: Updates,
    /// Nobody has chosen the tools: a dialect may add its own.
    pub usual_tools: bool,
    /// For sessions in other directories, in protocols that have them; none where nobody makes parts for those.
    pub elsewhere: Option<Arc<dyn Elsewhere>>,
    /// Where other agents carry out the sessions, one agent for each, in protocols that have several; none where this one
    /// does.
    pub agents: Option<Arc<dyn Agents>>,
}

impl Parts {
    /// The same parts for another session, a fresh one where that is none; what it uses is counted by itself. MCP servers
    /// are shared.
    pub fn with(&self, session: Option<Session>) -> Self {
        let mut options = self.options.clone();
        options.ledger = Arc::new(options.ledger.fresh());
        // It is the name of the session that the process begins with.
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
