//! The core of the agent: prompts, runs, queues and commands. The engine knows models, tools and a session, but no
//! wire format: it emits [`Event`]s to an [`EventSink`].
//!
//! | file | concept |
//! |---|---|
//! | `customs` | differences between agents |
//! | `agent_loop` | the next step of a run; a state machine without I/O |
//! | `queue` | messages that wait for a run; without I/O |
//! | `retry`, `overflow`, `compaction`, `afterwards` | decisions about the work after a run; without I/O |
//! | `work`, `run`, `ask`, `incoming`, `call`, `compact`, `summary` | the thin shell that carries out these decisions |
//! | `state` | state outside a run: session, model, modes |
//! | `hooks`, `chain`, `extend` | hooks, and the interface for extensions |
//! | `approvals`, `rules`, `todos`, `continues` | optional hooks and policies |
//! | `lead`, `led`, `led_run`, `led_sessions`, `led_tell` | a remote agent that does the work of the engine |
//! | `children`, `ledger`, `budget` | subagents, the usage of all agents, and its limits |
//! | `limits` | limits that end a run: turns, cost, time, repeated failures of a call |
//! | `prompt`, `mentions`, `marks`, `seat`, `invoke`, `control`, `sessions`, `export`, `bash`, `models`, `resources`, `trust` | requests to an engine |

mod afterwards;
mod agent_loop;
mod approvals;
mod ask;
mod bash;
mod bounds;
mod branch;
mod budget;
mod call;
mod chain;
mod children;
mod compact;
mod compaction;
mod continues;
mod control;
mod customs;
mod error;
mod event;
mod export;
mod extend;
mod extra;
mod fair;
mod hooks;
mod incoming;
mod input;
mod invoke;
mod lead;
mod led;
mod led_run;
mod led_sessions;
mod led_tell;
mod ledger;
mod limits;
mod marks;
mod mentions;
mod models;
mod options;
mod overflow;
mod overlay;
mod prompt;
mod queue;
mod resources;
mod retry;
mod rules;
mod run;
mod seat;
mod sessions;
mod shared;
mod state;
mod storage;
mod summary;
mod todos;
mod trust;
mod unsaved;
mod work;

use std::sync::{Arc, Mutex, OnceLock};

pub use afterwards::{FollowUpRun, PostRunPolicy, RunSummary};
pub use approvals::Approvals;
pub use bounds::SubagentLimits;
pub use budget::CumulativeUsage;
#[doc(hidden)]
pub use call::{content_blocks, milliseconds};
pub use chain::HookChain;
pub use continues::ContinueAfterCompaction;
pub use control::EngineStatus;
pub use customs::{BehaviorProfile, BranchEffect, CallOrder, InterruptedAnswer};
pub use error::{CompactError, PromptError};
pub use event::{ChildEvent, Event, EventSink};
pub use export::ExportPageError;
pub use extend::{EntryList, ExtensionDelivery, WeakEngine};
pub use fair::Fairness;
pub use hooks::{CompactionDecision, Hooks, RunAdditions, SelectionReason, SessionSwitch};
pub use input::{InputQueue, UserInput};
pub use lead::{
    Delivery, RemoteAgent, RemoteCompaction, RemoteError, RemoteEvent, RemoteSession, ReportedUsage,
};
pub use led::DeliveryGuard;
pub use ledger::UsageTracker;
pub use options::Options;
pub use prompt::{AcceptedPrompt, RunHandle};
pub use queue::QueueFullError;
pub use rules::RuleWatcher;
pub use seat::EngineReservation;
pub use shared::Engine;
pub use todos::TodoReminders;
pub use trust::TrustedConfig;
pub use unsaved::UnsavedState;

use extra::ExtensionResources;
use shared::{RemoteState, Shared};
use state::EngineState;

use crate::session::Session;
use crate::tools::ShellSession;

impl Engine {
    /// Creates an idle engine with a fresh session.
    pub fn new(options: Options, sink: Arc<dyn EventSink>) -> Self {
        Self::with_session(options, None, sink)
    }

    /// Creates an idle engine that continues `session`, or starts a fresh one. The model comes from the options. The
    /// thinking level of the options takes precedence over the level that the session names.
    pub fn with_session(mut options: Options, session: Option<Session>, sink: Arc<dyn EventSink>) -> Self {
        options.unsaved_state = options.unsaved_state.fresh();
        let state = Mutex::new(EngineState::new(&options, session));
        let extension_resources = ExtensionResources::default();
        let remote = options.remote_agent.clone().map(RemoteState::new);
        let (overlay, shell) = (OnceLock::new(), ShellSession::default());
        let shared = Shared { options, sink, state, overlay, extension_resources, shell, remote };
        let shared = Arc::new(shared);
        let listener = Arc::downgrade(&shared);
        shared.options.usage_tracker.set_listener(listener);
        Self { shared, owner: true }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if !self.owner {
            return;
        }
        if let Some(remote) = &self.shared.remote {
            remote.stop();
        }
        let work = {
            let mut state = self.shared.state();
            state.bash_abort.cancel();
            state.work.take()
        };
        if let Some(work) = work {
            work.abort.cancel();
            work.abort_task();
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Engine")
            .field("session", &self.shared.state().session.id())
            .finish_non_exhaustive()
    }
}
