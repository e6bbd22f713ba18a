//! The start of a run, and messages that join one.

use agentese::types::{AgentMessage, ImageContent};
use tokio_util::sync::CancellationToken;

use super::queue::QueuesFull;
use super::run::Run;
use super::shared::Work;
use super::state::{Kind, Phase, State};
use super::{Engine, Event, Handed, Input, PromptError, Shared, StreamingBehavior};
use crate::providers::is_blank;
use crate::tools::prepare_image;

/// An accepted prompt: reserved work, or a queued message.
///
/// Dropping it ends the reservation.
#[must_use = "the run waits for `start`, and the engine with it"]
pub struct Begun {
    what: What,
    handed: Handed,
}

/// Kind of an accepted prompt.
enum What {
    Queued,
    Run(Box<(Work, Run)>),
    /// Work of the remote agent, with the input that started it.
    Led(Box<(Work, Vec<AgentMessage>)>),
}

impl Begun {
    pub(super) fn run(work: Work, run: Run) -> Self {
        Self { what: What::Run(Box::new((work, run))), handed: Handed::default() }
    }

    pub(super) fn led(work: Work, said: Vec<AgentMessage>) -> Self {
        Self { what: What::Led(Box::new((work, said))), handed: Handed::default() }
    }

    /// Holds back the events of the remote agent until this prompt is started or dropped.
    pub fn holding(self, handed: Handed) -> Self {
        Self { handed, ..self }
    }

    /// Returns `true` if the prompt starts a run. Returns `false` if it waits in a queue of the current run.
    pub fn is_run(&self) -> bool {
        !matches!(self.what, What::Queued)
    }

    /// Returns a handle to the started work; `None` for a queued prompt.
    pub fn running(&self) -> Option<Running> {
        match &self.what {
            What::Queued => None,
            What::Run(begun) => Some(Running(begun.0.ended())),
            What::Led(begun) => Some(Running(begun.0.ended())),
        }
    }

    /// Starts the run, if there is one. No event is emitted before this call, so a front can respond first.
    pub fn start(self) {
        match self.what {
            What::Queued => {}
            What::Run(begun) => {
                let (work, run) = *begun;
                work.start(run);
            }
            What::Led(begun) => {
                let (work, said) = *begun;
                work.start_led(said);
            }
        }
        drop(self.handed);
    }
}

/// A handle to the work of a prompt.
#[derive(Debug, Clone)]
pub struct Running(CancellationToken);

impl Running {
    /// Waits for the end of the work, including all work after its first run.
    pub async fn ended(&self) {
        self.0.cancelled().await;
    }
}

impl std::fmt::Debug for Begun {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Begun").field("is_run", &self.is_run()).finish_non_exhaustive()
    }
}

/// Replacement for images that the settings keep from models.
const BLOCKED: &str = "[The settings keep images from the model.]";

impl Engine {
    /// Fails if the budget of the session is exhausted. Prompts are then rejected, and current work continues.
    pub fn within_budget(&self) -> Result<(), PromptError> {
        self.shared.within_budget()
    }

    /// Returns `true` if the input is an empty text that agents of the dialect accept. Fails for other input without
    /// visible text and images.
    pub fn accept_words(&self, text: &str, images: &[ImageContent]) -> Result<bool, PromptError> {
        let empty = text.is_empty() && images.is_empty() && self.shared.options.customs.empty_messages;
        match is_blank(text) && images.is_empty() && !empty {
            true => Err(PromptError::Blank),
            false => Ok(empty),
        }
    }

    /// Replaces names of skills and templates with their texts, checks the images of an input, and reduces them to a
    /// size for models. Fails for the first image that is invalid, damaged, too large, or of another type than
    /// declared. Fails if the input has no visible content afterwards.
    pub async fn prepare(&self, input: Input) -> Result<Input, PromptError> {
        let input = self.fitted(input).await?;
        input.check()?;
        Ok(input)
    }

