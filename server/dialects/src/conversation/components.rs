//! The components of an agent, independent of its dialect.

use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::remote_agents::{ListedSession, RemoteCapabilities, RemoteSessionError};
use super::trust::PendingTrust;
use crate::engine;
use crate::extensions;
use crate::mcp;
use crate::session::Session;

/// The content of the frames that a server sends while the model writes an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UpdateContent {
    /// Each frame contains the whole answer so far.
    #[default]
    Snapshots,
    /// Each frame contains only the additions since the previous frame.
    Delta,
}

/// Creates the components of an agent that works in another directory. They equal the components of an agent that
/// is started there. The error is a sentence that the client can show.
pub trait ComponentsFactory: Send + Sync {
    /// Returns the components. May block.
    fn components(&self, cwd: &Path) -> Result<AgentComponents, String>;
}

/// The components of an agent. Cheap to clone except for the session, which is unique: see
/// [`AgentComponents::for_session`].
pub struct AgentComponents {
    /// The options of the agent's engine. The conversation service adds the hooks and commands of extensions.
    pub options: engine::Options,
    /// The session to continue, or `None` for a new one.
    pub session: Option<Session>,
    /// The options of the agent's extensions.
    pub extensions: extensions::HostOptions,
    /// The options of the MCP servers.
    pub mcp: mcp::McpOptions,
    /// The question about trust in the working directory, if it is open.
    pub pending_trust: Option<PendingTrust>,
    /// The content of the frames while the model writes an answer. Used by dialects that leave the choice to
    /// the server.
    pub updates: UpdateContent,
    /// True if the tools are the default ones, so that a dialect may add its own tools.
    pub has_default_tools: bool,
    /// The factory for sessions in other directories. Only protocols with several sessions use it. If it is `None`,
    /// those sessions use the same components.
    pub components_factory: Option<Arc<dyn ComponentsFactory>>,
    /// The remote agents, one for each session. Only protocols with several sessions use them. If it is `None`,
    /// this agent carries out the sessions itself.
    pub remote_agents: Option<Arc<dyn RemoteAgents>>,
}

impl AgentComponents {
    /// Returns the same components for another session, or for a new one. The new components count their usage
    /// separately and share the MCP servers.
    pub fn for_session(&self, session: Option<Session>) -> Self {
        let mut options = self.options.clone();
        options.usage_tracker = Arc::new(options.usage_tracker.fresh());
        // The name belongs to the initial session of the process.
        options.session_name = None;
        Self {
            options,
            session,
            extensions: self.extensions.clone(),
            mcp: self.mcp.clone(),
            pending_trust: self.pending_trust.clone(),
            updates: self.updates,
            has_default_tools: self.has_default_tools,
            components_factory: self.components_factory.clone(),
            remote_agents: self.remote_agents.clone(),
        }
    }
}

/// Starts an agent for each session of a client, and knows their stored sessions.
pub trait RemoteAgents: Send + Sync {
    /// Returns the abilities that all of the agents have.
    fn capabilities(&self) -> RemoteCapabilities;

    /// Starts an agent in the directory `cwd`. With `session`, the agent opens that stored session, otherwise a new
    /// one. Awaits `before` after the session is found and before the agent opens it, so that `before` can close
    /// the session elsewhere. Returns `None` if the session does not exist.
    fn start<'a>(
        &'a self,
        cwd: &'a Path,
        session: Option<&'a str>,
        before: BoxFuture<'a, ()>,
    ) -> BoxFuture<'a, Result<Option<AgentComponents>, RemoteSessionError>>;

    /// Ends the agent of a session, if there is one.
    fn stop<'a>(&'a self, session: &'a str) -> BoxFuture<'a, ()>;

    /// Returns the stored sessions, newest first; all of them, or only the sessions of one directory.
    fn list<'a>(
        &'a self,
        cwd: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<ListedSession>, RemoteSessionError>>;

    /// Deletes a session that no agent has open. Returns false if there is no such session.
    fn delete<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, RemoteSessionError>>;
}
