//! The start of a run, and messages that join one.

use agentese::types::{AgentMessage, ImageContent};
use tokio_util::sync::CancellationToken;

use crate::engine::input_queues::QueueFullError;
use crate::engine::remote::delivery::DeliveryGuard;
use crate::engine::run::driver::Run;
use crate::engine::run::policy::RunSpan;
use crate::engine::shared::Work;
use crate::engine::state::{EngineState, WorkKind, WorkPhase};
use crate::engine::{Delivery, Engine, Event, InputQueue, PromptError, Shared, UserInput};
use crate::providers::is_blank;
use crate::tools::prepare_image;

/// An accepted prompt. It has reserved the engine for a run, or it waits in a queue.
///
/// Dropping it ends the reservation.
#[must_use = "the run waits for `start`, and the engine with it"]
pub struct AcceptedPrompt {
    disposition: PromptDisposition,
    delivery_guard: DeliveryGuard,
}

/// Kind of an accepted prompt.
enum PromptDisposition {
    Queued,
    Run(Box<(Work, Run)>),
    /// Work of the remote agent, with the input that started it.
    Remote(Box<(Work, Vec<AgentMessage>)>),
}

impl AcceptedPrompt {
    pub(in crate::engine) fn for_run(work: Work, run: Run) -> Self {
        Self {
            disposition: PromptDisposition::Run(Box::new((work, run))),
            delivery_guard: DeliveryGuard::default(),
        }
    }

    pub(in crate::engine) fn for_remote(work: Work, input: Vec<AgentMessage>) -> Self {
        Self {
            disposition: PromptDisposition::Remote(Box::new((work, input))),
            delivery_guard: DeliveryGuard::default(),
        }
    }

    fn queued() -> Self {
        Self { disposition: PromptDisposition::Queued, delivery_guard: DeliveryGuard::default() }
    }

    /// Holds back the events of the remote agent until this prompt is started or dropped.
    pub(in crate::engine) fn with_delivery_guard(self, delivery_guard: DeliveryGuard) -> Self {
        Self { delivery_guard, ..self }
    }

    /// Returns `true` if the prompt starts a run. Returns `false` if it waits in a queue of the current run.
    pub fn starts_run(&self) -> bool {
        !matches!(self.disposition, PromptDisposition::Queued)
    }

    /// Returns a handle to the started work; `None` for a queued prompt.
    pub fn run_handle(&self) -> Option<RunHandle> {
        match &self.disposition {
            PromptDisposition::Queued => None,
            PromptDisposition::Run(reserved) => Some(RunHandle(reserved.0.ended_token())),
            PromptDisposition::Remote(reserved) => Some(RunHandle(reserved.0.ended_token())),
        }
    }

    /// Starts the run, if there is one. No event is emitted before this call, so a dialect server can respond first.
    pub fn start(self) {
        match self.disposition {
            PromptDisposition::Queued => {}
            PromptDisposition::Run(reserved) => {
                let (work, run) = *reserved;
                work.start(run);
            }
            PromptDisposition::Remote(reserved) => {
                let (work, input) = *reserved;
                work.start_remote(input);
            }
        }
        drop(self.delivery_guard);
    }
}

/// A handle to the work of a prompt.
#[derive(Debug, Clone)]
pub struct RunHandle(CancellationToken);

impl RunHandle {
    /// Waits for the end of the prompt's run, and of all retries, compactions and runs that follow it.
    pub async fn ended(&self) {
        self.0.cancelled().await;
    }
}

impl std::fmt::Debug for AcceptedPrompt {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("AcceptedPrompt")
            .field("starts_run", &self.starts_run())
            .finish_non_exhaustive()
    }
}

/// Text that replaces an image if the settings do not permit images for models.
const BLOCKED: &str = "[The settings keep images from the model.]";

impl Engine {
    /// Fails if the budget of the session is exhausted. New prompts are then rejected, but current work continues.
    pub fn check_budget(&self) -> Result<(), PromptError> {
        self.shared.check_budget()
    }

