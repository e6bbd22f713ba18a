//! What an engine is asked about, and how its work is stopped.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentese::framing::FrameText;
use agentese::types::{AgentMessage, InterruptMode, Model, QueueMode, ThinkingLevel};

use super::compaction::counted_tokens;
use super::state::Phase;
use super::{Engine, Event, Fairness};
use crate::config::Change;
use crate::session::{EmptyName, Session, Spoken, Stats};

/// How long a shutdown waits for a run to end in good order.
const PATIENCE: Duration = Duration::from_secs(5);

/// What an engine is and does right now.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// The model that the next prompt goes to.
    pub model: Option<Model>,
    /// How hard it thinks.
    pub thinking: ThinkingLevel,
    /// Whether a run is going on.
    pub streaming: bool,
    /// Whether something is going on that a prompt has begun: a run, or what follows one.
    pub working: bool,
    /// Whether one is waited for: the pause before a retry.
    pub waiting: bool,
    /// Whether the conversation is being compacted.
    pub compacting: bool,
    /// Whether the agent compacts on its own.
    pub auto_compaction: bool,
    /// How steering messages are delivered.
    pub steering_mode: QueueMode,
    /// How follow-ups are delivered.
    pub follow_up_mode: QueueMode,
    /// When steering reaches a run.
    pub interrupt_mode: InterruptMode,
    /// The session's identifier.
    pub session_id: String,
    /// The session's file, which may not be there yet; none where nothing is kept.
    pub session_file: Option<PathBuf>,
    /// The session's name.
    pub session_name: Option<String>,
    /// Messages in the session.
    pub messages: usize,
    /// Messages that wait in the queues.
    pub pending: usize,
}

impl Engine {
    /// What the engine is and does right now.
    pub fn view(&self) -> View {
        let state = self.shared.state();
        View {
            model: state.model.clone(),
            thinking: state.thinking,
            streaming: state.phase() == Some(Phase::Running),
            working: state.is_working(),
            waiting: state.phase() == Some(Phase::Waiting),
            compacting: state.phase() == Some(Phase::Compacting),
            auto_compaction: state.compaction.enabled,
            steering_mode: state.queues.steering_mode(),
            follow_up_mode: state.queues.follow_up_mode(),
            interrupt_mode: state.queues.interrupt_mode(),
            session_id: state.session.id().to_owned(),
            session_file: state.session.file().map(Path::to_owned),
            session_name: state.session.name().map(str::to_owned),
            messages: state.session.message_count(),
            pending: state.queues.pending(),
        }
    }

    /// Whether that is still what the engine is and does.
    pub fn is_as(&self, view: &View) -> bool {
        let state = self.shared.state();
        let View { model, thinking, streaming, working, waiting, compacting, auto_compaction, .. } = view;
        let View { steering_mode, follow_up_mode, interrupt_mode, session_id, .. } = view;
        let View { session_file, session_name, messages, pending, .. } = view;
        let phase = state.phase();
        state.session.message_count() == *messages
            && state.session.id() == session_id
            && state.session.name() == session_name.as_deref()
            && state.session.file() == session_file.as_deref()
            && state.queues.pending() == *pending
            && state.thinking == *thinking
            && (phase == Some(Phase::Running)) == *streaming
            && state.is_working() == *working
            && (phase == Some(Phase::Waiting)) == *waiting
            && (phase == Some(Phase::Compacting)) == *compacting
            && state.compaction.enabled == *auto_compaction
            && state.queues.steering_mode() == *steering_mode
            && state.queues.follow_up_mode() == *follow_up_mode
            && state.queues.interrupt_mode() == *interrupt_mode
            && state.model == *model
    }

    /// Counts the messages of the session that are kept decoded.
    #[cfg(any(test, feature = "testing"))]
    pub fn decoded(&self) -> usize {
        self.shared.state().session.decoded()
    }

    /// The line in which the work of all engines of the process waits.
    pub fn fairness(&self) -> &Fairness {
        &self.shared.options.fairness
    }

    /// All messages of the session.
    pub fn messages(&self) -> Vec<Arc<AgentMessage>> {
        self.shared.look(Session::messages)
    }

    /// The same as JSON texts; see [`crate::session::Session::message_texts`].
    pub fn message_texts(&self) -> Vec<FrameText> {
        self.shared.look(Session::message_texts)
    }

    /// The conversation with the entries that it stands in, in order: where it was compacted, the summary and what that
    /// kept.
    pub fn conversation(&self) -> Vec<Spoken> {
        self.shared.look(Session::conversation)
    }

    /// The text of the model's last answer; see [`crate::session::Session::last_assistant_text`].
    pub fn last_assistant_text(&self) -> Option<String> {
        let skips_textless = self.shared.options.customs.behavior.skips_textless_answers;
        self.shared.state().session.last_assistant_text(skips_textless)
    }

