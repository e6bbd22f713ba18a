//! An engine and its work: types that name each other.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agentese::types::AgentMessage;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::event::{Event, EventSink};
use super::extra::Extra;
use super::hooks::Hooks as _;
use super::lead::Lead;
use super::ledger::Listener;
use super::options::Options;
use super::overlay::Overlay;
use super::state::{State, Working};
use crate::tools::{KeptShell, ToolSet};

/// One agent with one conversation. Dropping it aborts what it does.
pub struct Engine {
    pub(super) shared: Arc<Shared>,
    /// Whether the work ends with this value.
    pub(super) owner: bool,
}

/// What an engine and its run have in common.
pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) sink: Arc<dyn EventSink>,
    pub(super) state: Mutex<State>,
    /// What counts in place of the options, once the working directory is trusted.
    pub(super) overlay: OnceLock<Overlay>,
    /// Skills and templates that extensions bring.
    pub(super) extra: Extra,
    /// What commands of the user leave to the next one.
    pub(super) shell: KeptShell,
    /// The agent that does the work, where that is another one.
    pub(super) led: Option<Led>,
}

impl Shared {
    /// The state. Held for moments only, and never across an await.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells what is due of the budget, after something was used.
    pub(super) fn tell_what_is_due(&self) {
        self.options.ledger.tell_what_is_due(self.options.clock.now_ms());
    }

    /// The tools that there are now.
    pub(super) fn tools(&self) -> ToolSet {
        match self.options.only_these_tools {
            true => self.options.tools.clone(),
            false => self.options.hooks.tools(&self.options.tools),
        }
    }
}

impl Listener for Shared {
    fn emit(&self, event: Event<'_>) {
        self.sink.push(event);
    }
}

/// The other agent, and what is going on with it.
pub(super) struct Led {
    pub lead: Arc<dyn Lead>,
    /// Held while words are handed over.
    pub floor: Arc<tokio::sync::Mutex<()>>,
    /// The work of words that were taken, until the task looks.
    pub(super) begun: Mutex<Option<(Work, Vec<AgentMessage>)>>,
    /// Words with which the agent begins a run by itself: they had waited, and it tells of them before that run.
    pub(super) begins: Mutex<Vec<AgentMessage>>,
    /// Work was begun.
    pub changed: Notify,
    /// A run is told of. What was begun and is no run does not keep others out: the other agent decides.
    pub(super) on: AtomicBool,
    pub(super) task: Mutex<Option<AbortHandle>>,
    /// Why there is nobody any more.
    pub(super) gone: Mutex<Option<String>>,
}

/// The work that is going on.
pub(super) struct Work {
    pub(super) shared: Arc<Shared>,
    pub(super) abort: CancellationToken,
    /// Ends the pause before a retry, and nothing else.
    pub(super) give_up: CancellationToken,
    /// Retries since the last answer that was one.
    pub(super) attempt: u64,
    /// The context was compacted because it did not fit, since the user said something.
    pub(super) made_room: bool,
    /// Last, so that nobody hears of the end before everything else is put away.
    pub(super) end: End,
}

/// Makes the engine idle when the work ends, however it ends.
pub(super) struct End {
    pub(super) shared: Arc<Shared>,
    pub(super) number: u64,
    pub(super) ended: CancellationToken,
}

impl End {
    pub fn new(shared: Arc<Shared>, working: &Working) -> Self {
        Self { shared, number: working.number, ended: working.ended.clone() }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        // Work that ended in good order is gone already, and other work may have begun.
        if state.working(self.number).is_some() {
            state.queues.put_back();
            state.end(self.number);
        }
        drop(state);
        self.ended.cancel();
    }
}
