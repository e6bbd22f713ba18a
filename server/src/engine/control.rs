//! What an engine is asked about, and how its work is stopped.

use std::sync::Arc;
use std::time::Duration;

use agentese::types::{AgentMessage, Model, QueueMode, ThinkingLevel};

use super::Engine;
use crate::config::Change;
use crate::session::{EmptyName, Session, Stats};

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
    /// How steering messages are delivered.
    pub steering_mode: QueueMode,
    /// How follow-ups are delivered.
    pub follow_up_mode: QueueMode,
    /// The session's identifier.
    pub session_id: String,
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
            streaming: state.run.is_some(),
            steering_mode: state.queues.steering_mode(),
            follow_up_mode: state.queues.follow_up_mode(),
            session_id: state.session.id().to_owned(),
            session_name: state.session.name().map(str::to_owned),
            messages: state.session.messages().len(),
            pending: state.queues.pending(),
        }
    }

    /// All messages of the session.
    pub fn messages(&self) -> Vec<Arc<AgentMessage>> {
        self.shared.state().session.messages().to_vec()
    }

    /// The text of the model's last answer; see [`Session::last_assistant_text`].
    pub fn last_assistant_text(&self) -> Option<String> {
        self.shared.state().session.last_assistant_text()
    }

    /// Counts, tokens and cost of the session, and its identifier.
    pub fn stats(&self) -> (String, Stats) {
        let state = self.shared.state();
        (state.session.id().to_owned(), state.session.stats())
    }

    /// Names the session. Fails for an empty name.
    pub fn set_session_name(&self, name: &str) -> Result<(), EmptyName> {
        self.shared.state().session.rename(name)
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

    /// Stops the run that is going on and waits for its end: its closing events are sent before
    /// this returns. At once while the engine is idle. The queues stay as they are.
    pub async fn abort(&self) {
        let ended = {
            let state = self.shared.state();
            let Some(run) = &state.run else { return };
            run.abort.cancel();
            run.ended.clone()
        };
        ended.cancelled().await;
    }

    /// Starts a fresh session. A run is aborted first, with its closing events; the queues are
    /// emptied. The modes, the model and commands that are running stay.
    pub async fn new_session(&self, parent: Option<String>) {
        loop {
            self.abort().await;
            let mut state = self.shared.state();
            // A prompt of somebody else may have come in between.
            if state.run.is_some() {
                continue;
            }
            state.session = Session::new(self.shared.options.ids.uuid(), parent);
            state.queues.clear();
            state.deferred.clear();
            return;
        }
    }

    /// Waits until no run is going on. Never returns for a model that never answers.
    pub async fn settle(&self) {
        loop {
            let Some(ended) = self.shared.state().run.as_ref().map(|run| run.ended.clone()) else { return };
            ended.cancelled().await;
        }
    }

    /// Stops everything, refuses further prompts, and waits for the end of the run; a run that does
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
                let run = self.shared.state().run.take();
                if let Some(run) = run {
                    run.detach();
                }
            }
        }
    }
}
