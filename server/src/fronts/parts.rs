//! What an agent is put together from, whatever dialect it speaks.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::trust::Undecided;
use crate::engine::{self, Engine, EventSink};
use crate::extensions::{self, Host, Told};
use crate::session::Session;

/// What the frames of a growing answer carry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Updates {
    /// The whole answer so far.
    #[default]
    Snapshots,
    /// Only what is new.
    Delta,
}

/// The parts of an agent.
pub struct Parts {
    /// What its engine is made of. Hooks and commands of extensions are added to it.
    pub options: engine::Options,
    /// The session to go on with; a fresh one where there is none.
    pub session: Option<Session>,
    /// The extensions.
    pub extensions: extensions::Options,
    /// Whether somebody has to be asked about the working directory.
    pub undecided: Option<Undecided>,
    /// What the frames of a growing answer carry, in a dialect that leaves it open.
    pub updates: Updates,
}

impl Parts {
    /// An engine whose events go to `sink`, with a host for its extensions. An extension that ends the agent cancels
    /// `stop`.
    pub fn assemble(
        self,
        sink: Arc<dyn EventSink>,
        stop: CancellationToken,
    ) -> (Engine, Arc<Host>, Option<Undecided>) {
        let Self { mut options, session, extensions, undecided, updates: _ } = self;
        let context = &options.context;
        let (spawner, hidden) = (context.spawner.clone(), context.shell.hidden.clone());
        let host = Host::new(extensions, spawner, &context.cwd, hidden, stop);
        options.hooks = host.clone();
        options.extension_commands = host.clone();
        let told = Told::new(host.clone(), sink, options.clock.clone());
        let engine = Engine::with_session(options, session, Arc::new(told));
        host.connect(engine.link());
        (engine, host, undecided)
    }
}
