//! One conversation, as the dialect servers see it: an engine with its extensions and MCP servers, and the
//! question about trust in the working directory.
//!
//! The conversation service contains the behaviour that all dialects share. It waits for extensions, requests
//! the decision about trust, runs commands and hooks of extensions, and starts prompts. A dialect server
//! converts values and calls the service. Other queries go directly to [`ConversationService::engine`].
//!
//! | file | concept |
//! |---|---|
//! | `components` | the components of an agent |
//! | `remote_agents` | sessions of remote agents, one agent for each |
//! | `request_context` | the context of a command, and the outcome of a prompt |
//! | `prompt` | user input |
//! | `sessions` | operations that replace the conversation |
//! | `registry` | several conversations behind one connection |
//! | `trust` | the question about the working directory, when the answer is first needed |

mod components;
mod prompt;
mod registry;
mod remote_agents;
mod request_context;
mod sessions;
mod trust;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use components::{AgentComponents, ComponentsFactory, RemoteAgents, UpdateContent};
pub use prompt::{PromptRequest, PromptRequestError};
pub use registry::ConversationRegistry;
pub use remote_agents::{ListedSession, RemoteCapabilities, RemoteSessionError};
pub use request_context::{PromptOutcome, RequestContext};
pub use trust::{PendingTrust, TrustError, TrustQuestion, TrustedComponents};

use crate::engine::{Approvals, Engine, EngineStatus, EventSink};
use crate::extensions::{EventForwarder, Host};
use crate::mcp::Servers;
use crate::resources::CommandInfo;
use crate::tools::{RpcBashError, RpcBashOutput};
use crate::ui::Ui;
use trust::{TrustGate, TrustTargets, TrustWaiter};

/// The time limit, after the end of stdin, for waiting prompts to start and for commands of extensions to end.
const FINAL_COMMANDS_TIMEOUT: Duration = Duration::from_secs(1);

/// Handles the commands of a client in any dialect, for one conversation.
pub struct ConversationService {
    engine: Engine,
    host: Arc<Host>,
    mcp: Arc<Servers>,
    approvals: Arc<Approvals>,
    gate: TrustGate,
    ui: OnceLock<Arc<dyn Ui>>,
}

impl std::fmt::Debug for ConversationService {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ConversationService")
            .field("engine", &self.engine)
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

/// The reason why a shell command of the user was not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BashCommandError {
    /// The command was aborted before the decision about trust, or the files of the trusted directory are unusable.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The command did not start, or was killed.
    #[error(transparent)]
    Failed(#[from] RpcBashError),
}

impl ConversationService {
    /// Creates an agent from `components`. Its events go to the extensions first, then to `sink`. Starts nothing
    /// yet. An extension that ends the agent cancels `stop`.
    pub fn new(components: AgentComponents, sink: Arc<dyn EventSink>, stop: CancellationToken) -> Self {
        let AgentComponents { mut options, session, extensions, mut mcp, pending_trust, .. } = components;
        mcp.clock = options.clock.clone();
        let context = &options.context;
        let (spawner, hidden) = (context.spawner.clone(), context.shell.hidden.clone());
        let host = Host::new(extensions, spawner, &context.cwd, hidden, stop);
        let mcp = Servers::new(mcp, options.context.spawner.clone(), &options.tools);
        options.hooks.push_front(host.clone());
        let approvals = Arc::new(Approvals::new(options.settings.approval.clone(), options.clock.clone()));
        options.hooks.push(approvals.clone());
        // Extensions come later, because they may choose among all tools and replace tools.
        options.hooks.push_front(mcp.clone());
        options.extension_commands = host.clone();
        let forwarder = EventForwarder::new(host.clone(), sink, options.clock.clone());
        let engine = Engine::with_session(options, session, Arc::new(forwarder));
        host.connect(engine.downgrade());
        mcp.connect(engine.downgrade());
        Self { engine, host, mcp, approvals, gate: TrustGate::new(pending_trust), ui: OnceLock::new() }
    }

    /// Connects the client and starts extensions and MCP servers; their notices and questions go to `ui`. Needs a
    /// runtime. Later calls have no effect.
    pub fn connect(&self, ui: Arc<dyn Ui>) {
        if self.ui.set(ui.clone()).is_ok() {
            self.approvals.connect(ui.clone());
            self.host.start_extensions(ui.clone());
            self.engine.start_remote_events(ui);
            self.mcp.start();
        }
    }

    /// Returns the engine, for queries that need no extensions and no trust.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the MCP servers and their states.
    pub fn mcp(&self) -> &Arc<Servers> {
        &self.mcp
    }

    /// Returns the state of the engine, after the extensions are ready.
    pub async fn state(&self) -> EngineStatus {
        self.ready().await;
        self.engine.status()
    }

    /// Waits until the extensions are ready.
    pub async fn ready(&self) {
        self.host.ready().await;
    }

    /// Waits until the extensions and the MCP servers are ready, then returns all commands that a prompt can invoke
    /// with `/name`.
    pub async fn commands(&self) -> Vec<CommandInfo> {
        tokio::join!(self.host.ready(), self.mcp.ready());
        if let Some(commands) = self.engine.remote_commands().await {
            return commands;
        }
        let mut commands = self.engine.commands();
        commands.extend(self.mcp.commands());
        commands
    }

    /// Runs a shell command of the user; see [`Engine::bash`].
    pub async fn bash(
        &self,
        command: &str,
        hidden: bool,
        shown: &mut (dyn FnMut(&str) + Send),
    ) -> Result<RpcBashOutput, BashCommandError> {
        self.wait_for_trust(TrustWaiter::Bash).await?;
        Ok(self.engine.bash(command, hidden, shown).await?)
    }

    /// Stops all shell commands of the user, including commands that wait for the decision about trust.
    pub fn abort_bash(&self) {
        self.gate.stop(TrustWaiter::Bash);
        self.engine.abort_bash();
    }

    /// Starts the prompts that wait for extensions. Returns when they have started and the running commands of
    /// extensions have ended, or after a time limit. Returns at once if no prompt waits.
    pub async fn start_waiting_prompts(&self) {
        self.host.start_pending_prompts(FINAL_COMMANDS_TIMEOUT).await;
    }

    /// Stops everything: aborts the current work and shuts down the extensions.
    pub async fn shut_down(&self) {
        self.engine.shut_down().await;
        tokio::join!(self.host.shut_down(), self.mcp.shut_down());
    }

    /// Works like [`ConversationService::shut_down`] after the client has disconnected: notices of extensions are
    /// dropped.
    pub async fn shut_down_disconnected(&self) {
        self.engine.shut_down().await;
        tokio::join!(self.host.shut_down_disconnected(), self.mcp.shut_down());
    }

    /// Waits until all started work has ended, then shuts down the extensions. Drops their notices.
    pub async fn wait_until_idle(&self) {
        self.engine.wait_until_idle().await;
        // A command may have started a run; a command that never ends does not delay the agent.
        self.host.wait_until_idle(FINAL_COMMANDS_TIMEOUT).await;
        self.engine.wait_until_idle().await;
        tokio::join!(self.host.shut_down_disconnected(), self.mcp.shut_down());
    }

    /// Waits for the decision about trust in the working directory.
    async fn wait_for_trust(&self, waiter: TrustWaiter) -> Result<(), TrustError> {
        match self.ui.get() {
            Some(ui) => {
                let targets = TrustTargets { engine: &self.engine, host: &self.host, mcp: &self.mcp };
                self.gate.wait_for_trust(targets, ui.as_ref(), waiter).await
            }
            None => Ok(()),
        }
    }
}