    /// Checks that an input has content. Returns `true` if it is empty and agents of the dialect accept empty
    /// input. Otherwise fails if it has neither visible text nor images.
    pub fn check_input(&self, text: &str, images: &[ImageContent]) -> Result<bool, PromptError> {
        let empty = text.is_empty() && images.is_empty() && self.shared.options.profile.input.accepts_empty;
        match is_blank(text) && images.is_empty() && !empty {
            true => Err(PromptError::Blank),
            false => Ok(empty),
        }
    }

    /// Prepares an input for a model. Replaces names of skills and templates with their texts, checks the images,
    /// and reduces their size. Fails for the first image that is invalid, damaged, too large, or of another type
    /// than declared. Fails if no visible content is left.
    pub async fn prepare(&self, input: UserInput) -> Result<UserInput, PromptError> {
        let input = self.expand_and_fit(input).await?;
        input.check()?;
        Ok(input)
    }

    async fn expand_and_fit(&self, mut input: UserInput) -> Result<UserInput, PromptError> {
        if self.is_remote() {
            // The remote agent prepares the input.
            return Ok(input);
        }
        if !input.verbatim {
            self.expand(&mut input);
        }
        let context = self.shared.context();
        if input.images.is_empty() {
            return Ok(input);
        }
        if context.block_images {
            input.images.clear();
            input.notes.push(BLOCKED.to_owned());
            return Ok(input);
        }
        let resize = context.auto_resize_images;
        let prepared = tokio::task::spawn_blocking(move || {
            for (index, image) in input.images.iter_mut().enumerate() {
                let prepared = prepare_image(&image.data, &image.mime_type, resize)
                    .map_err(|error| PromptError::Image { index, reason: error.to_string() })?;
                input.notes.extend(prepared.resized.map(|resized| resized.note()));
                (image.data, image.mime_type) = (prepared.data, prepared.mime_type.to_owned());
            }
            Ok(input)
        });
        prepared.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }

    /// Submits input of the user: forwards it to the remote agent, if there is one, and then accepts it. Input with
    /// [`Delivery::Queue`] joins its queue even if the engine is idle, and waits there for the next prompt. Events of
    /// the remote agent are held back until the returned prompt is started or dropped.
    ///
    /// Fails like [`Engine::accept_prompt`], and if the remote agent rejects the input.
    pub async fn submit(&self, input: UserInput, delivery: Delivery) -> Result<AcceptedPrompt, PromptError> {
        let delivery_guard = self.shared.forward(&input, delivery).await?;
        let accepted = match delivery {
            Delivery::Prompt(busy_queue) => self.accept_prompt(input, busy_queue)?,
            Delivery::Queue(queue) => {
                self.enqueue(input, queue)?;
                AcceptedPrompt::queued()
            }
        };
        Ok(accepted.with_delivery_guard(delivery_guard))
    }

    /// Accepts a prompt without a remote agent. If the engine is idle, the prompt starts a run. During a run, the prompt joins the queue
    /// `busy_queue`. During the pause before a retry and during an automatic compaction, it waits for the following
    /// run, or after an abort for the next run. The profile may treat these phases as a part of the run, or reject
    /// prompts in the pause.
    ///
    /// Fails if a run is in progress and `busy_queue` is `None`. Fails during a requested compaction and during a
    /// shutdown. Fails without a model or its key, or if the budget is exhausted. Fails if the prompt is blank or
    /// the queues are full.
    pub fn accept_prompt(
        &self,
        input: UserInput,
        busy_queue: Option<InputQueue>,
    ) -> Result<AcceptedPrompt, PromptError> {
        input.check()?;
        let (original_input, message, files) = input.split(self.shared.options.clock.now_ms());
        let mut state = self.shared.state();
        if let Some(queue) = self.shared.admit_prompt(&state, busy_queue)? {
            self.shared.enqueue(&mut state, message, queue == InputQueue::FollowUp)?;
            return Ok(AcceptedPrompt::queued());
        }
        let work = self.shared.reserve_work(&mut state)?;
        self.shared.accept_run(
            state,
            work,
            std::iter::once(message).chain(files).collect(),
            Some(original_input),
        )
    }

