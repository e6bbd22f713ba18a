//! What an engine knows besides the run that is going on.

use std::sync::Arc;

use agentese::types::{AgentMessage, Model, ThinkingLevel};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::Options;
use super::queue::Queues;
use crate::config::{CompactionSettings, RetrySettings};
use crate::session::Session;

/// What set the work going.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A prompt.
    Prompt,
    /// A compaction that was asked for.
    Compaction,
}

/// What the work is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// A run is reserved or going on.
    Running,
    /// The pause before a retry.
    Waiting,
    /// A summary is being made.
    Compacting,
}

/// The work that is going on, as others see it.
pub(super) struct Working {
    /// Tells it from all other work of the engine.
    pub number: u64,
    pub kind: Kind,
    pub phase: Phase,
    /// Cancelled when the work is to stop.
    pub abort: CancellationToken,
    /// Cancelled when the pause before a retry is to end without one.
    pub give_up: CancellationToken,
    /// Cancelled when it has ended.
    pub ended: CancellationToken,
    /// Its task, once it was started.
    pub task: Option<AbortHandle>,
}

impl Working {
    /// Gives the task up, however far it is.
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
    /// How much work there was.
    pub works: u64,
    /// Commands of the user that ended during a run: they join the session before the next prompt,
    /// so that they never stand between a call and its result.
    pub deferred: Vec<Arc<AgentMessage>>,
    /// Messages of extensions that go with the next prompt.
    pub next_prompt: Vec<AgentMessage>,
    /// Stops all commands of the user that are running.
    pub bash: CancellationToken,
    pub closing: bool,
    /// Whether the client was told that the session does not reach its file.
    pub told_of_storage: bool,
    /// Why a part of a session that was left is in no file.
    pub lost: Option<String>,
}

impl State {
    /// Goes on with a session, or begins a fresh one, which keeps the model and the level from its
    /// first entries on.
    pub fn new(options: &Options, session: Option<Session>) -> Self {
        let chosen = options.model.as_ref();
        let asked = options.thinking.or(chosen.and_then(|chosen| chosen.thinking));
        let kept = || session.as_ref().and_then(|session| session.restored().thinking);
        let wanted = asked
            .or_else(kept)
            .or(options.settings.default_thinking_level)
            .unwrap_or(options.customs.thinking);
        let thinking = options.nearest_level(chosen.map(|chosen| &chosen.model), wanted);
        // A name is the first that a fresh session says, as in pi 1.5.
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

    /// Work whose run was over goes on.
    pub fn again(&mut self, number: u64, phase: Phase, abort: CancellationToken, ended: CancellationToken) {
        let (kind, give_up) = (Kind::Prompt, CancellationToken::new());
        self.work = Some(Working { number, kind, phase, abort, give_up, ended, task: None });
    }

    /// Commands that ended during a run join the session.
    pub fn keep_deferred(&mut self) {
        for message in std::mem::take(&mut self.deferred) {
            self.session.append(message);
        }
    }

    /// The work of that number, while it is the one that is going on: other work may have taken its place.
    pub fn working(&mut self, number: u64) -> Option<&mut Working> {
        self.work.as_mut().filter(|work| work.number == number)
    }

    /// That work does something else from now on.
    pub fn enter(&mut self, number: u64, phase: Phase) {
        if let Some(working) = self.working(number) {
            working.phase = phase;
        }
    }

    /// That work is over.
    pub fn end(&mut self, number: u64) {
        if self.working(number).is_some() {
            self.work = None;
            // Nobody looks at them until somebody says something.
            self.session.forget_decoded();
        }
    }

    /// Whether something is going on that a prompt has begun.
    pub fn is_working(&self) -> bool {
        self.work.as_ref().is_some_and(|work| work.kind == Kind::Prompt)
    }

    /// What the work is doing, where there is any.
    pub fn phase(&self) -> Option<Phase> {
        self.work.as_ref().map(|work| work.phase)
    }
}
