//! State of an engine outside the current run.

use std::sync::Arc;

use agentese::types::{AgentMessage, Model, ThinkingLevel};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::Options;
use super::queue::Queues;
use crate::config::{CompactionSettings, RetrySettings};
use crate::session::Session;

/// Origin of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A prompt.
    Prompt,
    /// A requested compaction.
    Compaction,
}

/// Phase of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// A run is reserved or in progress.
    Running,
    /// The pause before a retry.
    Waiting,
    /// A summary is in progress.
    Compacting,
}

/// The current work, for other components.
pub(super) struct Working {
    /// Number of the work, unique within the engine.
    pub number: u64,
    pub kind: Kind,
    pub phase: Phase,
    /// Cancelled to stop the work.
    pub abort: CancellationToken,
    /// Cancelled to end the pause before a retry without the retry.
    pub give_up: CancellationToken,
    /// Cancelled when the work has ended.
    pub ended: CancellationToken,
    /// The task of the work, once started.
    pub task: Option<AbortHandle>,
}

impl Working {
    /// Aborts the task at any stage.
    pub fn detach(self) {
        if let Some(task) = self.task {
            task.abort();
        }
    }
}

/// The state of an engine.
pub(super) struct State {
    pub session: Session,
    pub queues: Queues,
    pub model: Option<Model>,
    pub thinking: ThinkingLevel,
    pub retry: RetrySettings,
    pub compaction: CompactionSettings,
    pub work: Option<Working>,
    /// Number of works so far.
    pub works: u64,
    /// Messages of user commands that ended during a run. They join the session before the next prompt, so they never
    /// separate a call from its result.
    pub deferred: Vec<Arc<AgentMessage>>,
    /// Messages of extensions that are delivered with the next prompt.
    pub next_prompt: Vec<AgentMessage>,
    /// Stops all running commands of the user.
    pub bash: CancellationToken,
    pub closing: bool,
    /// `true` if an event reported that the session does not reach its file.
    pub told_of_storage: bool,
    /// Reason why a part of a previous session is in no file.
    pub lost: Option<String>,
}

impl State {
    /// Creates the state with a session or a fresh one. A fresh session contains the model and the level from its first
    /// entries on.
    pub fn new(options: &Options, session: Option<Session>) -> Self {
        let chosen = options.model.as_ref();
        let asked = options.thinking.or(chosen.and_then(|chosen| chosen.thinking));
        let kept = || session.as_ref().and_then(|session| session.restored().thinking);
        let wanted = asked
            .or_else(kept)
            .or(options.settings.default_thinking_level)
            .unwrap_or(options.customs.thinking);
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
                fresh.model_changed(&chosen.model.provider, &chosen.model.id);
            }
            fresh.thinking_changed(thinking);
            fresh
        });
        let mut queues = Queues::default();
        queues.set_steering_mode(options.settings.steering_mode);
        queues.set_follow_up_mode(options.settings.follow_up_mode);
        queues.set_interrupt_mode(options.customs.interrupt);
        Self {
            session,
            queues,
            model: chosen.map(|chosen| chosen.model.clone()),
            thinking,
            retry: options.settings.retry,
            compaction: options.settings.compaction,
            work: None,
            works: 0,
            deferred: Vec::new(),
            next_prompt: Vec::new(),
            bash: CancellationToken::new(),
            closing: false,
            told_of_storage: false,
            lost: None,
        }
    }

    /// Reserves the engine for work.
    pub fn begin(&mut self, kind: Kind, phase: Phase) -> &Working {
        self.works += 1;
        self.work.insert(Working {
            number: self.works,
            kind,
            phase,
            abort: CancellationToken::new(),
            give_up: CancellationToken::new(),
            ended: CancellationToken::new(),
            task: None,
        })
    }

    /// Continues work whose run has ended.
    pub fn again(&mut self, number: u64, phase: Phase, abort: CancellationToken, ended: CancellationToken) {
        let (kind, give_up) = (Kind::Prompt, CancellationToken::new());
        self.work = Some(Working { number, kind, phase, abort, give_up, ended, task: None });
    }

    /// Adds the commands that ended during a run to the session.
    pub fn keep_deferred(&mut self) {
        for message in std::mem::take(&mut self.deferred) {
            self.session.append(message);
        }
    }

    /// Returns the work of that number if it is still the current work.
    pub fn working(&mut self, number: u64) -> Option<&mut Working> {
        self.work.as_mut().filter(|work| work.number == number)
    }

    /// Changes the phase of that work.
    pub fn enter(&mut self, number: u64, phase: Phase) {
        if let Some(working) = self.working(number) {
            working.phase = phase;
        }
    }

    /// Ends that work.
    pub fn end(&mut self, number: u64) {
        if self.working(number).is_some() {
            self.work = None;
            // Decoded messages are not needed before the next prompt.
            self.session.forget_decoded();
        }
    }

    /// Returns `true` during work that a prompt started.
    pub fn is_working(&self) -> bool {
        self.work.as_ref().is_some_and(|work| work.kind == Kind::Prompt)
    }

    /// Returns the phase of the current work; `None` without work.
    pub fn phase(&self) -> Option<Phase> {
        self.work.as_ref().map(|work| work.phase)
    }
}