    /// Empties the queues, and returns the texts of the steering messages and of the follow-ups.
    pub fn clear_queues(&self) -> (Vec<String>, Vec<String>) {
        let mut state = self.shared.state();
        let texts = state.queues.drain_texts();
        if let Some(remote) = &self.shared.remote {
            remote.agent.clear_queues();
        }
        self.shared.emit_queue_changes(&mut state);
        texts
    }

    /// Queues a message. If the engine is idle, the message waits for the next prompt. Fails if the message is blank or
    /// the queues are full.
    fn enqueue(&self, input: UserInput, queue: InputQueue) -> Result<(), PromptError> {
        input.check()?;
        let message = input.message(self.shared.options.clock.now_ms());
        let follows = queue == InputQueue::FollowUp;
        Ok(self.shared.enqueue(&mut self.shared.state(), message.into(), follows)?)
    }
}

impl Shared {
    /// Fails if the budget is exhausted. Prompts of a subagent are not checked, because the subagent was
    /// started within the budget.
    pub(in crate::engine) fn check_budget(&self) -> Result<(), PromptError> {
        let usage_tracker = &self.options.usage_tracker;
        match usage_tracker.exceeded(self.options.clock.now_ms()).filter(|_| usage_tracker.is_root()) {
            Some(reason) => Err(PromptError::Budget(reason)),
            None => Ok(()),
        }
    }

    /// Decides if a prompt starts a run, is queued, or is rejected. Returns its queue; `None` if the prompt starts
    /// a run. Fails if the prompt is rejected.
    pub(in crate::engine) fn admit_prompt(
        &self,
        state: &EngineState,
        busy_queue: Option<InputQueue>,
    ) -> Result<Option<InputQueue>, PromptError> {
        if state.closing {
            return Err(PromptError::Closing);
        }
        self.check_budget()?;
        let Some(working) = &state.work else { return Ok(None) };
        let span = self.options.profile.run.span;
        match (working.kind, working.phase, busy_queue) {
            (WorkKind::Compaction, ..) => Err(PromptError::Compacting),
            (_, WorkPhase::Running, _)
                if self.remote.as_ref().is_some_and(|remote| !remote.is_run_active()) =>
            {
                Ok(None)
            }
            (_, WorkPhase::Running, None) => Err(PromptError::Busy),
            (_, _, None) if span == RunSpan::UntilSettled => Err(PromptError::Busy),
            (_, WorkPhase::RetryPause, None) if span == RunSpan::TurnsAndRetryPauses => {
                Err(PromptError::Busy)
            }
            (_, _, streaming) => Ok(Some(streaming.unwrap_or(InputQueue::Steer))),
        }
    }

    /// Fails if the input is blank, or if the queues have no room for it.
    pub(in crate::engine) fn check_queue_capacity(&self, input: &UserInput) -> Result<(), PromptError> {
        input.check()?;
        let message = input.clone().message(self.options.clock.now_ms());
        Ok(self.state().queues.check_capacity(&message.into())?)
    }

    /// Queues a message and emits an event. Fails without an event if the queues are full.
    fn enqueue(
        &self,
        state: &mut EngineState,
        message: AgentMessage,
        follows: bool,
    ) -> Result<(), QueueFullError> {
        state.queues.check_capacity(&message)?;
        self.sink.push(Event::Queued(&message));
        match follows {
            true => state.queues.follow_up(message),
            false => state.queues.steer(message),
        }?;
        self.emit_queue_changes(state);
        Ok(())
    }

    /// Emits the queued texts if they have changed.
    pub(in crate::engine) fn emit_queue_changes(&self, state: &mut EngineState) {
        if let Some((steering, follow_ups)) = state.queues.take_changes() {
            self.sink.push(Event::QueuesChanged { steering: &steering, follow_ups: &follow_ups });
        }
    }
}
