//! One conversation as fronts see it: an engine, the extensions and MCP servers beside it, and the question of trust.
//!
//! What every dialect would have to do in the same way is done here, once: waiting until extensions are ready, asking
//! whether the directory is trusted, commands and hooks of extensions, preparing and beginning. A front converts and
//! calls; what needs none of this it asks of [`Desk::engine`].
//!
//! | file | concept |
//! |---|---|
//! | `parts` | what a desk is made of |
//! | `agents` | sessions that other agents carry out, one agent for each |
//! | `caller` | who sent a command, and what became of it |
//! | `prompt` | what the user says |
//! | `sessions` | what takes the place of the conversation |
//! | `registry` | several conversations behind one connection |
//! | `trust` | asking about the working directory, at the first moment when that matters |

mod agents;
mod caller;
mod parts;
mod prompt;
mod registry;
mod sessions;
mod trust;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use agents::{Abilities, Agents, Kept, Trouble};
pub use caller::{Caller, Taken};
pub use parts::{Elsewhere, Parts, Updates};
pub use prompt::{Refused, Said};
pub use registry::Registry;
pub use trust::{Allowed, GateError, Question, Undecided};

use crate::engine::{Approvals, Engine, EventSink, View};
use crate::extensions::{Host, Told};
use crate::mcp::Servers;
use crate::resources::CommandInfo;
use crate::tools::{RpcBashError, RpcBashOutput};
use crate::ui::Ui;
use trust::{About, Gate, Waiting};

/// How long commands of extensions may go on after the end of stdin.
const LAST_COMMANDS: Duration = Duration::from_secs(1);

/// Where the commands of a client arrive, whatever its dialect.
pub struct Desk {
    engine: Engine,
    host: Arc<Host>,
    mcp: Arc<Servers>,
    approvals: Arc<Approvals>,
    gate: Gate,
    ui: OnceLock<Arc<dyn Ui>>,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Desk")
            .field("engine", &self.engine)
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

/// Why a command of the user was not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BashRefused {
    /// It was not begun.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// It did not start, or was killed.
    #[error(transparent)]
    Failed(#[from] RpcBashError),
}

impl Desk {
    /// An agent of those parts whose events go to `sink`; extensions hear of them first. Nothing is started. An
    /// extension that ends the agent cancels `stop`.
    pub fn new(parts: Parts, sink: Arc<dyn EventSink>, stop: CancellationToken) -> Self {
        let Parts { mut options, session, extensions, mut mcp, undecided, .. } = parts;
        mcp.clock = options.clock.clone();
        let context = &options.context;
        let (spawner, hidden) = (context.spawner.clone(), context.shell.hidden.clone());
        let host = Host::new(extensions, spawner, &context.cwd, hidden, stop);
        let mcp = Servers::new(mcp, options.context.spawner.clone(), &options.tools);
        options.hooks.push_front(host.clone());
        let approvals = Arc::new(Approvals::new(options.settings.approval.clone(), options.clock.clone()));
        options.hooks.push(approvals.clone());
        // Before extensions, which may choose among all tools and put theirs in the place of others.
        options.hooks.push_front(mcp.clone());
        options.extension_commands = host.clone();
        let told = Told::new(host.clone(), sink, options.clock.clone());
        let engine = Engine::with_session(options, session, Arc::new(told));
        host.connect(engine.downgrade());
        mcp.connect(engine.downgrade());
        Self { engine, host, mcp, approvals, gate: Gate::new(undecided), ui: OnceLock::new() }
    }

    /// The client is there: extensions and MCP servers are started, and what they show and ask goes to it. Needs a runtime; only the
    /// first call counts.
    pub fn connect(&self, ui: Arc<dyn Ui>) {
        if self.ui.set(ui.clone()).is_ok() {
            self.approvals.connect(ui.clone());
            self.host.begin(ui.clone());
            self.engine.follow(ui);
            self.mcp.begin();
        }
    }

    /// The engine, for what needs nothing beside it.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The MCP servers: which there are, and what has become of them.
    pub fn mcp(&self) -> &Arc<Servers> {
        &self.mcp
    }

    /// What the engine is and does, once the extensions are there.
    pub async fn state(&self) -> View {
        self.ready().await;
        self.engine.view()
    }

    /// Waits until the extensions are there.
    pub async fn ready(&self) {
        self.host.ready().await;
    }

    /// Everything that a prompt can invoke with `/name`, once the extensions and the MCP servers are there.
    pub async fn commands(&self) -> Vec<CommandInfo> {
        tokio::join!(self.host.ready(), self.mcp.ready());
        if let Some(commands) = self.engine.commands_there().await {
            return commands;
        }
        let mut commands = self.engine.commands();
        commands.extend(self.mcp.commands());
        commands
    }

    /// Runs a command of the user; see [`Engine::bash`].
    pub async fn bash(
        &self,
        command: &str,
        hidden: bool,
        shown: &mut (dyn FnMut(&str) + Send),
    ) -> Result<RpcBashOutput, BashRefused> {
        self.pass(Waiting::Bash).await?;
        Ok(self.engine.bash(command, hidden, shown).await?)
    }

    /// Stops every command of the user that is running or waits.
    pub fn abort_bash(&self) {
        self.gate.stop(Waiting::Bash);
        self.engine.abort_bash();
    }

    /// Lets prompts begin that wait for extensions which still start; commands of extensions among them may end, too. Where
    /// nothing waits, neither does this.
    pub async fn begin_what_waits(&self) {
        self.host.let_begin(LAST_COMMANDS).await;
    }

    /// Stops everything: what is going on is aborted, and extensions say good-bye.
    pub async fn shut_down(&self) {
        self.engine.shut_down().await;
        tokio::join!(self.host.shut_down(), self.mcp.shut_down());
    }

    /// As [`Desk::shut_down`], for a client that has left: what extensions still show goes nowhere.
    pub async fn shut_down_alone(&self) {
        self.engine.shut_down().await;
        tokio::join!(self.host.shut_down_alone(), self.mcp.shut_down());
    }

    /// Waits until everything that was begun is over, then lets extensions say good-bye; nobody sees what they show.
    pub async fn wait_until_idle(&self) {
        self.engine.wait_until_idle().await;
        // A command may have set something going; one that waits for ever does not keep the agent.
        self.host.wait_until_idle(LAST_COMMANDS).await;
        self.engine.wait_until_idle().await;
        tokio::join!(self.host.shut_down_alone(), self.mcp.shut_down());
    }

    /// Waits until it is known whether the working directory is trusted.
    async fn pass(&self, who: Waiting) -> Result<(), GateError> {
        match self.ui.get() {
            Some(ui) => {
                let about = About { engine: &self.engine, host: &self.host, mcp: &self.mcp };
                self.gate.pass(about, ui.as_ref(), who).await
            }
            None => Ok(()),
        }
    }
}
