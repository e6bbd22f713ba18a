//! How a run is started, and what joins one.

use agentese::types::{AgentMessage, ImageContent};
use tokio_util::sync::CancellationToken;

use super::queue::QueuesFull;
use super::run::Run;
use super::shared::Work;
use super::state::{Kind, Phase, State};
use super::{Engine, Event, Handed, Input, PromptError, Shared, StreamingBehavior};
use crate::providers::is_blank;
use crate::tools::prepare_image;

/// An accepted prompt: work that is reserved, or a message that was queued.
///
/// Dropping it gives the reservation up.
#[must_use = "the run waits for `start`, and the engine with it"]
pub struct Begun {
    what: What,
    handed: Handed,
}

/// What was begun.
enum What {
    Queued,
    Run(Box<(Work, Run)>),
    /// By another agent, with those words.
    Led(Box<(Work, Vec<AgentMessage>)>),
}

impl Begun {
    pub(super) fn run(work: Work, run: Run) -> Self {
        Self { what: What::Run(Box::new((work, run))), handed: Handed::default() }
    }

    pub(super) fn led(work: Work, said: Vec<AgentMessage>) -> Self {
        Self { what: What::Led(Box::new((work, said))), handed: Handed::default() }
    }

    /// What another agent does is told once this is started or dropped.
    pub fn holding(self, handed: Handed) -> Self {
        Self { handed, ..self }
    }

    /// Whether it starts a run; if not, it waits in a queue of the run that is going on.
    pub fn is_run(&self) -> bool {
        !matches!(self.what, What::Queued)
    }

    /// The work that it starts; none where it waits in a queue.
    pub fn running(&self) -> Option<Running> {
        match &self.what {
            What::Queued => None,
            What::Run(begun) => Some(Running(begun.0.ended())),
            What::Led(begun) => Some(Running(begun.0.ended())),
        }
    }

    /// Starts the run, where there is one. No event is sent before this, so that a front can answer first.
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

/// Work that was begun.
#[derive(Debug, Clone)]
pub struct Running(CancellationToken);

impl Running {
    /// Waits until it is over, with everything that follows its first run.
    pub async fn ended(&self) {
        self.0.cancelled().await;
    }
}

impl std::fmt::Debug for Begun {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Begun").field("is_run", &self.is_run()).finish_non_exhaustive()
    }
}

/// What stands in place of images that are kept from models.
const BLOCKED: &str = "[The settings keep images from the model.]";

impl Engine {
    /// Whether there is something left of the session's budget. Prompts are refused where there is not; what goes on,
    /// goes on.
    pub fn within_budget(&self) -> Result<(), PromptError> {
        self.shared.within_budget()
    }

    /// Returns whether the words are an empty text that agents of the dialect take all the same. Fails for other words in
    /// which nothing can be seen and that come without an image.
    pub fn accept_words(&self, text: &str, images: &[ImageContent]) -> Result<bool, PromptError> {
        let empty = text.is_empty() && images.is_empty() && self.shared.options.customs.empty_messages;
        match is_blank(text) && images.is_empty() && !empty {
            true => Err(PromptError::Blank),
            false => Ok(empty),
        }
    }

    /// Puts skills and templates in place of their names, checks the images of an input, and makes them small enough
    /// for a model. Fails for the first image that is none, is damaged, is declared as something else, or is too large, and
    /// if nothing is left that can be seen.
    pub async fn prepare(&self, input: Input) -> Result<Input, PromptError> {
        let input = self.fitted(input).await?;
        input.check()?;
        Ok(input)
    }

    async fn fitted(&self, mut input: Input) -> Result<Input, PromptError> {
        if self.is_led() {
            // Whoever answers prepares it.
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

    /// Accepts a prompt: it starts a run, or joins the one that is going on as `streaming` says.
    /// During the pause before a retry, and while the agent compacts on its own, it waits and is
    /// delivered with the run that follows, unless the customs count these as the run or refuse it in that pause; after an abort with the next one. Refused while a run is going on and `streaming` says
    /// nothing, while a compaction that was asked for is going on, without a model or its key, where the budget is used up,
    /// and while the engine is shut down.
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

    /// Queues a message that interrupts; while the engine is idle it waits for the next prompt.
    /// Fails where too much waits already, and for a blank message.
    pub fn steer(&self, input: Input) -> Result<(), PromptError> {
        self.queue(input, StreamingBehavior::Steer)
    }

    /// Takes what waits out of the queues, and gives the texts: those that interrupt, and the others.
    pub fn clear_queues(&self) -> (Vec<String>, Vec<String>) {
        let mut state = self.shared.state();
        let texts = state.queues.give_back();
        if let Some(led) = &self.shared.led {
            led.lead.clear_queues();
        }
        self.shared.tell_of_queues(&mut state);
        texts
    }

    /// Queues a message for the time when the agent would stop; while the engine is idle it waits
    /// for the next prompt. Fails where too much waits already, and for a blank message.
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
    /// Whether a prompt is within the budget. A child was started within it, and may be spoken to.
    pub(super) fn within_budget(&self) -> Result<(), PromptError> {
        let ledger = &self.options.ledger;
        match ledger.exceeded(self.options.clock.now_ms()).filter(|_| ledger.is_root()) {
            Some(reason) => Err(PromptError::Budget(reason)),
            None => Ok(()),
        }
    }

    /// Whether a prompt is taken now, and into which queue where something is going on.
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

    /// Fails where too much waits already for that to be queued, and for a blank message.
    pub(super) fn has_room(&self, input: &Input) -> Result<(), PromptError> {
        input.check()?;
        let message = input.clone().message(self.options.clock.now_ms());
        Ok(self.state().queues.fits(&message.into())?)
    }

    /// Puts a message into a queue and tells of it. Fails, and tells nothing, where too much waits already.
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

    /// Tells what waits, where that has changed.
    pub(super) fn tell_of_queues(&self, state: &mut State) {
        if let Some((steering, follow_ups)) = state.queues.changes() {
            self.sink.push(Event::QueuesChanged { steering: &steering, follow_ups: &follow_ups });
        }
    }
}
