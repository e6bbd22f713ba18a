//! What the user says.

use agentese::types::{ImageContent, InputSource};
use tokio_util::sync::CancellationToken;

use super::caller::Accepted;
use super::trust::Waiting;
use super::{Caller, Desk, GateError, Taken};
use crate::engine::{Begun, Input, PromptError, StreamingBehavior};
use crate::extensions::{GIVEN_UP, Heard};

/// Words of the user.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said {
    /// The text; may be empty.
    pub text: String,
    /// Images that go with it.
    pub images: Vec<ImageContent>,
    /// What becomes of it while a run is going on; refused then where that is not said.
    pub streaming: Option<StreamingBehavior>,
}

impl Said {
    /// Text and images.
    pub fn new(text: String, images: Option<Vec<ImageContent>>) -> Self {
        Self { text, images: images.unwrap_or_default(), streaming: None }
    }
}

/// Why words of the user were refused. Nothing changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// They were aborted, or another session took the place of theirs, before they reached the engine.
    #[error("{GIVEN_UP}")]
    GivenUp,
    /// They waited for the question of trust.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// A command of an extension runs at once or not at all.
    // The text is the pi document's.
    #[error(
        "Extension command \"/{0}\" cannot be queued. Use prompt() or execute the command when not streaming."
    )]
    Command(String),
    /// A prompt of an MCP server could not be had.
    #[error("{0}")]
    Server(String),
    /// An extension does not let them through.
    #[error("{0}")]
    Extension(String),
    /// The engine does not take them.
    #[error(transparent)]
    Prompt(#[from] PromptError),
}

/// What is left of words once the extensions have heard them.
enum Left {
    Words(Input, Accepted),
    Done(Taken),
}

impl Desk {
    /// Takes a prompt: a command of an extension is run, everything else goes to the engine, once extensions have heard
    /// it. Returns when the work has begun, not when it is over.
    pub async fn prompt(&self, said: Said, caller: Caller) -> Result<Taken, Refused> {
        self.engine.fairness().share(self.take_prompt(said, caller)).await
    }

    async fn take_prompt(&self, said: Said, caller: Caller) -> Result<Taken, Refused> {
        self.engine.accept_words(&said.text, &said.images)?;
        let _coming = self.host.coming();
        // In boxes: many prompts may wait until another agent takes them, and are to keep no room for what is done.
        Box::pin(self.ready_for_prompts()).await?;
        self.engine.within_budget()?;
        let streaming = said.streaming;
        match Box::pin(self.heard(said, caller)).await? {
            Left::Words(input, accepted) => {
                let handed = self.engine.hand_over(&input, streaming).await?;
                Ok(begin(self.engine.begin(input, streaming)?.holding(handed), accepted))
            }
            Left::Done(taken) => Ok(taken),
        }
    }

    /// Stops what is going on and takes a prompt, in one step: nothing else begins in between. The closing events of
    /// what was stopped are sent before this is accepted.
    pub async fn abort_and_prompt(&self, said: Said, caller: Caller) -> Result<Taken, Refused> {
        // What goes on is not stopped for a prompt that is refused.
        self.engine.within_budget()?;
        self.engine.accept_words(&said.text, &said.images)?;
        self.give_up();
        self.ready_for_prompts().await?;
        let seat = self.engine.take_over().await?;
        let aborted = seat.aborted();
        let left = tokio::select! {
            biased;
            () = aborted.cancelled() => Err(Refused::GivenUp),
            left = self.heard(said, caller) => left,
        };
        match left? {
            Left::Words(input, accepted) => {
                let handed = self.engine.hand_to_seat(&input).await?;
                Ok(begin(seat.begin(input)?.holding(handed), accepted))
            }
            Left::Done(taken) => Ok(taken),
        }
    }

    /// Queues a message that interrupts the run that is going on; while the engine is idle it waits for the next prompt.
    pub async fn steer(&self, text: String, images: Option<Vec<ImageContent>>) -> Result<(), Refused> {
        let input = self.queueable(text, images).await?;
        let _handed = self.engine.hand_to_queue(&input, StreamingBehavior::Steer).await?;
        self.engine.steer(input)?;
        Ok(())
    }

