//! Queries about an engine, and requests to stop its work.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentese::framing::FrameText;
use agentese::types::{AgentMessage, InterruptMode, Model, QueueMode, ThinkingLevel};

use crate::config::SettingsChange;
use crate::engine::policies::compaction::counted_tokens;
use crate::engine::state::WorkPhase;
use crate::engine::{Engine, Event, Fairness};
use crate::session::{EmptyNameError, EntryMessage, Session, Stats};

/// Time limit for a run to end regularly during a shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Current state of an engine.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineStatus {
    /// Model of the next prompt.
    pub model: Option<Model>,
    /// Thinking level of the next prompt.
    pub thinking: ThinkingLevel,
    /// `true` during a run.
    pub streaming: bool,
    /// `true` from the start of a prompt's run to the end of the retries, compactions and runs that follow it.
    pub working: bool,
    /// `true` during the pause before a retry.
    pub waiting: bool,
    /// `true` during a compaction.
    pub compacting: bool,
    /// `true` if the agent compacts automatically.
    pub auto_compaction: bool,
    /// Delivery mode of steering messages.
    pub steering_mode: QueueMode,
    /// Delivery mode of follow-ups.
    pub follow_up_mode: QueueMode,
    /// Moment at which steering reaches a run.
    pub interrupt_mode: InterruptMode,
    /// Id of the session.
    pub session_id: String,
    /// File of the session, which may not exist yet; `None` if the session is not stored.
    pub session_file: Option<PathBuf>,
    /// Name of the session.
    pub session_name: Option<String>,
    /// Number of messages in the session.
    pub messages: usize,
    /// Number of messages in the queues.
    pub pending: usize,
}

