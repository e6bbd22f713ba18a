//! The core of the agent: prompts, runs, queues and commands. The engine knows models, tools and a session, but no
//! wire format: it emits [`Event`]s to an [`EventSink`].
//!
//! | module | concept |
//! |---|---|
//! | `api` | requests to an engine: prompts, control, sessions, models, export, shell commands, extensions |
//! | `run` | the run of a prompt: `agent_loop` decides about the next step without I/O, the others execute it |
//! | `policies` | decisions about the work after a run, without I/O: retry, compaction, continuation, rules |
//! | `remote` | a remote agent that does the work of the engine |
//! | `accounting` | usage of all agents, budgets, and the limits of a run |
//! | `hooks` | the hooks, their chain, and approvals |
//! | `subagents` | engines that a tool call starts |
//! | `behavior_profile` | differences between agents |
//! | `input_queues` | messages that wait for a run; without I/O |
//! | `fairness` | rounds of work, so that a large amount of work does not delay short commands |
//! | `options`, `config_overlay` | the components of an engine, and their replacement in a trusted directory |
//! | `shared`, `state` | the engine and its work; state outside a run: session, model, modes |
//! | `storage`, `unsaved_state` | failures to store the session |
//! | `event`, `error` | events of an engine, and reasons for a rejection |

mod accounting;
mod api;
mod behavior_profile;
mod config_overlay;
mod error;
mod event;
mod fairness;
mod hooks;
mod input_queues;
mod options;
mod policies;
mod remote;
mod run;
mod shared;
mod state;
mod storage;
mod subagents;
mod unsaved_state;

use std::sync::{Arc, Mutex, OnceLock};

pub use accounting::budget::CumulativeUsage;
pub use accounting::usage_tracker::UsageTracker;
pub use api::control::EngineStatus;
pub use api::export::ExportPageError;
pub use api::extension_api::{EntryList, ExtensionDelivery, WeakEngine};
pub use api::policy::{
    BranchEffect, ExportPolicy, ExtensionPolicy, FileMentions, InputPolicy, ModelPolicy, SessionPolicy,
    ShellPolicy,
};
pub use api::prompt::{AcceptedPrompt, RunHandle};
pub use api::reservation::EngineReservation;
pub use api::trust::TrustedConfig;
pub use api::user_input::{InputQueue, UserInput};
pub use behavior_profile::{BehaviorProfile, StartPolicy};
pub use error::{CompactError, PromptError};
pub use event::{ChildEvent, Event, EventSink};
pub use fairness::{FairQueue, Fairness};
pub use hooks::approvals::Approvals;
pub use hooks::chain::HookChain;
pub use hooks::{CompactionDecision, Hooks, RunAdditions, SelectionReason, SessionSwitch};
pub use input_queues::QueueFullError;
pub use options::Options;
pub use policies::compaction::{CompactionPolicy, IdleCompactionEvents};
pub use policies::continuation::ContinueAfterCompaction;
pub use policies::post_run::{FollowUpRun, PostRunPolicy, RunSummary};
pub use policies::retry::RetryPolicy;
pub use policies::rules::RuleWatcher;
pub use policies::todo_reminders::TodoReminders;
pub use remote::agent::{
    Delivery, RemoteAgent, RemoteCompaction, RemoteError, RemoteEvent, RemoteSession, ReportedUsage,
};
pub use run::policy::{AnswerPolicy, CallOrder, InterruptedAnswer, RunPolicy, RunSpan, ToolCallPolicy};
#[doc(hidden)]
pub use run::tool_calls::{content_blocks, milliseconds};
pub use shared::Engine;
pub use subagents::limits::SubagentLimits;
pub use unsaved_state::UnsavedState;

use api::extension_resources::ExtensionResources;
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
