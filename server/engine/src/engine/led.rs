//! Work that another agent does: words are handed over to it. Whoever hands them over holds the floor until the client was
//! told that they were taken: nothing that they cause is told before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentese::types::AgentMessage;
use tokio::sync::{Notify, OwnedMutexGuard};

use super::shared::{Led, Work};
use super::{Engine, Input, Lead, Manner, PromptError, StreamingBehavior};

/// How long the other agent may take to end a run that was aborted.
pub(super) const GRACE: Duration = Duration::from_secs(4);

/// What is said of an agent that does not even take an abort.
pub(super) const NO_ABORT: &str = "The agent did not take an abort.";

/// The floor, held until the client was told.
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

    /// Whether a run is told of.
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    /// A run is told of from now on, or none.
    pub fn turn(&self, on: bool) {
        self.on.store(on, Ordering::Release);
    }

    fn begun(&self) -> MutexGuard<'_, Option<(Work, Vec<AgentMessage>)>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The work that was begun since this was last asked, with its words.
    pub fn take_begun(&self) -> Option<(Work, Vec<AgentMessage>)> {
        self.begun().take()
    }

    /// The agent has told of words that may begin a run.
    pub fn begins_with(&self, message: AgentMessage) {
        self.begins.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }

    /// These words, once.
    pub fn take_begins(&self) -> Vec<AgentMessage> {
        std::mem::take(&mut *self.begins.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn gone(&self) -> Option<String> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// There is nobody any more, for that reason.
    pub fn lose(&self, reason: String) {
        *self.gone.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
    }

    /// Words were taken, and the client was told: what comes of them belongs to that work.
    pub fn begin(&self, work: Work, messages: Vec<AgentMessage>) {
        // What it ends looks at the state: not under the lock.
        let before = self.begun().replace((work, messages));
        drop(before);
        self.changed.notify_one();
    }

    /// Words that are on their way are stopped there.
    pub async fn abort_what_is_handed_over(&self) {
        if self.floor.try_lock().is_err() && tokio::time::timeout(GRACE, self.lead.abort()).await.is_err() {
            tracing::warn!("{NO_ABORT}");
        }
    }

    /// Stops telling.
    pub fn stop(&self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

impl Engine {
    /// Whether another agent does the work of this one.
    pub fn is_led(&self) -> bool {
        self.shared.led.is_some()
    }

    /// Where another agent does the work: hands words over as a prompt. They are taken when this returns, and
    /// [`Begun::holding`] lets what follows be told. Refused where they would not be taken here, and by the other agent.
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

    /// The same for a prompt for which the engine is reserved.
    pub async fn hand_to_seat(&self, input: &Input) -> Result<Handed, PromptError> {
        self.hand(input, Manner::Prompt(None), || Ok(false)).await
    }

    /// The same for words that are put into a queue.
    pub async fn hand_to_queue(
        &self,
        input: &Input,
        queue: StreamingBehavior,
    ) -> Result<Handed, PromptError> {
        self.hand(input, Manner::Queue(queue), || Ok(true)).await
    }

    /// `waits` says whether they will wait in a queue here: there must be room before the other agent takes them.
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