impl Engine {
    /// Returns the current state of the engine.
    pub fn status(&self) -> EngineStatus {
        let state = self.shared.state();
        EngineStatus {
            model: state.model.clone(),
            thinking: state.thinking,
            streaming: state.phase() == Some(WorkPhase::Running),
            working: state.is_working(),
            waiting: state.phase() == Some(WorkPhase::RetryPause),
            compacting: state.phase() == Some(WorkPhase::Compacting),
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

    /// Returns `true` if `status` is still the current state of the engine.
    pub fn has_status(&self, status: &EngineStatus) -> bool {
        let state = self.shared.state();
        let EngineStatus {
            model, thinking, streaming, working, waiting, compacting, auto_compaction, ..
        } = status;
        let EngineStatus { steering_mode, follow_up_mode, interrupt_mode, session_id, .. } = status;
        let EngineStatus { session_file, session_name, messages, pending, .. } = status;
        let phase = state.phase();
        state.session.message_count() == *messages
            && state.session.id() == session_id
            && state.session.name() == session_name.as_deref()
            && state.session.file() == session_file.as_deref()
            && state.queues.pending() == *pending
            && state.thinking == *thinking
            && (phase == Some(WorkPhase::Running)) == *streaming
            && state.is_working() == *working
            && (phase == Some(WorkPhase::RetryPause)) == *waiting
            && (phase == Some(WorkPhase::Compacting)) == *compacting
            && state.compaction.enabled == *auto_compaction
            && state.queues.steering_mode() == *steering_mode
            && state.queues.follow_up_mode() == *follow_up_mode
            && state.queues.interrupt_mode() == *interrupt_mode
            && state.model == *model
    }

    /// Returns the number of messages of the session that are decoded in memory.
    #[cfg(any(test, feature = "testing"))]
    pub fn decoded(&self) -> usize {
        self.shared.state().session.decoded()
    }

    /// Returns the queues in which the engines of the process take turns.
    pub fn fairness(&self) -> &Fairness {
        &self.shared.options.fairness
    }

    /// Returns all messages of the session.
    pub fn messages(&self) -> Vec<Arc<AgentMessage>> {
        self.shared.read_session(Session::messages)
    }

    /// Returns all messages as JSON texts; see [`crate::session::Session::message_texts`].
    pub fn message_texts(&self) -> Vec<FrameText> {
        self.shared.read_session(Session::message_texts)
    }

    /// Returns the conversation with the ids of its entries, in order. After a compaction, it consists of the summary,
    /// the messages that the compaction kept, and all later messages.
    pub fn conversation(&self) -> Vec<EntryMessage> {
        self.shared.read_session(Session::conversation)
    }

    /// Returns the text of the model's last answer; see [`crate::session::Session::last_assistant_text`].
    pub fn last_assistant_text(&self) -> Option<String> {
        let skips_textless = self.shared.options.profile.behavior.skips_textless_answers;
        self.shared.state().session.last_assistant_text(skips_textless)
    }

    /// Returns the id and the file of the session, and its counts, tokens and cost. The numbers cover the context of
    /// the model or the whole file, as the profile defines.
    pub fn stats(&self) -> (String, Option<PathBuf>, Stats) {
        let state = self.shared.state();
        let session = &state.session;
        let stats = match self.shared.options.profile.sessions.stats_cover_file {
            true => session.stats_of_file(),
            false => session.stats(),
        };
        (session.id().to_owned(), session.file().map(Path::to_owned), stats)
    }

    /// Works like [`Engine::stats`], with the tokens and the cost that a remote agent reports. A number that the
    /// remote agent does not report is the engine's own.
    pub async fn reported_stats(&self) -> (String, Option<PathBuf>, Stats) {
        let used = match &self.shared.remote {
            Some(remote) => remote.agent.usage().await,
            None => None,
        };
        let (id, file, stats) = self.stats();
        (id, file, used.unwrap_or_default().override_stats(stats))
    }

    /// Returns the number of tokens in the context; `None` if unknown, as directly after a compaction.
    pub fn context_tokens(&self) -> Option<u64> {
        self.shared.read_session(|session| match counted_tokens(session) {
            None if session.compacted_messages() == 0 => {
                Some(crate::engine::policies::compaction::context_tokens(session))
            }
            counted => counted,
        })
    }

    /// Names the session. Fails if the name is empty.
    pub fn set_session_name(&self, name: &str) -> Result<(), EmptyNameError> {
        let mut state = self.shared.state();
        state.session.rename(name)?;
        state.session.wait_briefly();
        let name = state.session.name().unwrap_or_default();
        if let Some(remote) = &self.shared.remote {
            remote.agent.rename(name);
        }
        self.shared.sink.push(Event::SessionNamed { name });
        Ok(())
    }

    /// Sets the delivery mode of steering messages.
    pub fn set_steering_mode(&self, mode: QueueMode) {
        self.shared.state().queues.set_steering_mode(mode);
        self.shared.options.persist.save(SettingsChange::SteeringMode(mode));
    }

    /// Sets the delivery mode of follow-ups.
    pub fn set_follow_up_mode(&self, mode: QueueMode) {
        self.shared.state().queues.set_follow_up_mode(mode);
        self.shared.options.persist.save(SettingsChange::FollowUpMode(mode));
    }

    /// Sets the moment at which steering reaches a run: between calls, or at the end of the turn.
    pub fn set_interrupt_mode(&self, mode: InterruptMode) {
        self.shared.state().queues.set_interrupt_mode(mode);
        if let Some(remote) = &self.shared.remote {
            remote.agent.set_interrupt_mode(mode);
        }
    }

    /// Turns automatic compaction on or off.
    pub fn set_auto_compaction(&self, enabled: bool) {
        self.shared.state().compaction.enabled = enabled;
        self.shared.options.persist.save(SettingsChange::CompactionEnabled(enabled));
    }

    /// Turns automatic retries on or off.
    pub fn set_auto_retry(&self, enabled: bool) {
        self.shared.state().retry.enabled = enabled;
        self.shared.options.persist.save(SettingsChange::RetryEnabled(enabled));
    }

    /// Stops the current work. Returns after the closing events of that work; at once if the engine is idle. The
    /// queues stay unchanged.
    pub async fn abort(&self) {
        let ended = {
            let mut state = self.shared.state();
            state.work.as_mut().map(|work| {
                work.abort.cancel();
                work.ended.clone()
            })
        };
        match (ended, &self.shared.remote) {
            (Some(ended), _) => ended.cancelled().await,
            (None, Some(remote)) => remote.abort_forwarding().await,
            (None, None) => {}
        }
    }

    /// Cancels the pending retry, and returns after the events about it. Returns at once without a pending retry.
    pub async fn abort_retry(&self) {
        if let Some(remote) = &self.shared.remote {
            return remote.agent.abort_retry().await;
        }
        let ended = {
            let state = self.shared.state();
            let Some(work) = state.work.as_ref().filter(|work| work.phase == WorkPhase::RetryPause) else {
                return;
            };
            work.cancel_retry.cancel();
            work.ended.clone()
        };
        ended.cancelled().await;
    }

    /// Waits for the end of all work. Never returns if a model never answers.
    pub async fn wait_until_idle(&self) {
        loop {
            let Some(ended) = self.shared.state().work.as_ref().map(|work| work.ended.clone()) else { break };
            ended.cancelled().await;
        }
        self.shared.flush().await;
    }

    /// Stops all work, rejects further prompts, and waits for the end of the work. Work that does not end within five
    /// seconds is abandoned.
    pub async fn shut_down(&self) {
        {
            let mut state = self.shared.state();
            state.closing = true;
            state.bash_abort.cancel();
        }
        let timeout = self.shared.options.clock.sleep(SHUTDOWN_TIMEOUT);
        tokio::select! {
            () = self.abort() => {}
            () = timeout => {
                tracing::error!("the run did not end in time and is dropped");
                let work = self.shared.state().work.take();
                if let Some(work) = work {
                    work.abort_task();
                }
            }
        }
        self.shared.flush().await;
    }
}
