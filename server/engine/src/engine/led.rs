//! Forwarding of input to a remote agent. The caller that forwards input holds the delivery lock until the client has
//! its response: no event that the input causes precedes the response.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentese::types::AgentMessage;
use tokio::sync::{Notify, OwnedMutexGuard};

use super::shared::{Led, Work};
use super::{Engine, Input, Lead, Manner, PromptError, StreamingBehavior};

/// Time limit for the remote agent to end a run that was aborted.
pub(super) const GRACE: Duration = Duration::from_secs(4);

/// Log message about a remote agent that does not accept an abort.
pub(super) const NO_ABORT: &str = "The agent did not take an abort.";

/// Guard of the delivery lock, held until the client has its response.
#[derive(Default)]
pub struct Handed {
    _floor: Option<OwnedMutexGuard<()>>,
}

impl std::fmt::Debug for Handed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Handed").finish_non_exhaustive()
    }
}

impl Led {
    pub fn new(lead: Arc<dyn Lead>) -> Self {
        Self {
            lead,
            floor: Arc::default(),
            begun: Mutex::default(),
            begins: Mutex::default(),
            changed: Notify::new(),
            on: AtomicBool::new(false),
            task: Mutex::default(),
            gone: Mutex::default(),
        }
    }

    /// Returns `true` while events of a run are emitted.
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    /// Records the start or the end of an emitted run.
    pub fn turn(&self, on: bool) {
        self.on.store(on, Ordering::Release);
    }

    fn begun(&self) -> MutexGuard<'_, Option<(Work, Vec<AgentMessage>)>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the work that was started since the last call, with its messages.
    pub fn take_begun(&self) -> Option<(Work, Vec<AgentMessage>)> {
        self.begun().take()
    }

    /// Stores a reported message that may start a run.
    pub fn begins_with(&self, message: AgentMessage) {
        self.begins.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }

    /// Takes the stored messages.
    pub fn take_begins(&self) -> Vec<AgentMessage> {
        std::mem::take(&mut *self.begins.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn gone(&self) -> Option<String> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records the disconnection of the remote agent, with its reason.
    pub fn lose(&self, reason: String) {
        *self.gone.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
    }

    /// Records the work of accepted input, after the response to the client. Later events belong to that work.
    pub fn begin(&self, work: Work, messages: Vec<AgentMessage>) {
        // Dropping the previous work locks the state, so it happens outside this lock.
        let before = self.begun().replace((work, messages));
        drop(before);
        self.changed.notify_one();
    }

    /// Stops input that is being forwarded, in the remote agent.
    pub async fn abort_what_is_handed_over(&self) {
        if self.floor.try_lock().is_err() && tokio::time::timeout(GRACE, self.lead.abort()).await.is_err() {
            tracing::warn!("{NO_ABORT}");
        }
    }

    /// Stops the task that handles the remote events.
    pub fn stop(&self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

impl Engine {
    /// Returns `true` if a remote agent does the work of this engine.
    pub fn is_led(&self) -> bool {
        self.shared.led.is_some()
    }

    /// Forwards input as a prompt to the remote agent, if there is one. The remote agent has accepted the input when
    /// this returns. Events are emitted once the guard is dropped; see [`Begun::holding`]. Fails if this engine would
    /// reject the prompt, and if the remote agent rejects it.
    pub async fn hand_over(
        &self,
        input: &Input,
        streaming: Option<StreamingBehavior>,
    ) -> Result<Handed, PromptError> {
        let waits = || self.shared.admits(&self.shared.state(), streaming).map(|queue| queue.is_some());
        if self.is_led() {
            waits()?;
        }
        self.hand(input, Manner::Prompt(streaming), waits).await
    }

    /// Works like [`Engine::hand_over`], for a prompt with a reserved engine.
    pub async fn hand_to_seat(&self, input: &Input) -> Result<Handed, PromptError> {
        self.hand(input, Manner::Prompt(None), || Ok(false)).await
    }

    /// Works like [`Engine::hand_over`], for input that joins a queue.
    pub async fn hand_to_queue(
        &self,
        input: &Input,
        queue: StreamingBehavior,
    ) -> Result<Handed, PromptError> {
        self.hand(input, Manner::Queue(queue), || Ok(true)).await
    }

    /// Forwards input. `waits` returns `true` if the input will wait in a queue of this engine. The queue must have
    /// room before the remote agent accepts the input.
    async fn hand(
        &self,
        input: &Input,
        manner: Manner,
        waits: impl FnOnce() -> Result<bool, PromptError>,
    ) -> Result<Handed, PromptError> {
        let Some(led) = &self.shared.led else { return Ok(Handed::default()) };
        if let Some(reason) = led.gone() {
            return Err(PromptError::Led(reason));
        }
        let floor = led.floor.clone().lock_owned().await;
        if waits()? {
            self.shared.has_room(input)?;
        }
        led.lead.say(&input.text, &input.images, manner).await.map_err(PromptError::Led)?;
        Ok(Handed { _floor: Some(floor) })
    }
}