    /// Counts, tokens and cost of what the model sees of the session, or of all of it, as the customs have it; its
    /// identifier and its file.
    pub fn stats(&self) -> (String, Option<PathBuf>, Stats) {
        let state = self.shared.state();
        let session = &state.session;
        let stats = match self.shared.options.customs.counts_whole_file {
            true => session.stats_of_file(),
            false => session.stats(),
        };
        (session.id().to_owned(), session.file().map(Path::to_owned), stats)
    }

    /// The same, as another agent that does the work tells tokens and cost; what it does not tell is as it was seen.
    pub async fn stats_there(&self) -> (String, Option<PathBuf>, Stats) {
        let used = match &self.shared.led {
            Some(led) => led.lead.used().await,
            None => None,
        };
        let (id, file, stats) = self.stats();
        (id, file, used.unwrap_or_default().over(stats))
    }

    /// Tokens in the context, where that is known: right after a compaction it is not.
    pub fn context_tokens(&self) -> Option<u64> {
        self.shared.look(|session| match counted_tokens(session) {
            None if session.compacted_messages() == 0 => Some(super::compaction::context_tokens(session)),
            counted => counted,
        })
    }

    /// Names the session. Fails for an empty name.
    pub fn set_session_name(&self, name: &str) -> Result<(), EmptyName> {
        let mut state = self.shared.state();
        state.session.rename(name)?;
        state.session.linger();
        let name = state.session.name().unwrap_or_default();
        if let Some(led) = &self.shared.led {
            led.lead.rename(name);
        }
        self.shared.sink.push(Event::SessionNamed { name });
        Ok(())
    }

    /// Sets how steering messages are delivered.
    pub fn set_steering_mode(&self, mode: QueueMode) {
        self.shared.state().queues.set_steering_mode(mode);
        self.shared.options.persist.save(Change::SteeringMode(mode));
    }

    /// Sets how follow-ups are delivered.
    pub fn set_follow_up_mode(&self, mode: QueueMode) {
        self.shared.state().queues.set_follow_up_mode(mode);
        self.shared.options.persist.save(Change::FollowUpMode(mode));
    }

    /// Sets when steering reaches a run: between calls, or at the end of the turn.
    pub fn set_interrupt_mode(&self, mode: InterruptMode) {
        self.shared.state().queues.set_interrupt_mode(mode);
        if let Some(led) = &self.shared.led {
            led.lead.interrupt(mode);
        }
    }

    /// Whether the agent compacts on its own, from now on.
    pub fn set_auto_compaction(&self, enabled: bool) {
        self.shared.state().compaction.enabled = enabled;
        self.shared.options.persist.save(Change::CompactionEnabled(enabled));
    }

    /// Whether the agent tries again on its own, from now on.
    pub fn set_auto_retry(&self, enabled: bool) {
        self.shared.state().retry.enabled = enabled;
        self.shared.options.persist.save(Change::RetryEnabled(enabled));
    }

    /// Stops the work that is going on and waits for its end: its closing events are sent before
    /// this returns. At once while the engine is idle. The queues stay as they are.
    pub async fn abort(&self) {
        let ended = {
            let mut state = self.shared.state();
            state.work.as_mut().map(|work| {
                work.abort.cancel();
                work.ended.clone()
            })
        };
        match (ended, &self.shared.led) {
            (Some(ended), _) => ended.cancelled().await,
            (None, Some(led)) => led.abort_what_is_handed_over().await,
            (None, None) => {}
        }
    }

    /// Gives up the retry that is being waited for, and waits until that is told. At once where
    /// there is none.
    pub async fn abort_retry(&self) {
        if let Some(led) = &self.shared.led {
            return led.lead.abort_retry().await;
        }
        let ended = {
            let state = self.shared.state();
            let Some(work) = state.work.as_ref().filter(|work| work.phase == Phase::Waiting) else { return };
            work.give_up.cancel();
            work.ended.clone()
        };
        ended.cancelled().await;
    }

    /// Waits until no work is going on. Never returns for a model that never answers.
    pub async fn wait_until_idle(&self) {
        loop {
            let Some(ended) = self.shared.state().work.as_ref().map(|work| work.ended.clone()) else { break };
            ended.cancelled().await;
        }
        self.shared.flush().await;
    }

    /// Stops everything, refuses further prompts, and waits for the end of the work; work that does
    /// not end within five seconds is given up.
    pub async fn shut_down(&self) {
        {
            let mut state = self.shared.state();
            state.closing = true;
            state.bash.cancel();
        }
        let patience = self.shared.options.clock.sleep(PATIENCE);
        tokio::select! {
            () = self.abort() => {}
            () = patience => {
                tracing::error!("the run did not end and is given up");
                let work = self.shared.state().work.take();
                if let Some(work) = work {
                    work.detach();
                }
            }
        }
        self.shared.flush().await;
    }
}
