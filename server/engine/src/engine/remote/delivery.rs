//! Forwarding of input to a remote agent. The caller holds the delivery lock until its client has the response. So
//! no event that the input causes is sent before the response.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentese::types::AgentMessage;
use tokio::sync::{Notify, OwnedMutexGuard};

use crate::engine::shared::{RemoteState, Work};
use crate::engine::{Delivery, Engine, PromptError, RemoteAgent, Shared, UserInput};

/// Time limit for the remote agent to end a run that was aborted.
pub(in crate::engine) const GRACE: Duration = Duration::from_secs(4);

/// Log message for a remote agent that does not accept an abort.
pub(in crate::engine) const NO_ABORT: &str = "The agent did not accept the abort.";

/// Guard of the delivery lock, held until the client has its response.
#[derive(Default)]
pub(in crate::engine) struct DeliveryGuard {
    _lock: Option<OwnedMutexGuard<()>>,
}

impl std::fmt::Debug for DeliveryGuard {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("DeliveryGuard").finish_non_exhaustive()
    }
}

impl RemoteState {
    pub fn new(agent: Arc<dyn RemoteAgent>) -> Self {
        Self {
            agent,
            delivery_lock: Arc::default(),
            accepted_work: Mutex::default(),
            reported_input: Mutex::default(),
            work_accepted: Notify::new(),
            run_active: AtomicBool::new(false),
            task: Mutex::default(),
            disconnect_reason: Mutex::default(),
        }
    }

    /// Returns `true` while events of a run are emitted.
    pub fn is_run_active(&self) -> bool {
        self.run_active.load(Ordering::Acquire)
    }

    /// Records the start or the end of an emitted run.
    pub fn set_run_active(&self, active: bool) {
        self.run_active.store(active, Ordering::Release);
    }

    fn accepted_work(&self) -> MutexGuard<'_, Option<(Work, Vec<AgentMessage>)>> {
        self.accepted_work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes and returns the work that was accepted since the last call, with its messages.
    pub fn take_accepted_work(&self) -> Option<(Work, Vec<AgentMessage>)> {
        self.accepted_work().take()
    }

    /// Stores a message that the remote agent reported before a run, because a run may start with it.
    pub fn hold_reported_input(&self, message: AgentMessage) {
        self.reported_input.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }

    /// Removes and returns the messages that `hold_reported_input` stored.
    pub fn take_reported_input(&self) -> Vec<AgentMessage> {
        std::mem::take(&mut *self.reported_input.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn disconnect_reason(&self) -> Option<String> {
        self.disconnect_reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records the disconnection of the remote agent, with its reason.
    pub fn set_disconnected(&self, reason: String) {
        *self.disconnect_reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
    }

    /// Records the work that accepted input starts. Called after the response to the client. Later events belong to
    /// that work.
    pub fn accept_work(&self, work: Work, messages: Vec<AgentMessage>) {
        // Dropping the previous work locks the state, so it happens outside this lock.
        let previous = self.accepted_work().replace((work, messages));
        drop(previous);
        self.work_accepted.notify_one();
    }

    /// Requests an abort from the remote agent if input is being forwarded to it.
    pub async fn abort_forwarding(&self) {
        if self.delivery_lock.try_lock().is_err()
            && tokio::time::timeout(GRACE, self.agent.abort()).await.is_err()
        {
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
    pub fn is_remote(&self) -> bool {
        self.shared.remote.is_some()
    }
}

impl Shared {
    /// Forwards input to the remote agent, if there is one. Returns when the remote agent has accepted the input. Events
    /// are held back until the returned guard is dropped. Fails if this engine or the remote agent rejects the input.
    pub(in crate::engine) async fn forward(
        &self,
        input: &UserInput,
        delivery: Delivery,
    ) -> Result<DeliveryGuard, PromptError> {
        if self.remote.is_some() {
            self.will_queue(delivery)?;
        }
        self.forward_if(input, delivery, || self.will_queue(delivery)).await
    }

    /// Works like [`Shared::forward`], for a prompt that has reserved the engine.
    pub(in crate::engine) async fn forward_reserved(
        &self,
        input: &UserInput,
    ) -> Result<DeliveryGuard, PromptError> {
        self.forward_if(input, Delivery::Prompt(None), || Ok(false)).await
    }

    /// Returns `true` if input will wait in a queue of this engine. Fails if the engine rejects it.
    fn will_queue(&self, delivery: Delivery) -> Result<bool, PromptError> {
        match delivery {
            Delivery::Prompt(busy_queue) => {
                self.admit_prompt(&self.state(), busy_queue).map(|queue| queue.is_some())
            }
            Delivery::Queue(_) => Ok(true),
        }
    }

    /// Forwards input. `will_queue` returns `true` if the input will wait in a queue of this engine. In that case,
    /// fails if the queue has no room, before the remote agent receives the input.
    async fn forward_if(
        &self,
        input: &UserInput,
        delivery: Delivery,
        will_queue: impl FnOnce() -> Result<bool, PromptError>,
    ) -> Result<DeliveryGuard, PromptError> {
        let Some(remote) = &self.remote else { return Ok(DeliveryGuard::default()) };
        if let Some(reason) = remote.disconnect_reason() {
            return Err(PromptError::Remote(reason));
        }
        let lock = remote.delivery_lock.clone().lock_owned().await;
        if will_queue()? {
            self.check_queue_capacity(input)?;
        }
        remote.agent.submit(&input.text, &input.images, delivery).await.map_err(PromptError::Remote)?;
        Ok(DeliveryGuard { _lock: Some(lock) })
    }
}