    async fn fitted(&self, mut input: Input) -> Result<Input, PromptError> {
        if self.is_led() {
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

    /// Accepts a prompt: it starts a run, or joins the current one according to `streaming`. During the pause before a
    /// retry and during an automatic compaction, the prompt waits for the following run; after an abort, for the next
    /// one. The customs may treat these phases as a part of the run, or reject prompts in the pause. Fails during a run
    /// without `streaming`, during a requested compaction, without a model or its key, with an exhausted budget, and
    /// during a shutdown. Fails for a blank prompt, and if the queues are full.
    pub fn begin(&self, input: Input, streaming: Option<StreamingBehavior>) -> Result<Begun, PromptError> {
        input.check()?;
        let (said, message, files) = input.split(self.shared.options.clock.now_ms());
        let mut state = self.shared.state();
        if let Some(queue) = self.shared.admits(&state, streaming)? {
            self.shared.queue(&mut state, message, queue == StreamingBehavior::FollowUp)?;
            return Ok(Begun { what: What::Queued, handed: Handed::default() });
        }
        let work = self.shared.reserve(&mut state)?;
        self.shared.start(state, work, std::iter::once(message).chain(files).collect(), Some(said))
    }

    /// Queues a message that interrupts. If the engine is idle, the message waits for the next prompt. Fails if the
    /// queues are full, and for a blank message.
    pub fn steer(&self, input: Input) -> Result<(), PromptError> {
        self.queue(input, StreamingBehavior::Steer)
    }

    /// Empties the queues, and returns the texts of the steering messages and of the follow-ups.
    pub fn clear_queues(&self) -> (Vec<String>, Vec<String>) {
        let mut state = self.shared.state();
        let texts = state.queues.give_back();
        if let Some(led) = &self.shared.led {
            led.lead.clear_queues();
        }
        self.shared.tell_of_queues(&mut state);
        texts
    }

    /// Queues a message for the moment at which the agent would stop. If the engine is idle, the message waits for the
    /// next prompt. Fails if the queues are full, and for a blank message.
    pub fn follow_up(&self, input: Input) -> Result<(), PromptError> {
        self.queue(input, StreamingBehavior::FollowUp)
    }

    fn queue(&self, input: Input, queue: StreamingBehavior) -> Result<(), PromptError> {
        input.check()?;
        let message = input.message(self.shared.options.clock.now_ms());
        let follows = queue == StreamingBehavior::FollowUp;
        Ok(self.shared.queue(&mut self.shared.state(), message.into(), follows)?)
    }
}

impl Shared {
    /// Fails if the budget is exhausted. A child started within the budget, so its prompts are not checked.
    pub(super) fn within_budget(&self) -> Result<(), PromptError> {
        let ledger = &self.options.ledger;
        match ledger.exceeded(self.options.clock.now_ms()).filter(|_| ledger.is_root()) {
            Some(reason) => Err(PromptError::Budget(reason)),
            None => Ok(()),
        }
    }

    /// Decides about a prompt now. Returns the queue for it; `None` if it starts a run. Fails if it is rejected.
    pub(super) fn admits(
        &self,
        state: &State,
        streaming: Option<StreamingBehavior>,
    ) -> Result<Option<StreamingBehavior>, PromptError> {
        if state.closing {
            return Err(PromptError::Closing);
        }
        self.within_budget()?;
        let Some(working) = &state.work else { return Ok(None) };
        match (working.kind, working.phase, streaming) {
            (Kind::Compaction, ..) => Err(PromptError::Compacting),
            (_, Phase::Running, _) if self.led.as_ref().is_some_and(|led| !led.is_on()) => Ok(None),
            (_, Phase::Running, None) => Err(PromptError::Busy),
            (_, _, None) if self.options.customs.runs_until_settled => Err(PromptError::Busy),
            (_, Phase::Waiting, None) if self.options.customs.pauses_refuse_prompts => Err(PromptError::Busy),
            (_, _, streaming) => Ok(Some(streaming.unwrap_or(StreamingBehavior::Steer))),
        }
    }

    /// Fails if the queues have no room for the input, and for a blank message.
    pub(super) fn has_room(&self, input: &Input) -> Result<(), PromptError> {
        input.check()?;
        let message = input.clone().message(self.options.clock.now_ms());
        Ok(self.state().queues.fits(&message.into())?)
    }

    /// Queues a message and emits an event. Fails without an event if the queues are full.
    fn queue(&self, state: &mut State, message: AgentMessage, follows: bool) -> Result<(), QueuesFull> {
        state.queues.fits(&message)?;
        self.sink.push(Event::Queued(&message));
        match follows {
            true => state.queues.follow_up(message),
            false => state.queues.steer(message),
        }?;
        self.tell_of_queues(state);
        Ok(())
    }

    /// Emits the queued texts if they have changed.
    pub(super) fn tell_of_queues(&self, state: &mut State) {
        if let Some((steering, follow_ups)) = state.queues.changes() {
            self.sink.push(Event::QueuesChanged { steering: &steering, follow_ups: &follow_ups });
        }
    }
}
