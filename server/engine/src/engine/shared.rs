//! An engine and its work: types that refer to each other.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agentese::types::AgentMessage;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::accounting::usage_tracker::Listener;
use super::api::extension_resources::ExtensionResources;
use super::config_overlay::ConfigOverlay;
use super::event::{Event, EventSink};
use super::hooks::Hooks as _;
use super::options::Options;
use super::remote::agent::RemoteAgent;
use super::state::{ActiveWork, EngineState};
use crate::tools::{ShellSession, ToolSet};

/// One agent with one conversation. Dropping it aborts its work.
pub struct Engine {
    pub(super) shared: Arc<Shared>,
    /// `true` if dropping this value ends the work.
    pub(super) owner: bool,
}

/// State that an engine shares with its run.
pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) sink: Arc<dyn EventSink>,
    pub(super) state: Mutex<EngineState>,
    /// Replacement for a part of the options, set once the working directory is trusted.
    pub(super) overlay: OnceLock<ConfigOverlay>,
    /// Skills and templates of extensions.
    pub(super) extension_resources: ExtensionResources,
    /// Shell state that a command of the user leaves for the next command.
    pub(super) shell: ShellSession,
    /// The state of the remote agent, if there is one.
    pub(super) remote: Option<RemoteState>,
}

impl Shared {
    /// Locks the state. Held only briefly, and never across an await.
    pub(super) fn state(&self) -> MutexGuard<'_, EngineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Emits the budget notices that are due because the usage has increased.
    pub(super) fn emit_due_notices(&self) {
        self.options.usage_tracker.emit_due_notices(self.options.clock.now_ms());
    }

    /// Returns the current tools.
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

/// The remote agent and its state.
pub(super) struct RemoteState {
    pub agent: Arc<dyn RemoteAgent>,
    /// The delivery lock, held while input is forwarded.
    pub delivery_lock: Arc<tokio::sync::Mutex<()>>,
    /// Work that accepted input started, until the event loop takes it.
    pub(super) accepted_work: Mutex<Option<(Work, Vec<AgentMessage>)>>,
    /// Queued input with which the remote agent starts a run by itself. It reports the input before that run.
    pub(super) reported_input: Mutex<Vec<AgentMessage>>,
    /// Notified when work was accepted.
    pub work_accepted: Notify,
    /// `true` while events of a run are emitted. Before that, other prompts are not blocked by accepted work,
    /// because the remote agent decides about them.
    pub(super) run_active: AtomicBool,
    pub(super) task: Mutex<Option<AbortHandle>>,
    /// Reason for the disconnection of the remote agent.
    pub(super) disconnect_reason: Mutex<Option<String>>,
}

/// The work that the engine is doing now.
pub(super) struct Work {
    pub(super) shared: Arc<Shared>,
    pub(super) abort: CancellationToken,
    /// Cancels only the pause before a retry.
    pub(super) cancel_retry: CancellationToken,
    /// Number of retries since the last successful answer.
    pub(super) attempt: u64,
    /// `true` if an overflow has caused a compaction since the last input of the user.
    pub(super) compacted_once: bool,
    /// Must be the last field: its drop signals the end of the work, after everything else was dropped.
    pub(super) end_guard: WorkEndGuard,
}

/// Marks the engine as idle when the work ends in any way.
pub(super) struct WorkEndGuard {
    pub(super) shared: Arc<Shared>,
    pub(super) number: u64,
    pub(super) ended: CancellationToken,
}

impl WorkEndGuard {
    pub fn new(shared: Arc<Shared>, working: &ActiveWork) -> Self {
        Self { shared, number: working.number, ended: working.ended.clone() }
    }
}

impl Drop for WorkEndGuard {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        // Work that ended regularly is no longer the current work, and other work may have started.
        if state.active_work(self.number).is_some() {
            state.queues.put_back();
            state.end_work(self.number);
        }
        drop(state);
        self.ended.cancel();
    }
}
