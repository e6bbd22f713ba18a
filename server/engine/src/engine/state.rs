//! State of an engine outside the current run.

use std::sync::Arc;

use agentese::types::{AgentMessage, Model, ThinkingLevel};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::Options;
use super::input_queues::Queues;
use crate::config::{CompactionSettings, RetrySettings};
use crate::session::Session;

/// Origin of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkKind {
    /// The work began with a prompt.
    Prompt,
    /// The work is a requested compaction.
    Compaction,
}

/// Phase of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkPhase {
    /// A run is reserved or in progress.
    Running,
    /// The pause before a retry is in progress.
    RetryPause,
    /// A summary is being created.
    Compacting,
}

/// The current work, as other components see it.
pub(super) struct ActiveWork {
    /// Number of the work, unique within the engine.
    pub number: u64,
    pub kind: WorkKind,
    pub phase: WorkPhase,
    /// Cancelled to stop the work.
    pub abort: CancellationToken,
    /// Cancelled to end the pause before a retry, so that the retry does not start.
    pub cancel_retry: CancellationToken,
    /// Cancelled when the work has ended.
    pub ended: CancellationToken,
    /// The task of the work, once started.
    pub task: Option<AbortHandle>,
}

impl ActiveWork {
    /// Aborts the task at any stage.
    pub fn abort_task(self) {
        if let Some(task) = self.task {
            task.abort();
        }
    }
}

/// The state of an engine.
pub(super) struct EngineState {
    pub session: Session,
    pub queues: Queues,
    pub model: Option<Model>,
    pub thinking: ThinkingLevel,
    pub retry: RetrySettings,
    pub compaction: CompactionSettings,
    pub work: Option<ActiveWork>,
    /// Number of times that work has started.
    pub work_count: u64,
    /// Messages of user commands that ended during a run. They join the session before the next prompt, so they never
    /// separate a call from its result.
    pub deferred: Vec<Arc<AgentMessage>>,
    /// Messages of extensions that are delivered with the next prompt.
    pub next_prompt_messages: Vec<AgentMessage>,
    /// Stops all running commands of the user.
    pub bash_abort: CancellationToken,
    pub closing: bool,
    /// `true` if the last storage event reported that the session file is incomplete.
    pub storage_error_reported: bool,
    /// Reason why a part of a previous session was not stored.
    pub lost_reason: Option<String>,
}

impl EngineState {
    /// Creates the state with `session`, or with a fresh session if it is `None`. The first entries of a fresh
    /// session record the model and the thinking level.
    pub fn new(options: &Options, session: Option<Session>) -> Self {
        let chosen = options.model.as_ref();
        let requested = options.thinking.or(chosen.and_then(|chosen| chosen.thinking));
        let stored = || session.as_ref().and_then(|session| session.branch_settings().thinking);
        let wanted = requested
            .or_else(stored)
            .or(options.settings.default_thinking_level)
            .unwrap_or(options.profile.models.default_thinking);
        let thinking = options.nearest_level(chosen.map(|chosen| &chosen.model), wanted);
        // The name is the first entry of a fresh session, as in pi 1.5.
        let named = |mut session: Session| {
            if let Some(name) = &options.session_name
                && session.rename(name).is_err()
            {
                tracing::warn!("the session is not named: the name is empty");
            }
            session
        };
        let session = session.map(named).unwrap_or_else(|| {
            let mut fresh = named(options.fresh_session(None));
            if let Some(chosen) = chosen {
                fresh.record_model(&chosen.model.provider, &chosen.model.id);
            }
            fresh.record_thinking_level(thinking);
            fresh
        });
        let mut queues = Queues::default();
        queues.set_steering_mode(options.settings.steering_mode);
        queues.set_follow_up_mode(options.settings.follow_up_mode);
        queues.set_interrupt_mode(options.profile.run.interrupt_mode);
        Self {
            session,
            queues,
            model: chosen.map(|chosen| chosen.model.clone()),
            thinking,
            retry: options.settings.retry,
            compaction: options.settings.compaction,
            work: None,
            work_count: 0,
            deferred: Vec::new(),
            next_prompt_messages: Vec::new(),
            bash_abort: CancellationToken::new(),
            closing: false,
            storage_error_reported: false,
            lost_reason: None,
        }
    }

    /// Reserves the engine for work.
    pub fn start_work(&mut self, kind: WorkKind, phase: WorkPhase) -> &ActiveWork {
        self.work_count += 1;
        self.work.insert(ActiveWork {
            number: self.work_count,
            kind,
            phase,
            abort: CancellationToken::new(),
            cancel_retry: CancellationToken::new(),
            ended: CancellationToken::new(),
            task: None,
        })
    }

    /// Makes work current again after its run had ended, because more work follows.
    pub fn resume_work(
        &mut self,
        number: u64,
        phase: WorkPhase,
        abort: CancellationToken,
        ended: CancellationToken,
    ) {
        let (kind, cancel_retry) = (WorkKind::Prompt, CancellationToken::new());
        self.work = Some(ActiveWork { number, kind, phase, abort, cancel_retry, ended, task: None });
    }

    /// Adds the commands that ended during a run to the session.
    pub fn append_deferred(&mut self) {
        for message in std::mem::take(&mut self.deferred) {
            self.session.append(message);
        }
    }

    /// Returns the work of the given number if it is still the current work.
    pub fn active_work(&mut self, number: u64) -> Option<&mut ActiveWork> {
        self.work.as_mut().filter(|work| work.number == number)
    }

    /// Changes the phase of the work with the given number.
    pub fn enter_phase(&mut self, number: u64, phase: WorkPhase) {
        if let Some(working) = self.active_work(number) {
            working.phase = phase;
        }
    }

    /// Ends the work with the given number.
    pub fn end_work(&mut self, number: u64) {
        if self.active_work(number).is_some() {
            self.work = None;
            // Decoded messages are not needed before the next prompt.
            self.session.drop_decoded();
        }
    }

    /// Returns `true` during work that a prompt started.
    pub fn is_working(&self) -> bool {
        self.work.as_ref().is_some_and(|work| work.kind == WorkKind::Prompt)
    }

    /// Returns the phase of the current work; `None` without work.
    pub fn phase(&self) -> Option<WorkPhase> {
        self.work.as_ref().map(|work| work.phase)
    }
}