    /// Queues a message for the time when the agent would stop; while the engine is idle it waits for the next prompt.
    pub async fn follow_up(&self, text: String, images: Option<Vec<ImageContent>>) -> Result<(), Refused> {
        let input = self.queueable(text, images).await?;
        let _handed = self.engine.hand_to_queue(&input, StreamingBehavior::FollowUp).await?;
        self.engine.follow_up(input)?;
        Ok(())
    }

    /// Stops what is going on and what has not begun yet, and waits until its closing events are sent. Messages that
    /// wait stay.
    pub async fn abort(&self) {
        self.give_up();
        self.engine.abort().await;
    }

    fn give_up(&self) {
        self.gate.stop(Waiting::Prompt);
        self.host.give_up();
    }

    /// Waits until a prompt may be looked at.
    async fn ready_for_prompts(&self) -> Result<(), Refused> {
        if !self.host.ready_to_begin().await {
            return Err(Refused::GivenUp);
        }
        self.pass(Waiting::Prompt).await?;
        if !self.host.restarted().await {
            return Err(Refused::GivenUp);
        }
        tokio::select! {
            biased;
            () = self.mcp.ready() => Ok(()),
            () = self.gate.stopped(Waiting::Prompt) => Err(Refused::GivenUp),
        }
    }

    /// Lets extensions hear what was said, and prepares what is left of it.
    async fn heard(&self, said: Said, caller: Caller) -> Result<Left, Refused> {
        let Caller { accepted, replaced } = caller;
        if let Some(invoked) = self.host.find(&said.text) {
            let over = CancellationToken::new();
            let taken = Taken::Command(over.clone());
            let accepted = Box::new(move || accepted(&taken));
            self.host.invoke(invoked, over.clone().drop_guard(), accepted).await;
            return Ok(Left::Done(Taken::Command(over)));
        }
        let empty = self.engine.accept_words(&said.text, &said.images)?;
        let asked = self.host.input(said.text, said.images, InputSource::Rpc);
        match self.host.until_replaced(replaced, asked).await {
            Heard::Words(text, images) => {
                let input = self.prepared(text, images, empty).await?;
                Ok(Left::Words(self.engine.read_mentions(input).await, accepted))
            }
            Heard::Handled => Ok(Left::Done(Taken::Handled)),
            Heard::Refused(reason) => Err(Refused::Extension(reason)),
            Heard::GivenUp => Err(Refused::GivenUp),
        }
    }

    /// What is queued cannot be a command of an extension, which runs at once.
    async fn queueable(&self, text: String, images: Option<Vec<ImageContent>>) -> Result<Input, Refused> {
        self.host.ready().await;
        if let Some(invoked) = self.host.find(&text) {
            return Err(Refused::Command(invoked.name().to_owned()));
        }
        let images = images.unwrap_or_default();
        let empty = self.engine.accept_words(&text, &images)?;
        self.prepared(text, images, empty).await
    }

    /// Puts what a server makes of its prompt, a skill or a template in the place of its name, and checks images.
    /// `empty` says that words without a text are taken.
    async fn prepared(
        &self,
        text: String,
        mut images: Vec<ImageContent>,
        empty: bool,
    ) -> Result<Input, Refused> {
        let input = match self.mcp.expand(&text).await.map_err(Refused::Server)? {
            // What a server says is not looked at for commands.
            Some(expanded) => {
                images.extend(expanded.images);
                Input::new(expanded.text, images).verbatim()
            }
            None => Input::new(text, images),
        };
        Ok(self.engine.prepare(input.empty_if(empty)).await?)
    }
}

/// Tells the caller, then starts.
fn begin(begun: Begun, accepted: Accepted) -> Taken {
    let taken = begun.running().map_or(Taken::Queued, Taken::Run);
    // The answer stands before the run's first event.
    accepted(&taken);
    begun.start();
    taken
}
