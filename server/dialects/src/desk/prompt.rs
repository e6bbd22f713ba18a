//! Prompts of the user.

use agentese::types::{ImageContent, InputSource};
use tokio_util::sync::CancellationToken;

use super::caller::Accepted;
use super::trust::Waiting;
use super::{Caller, Desk, GateError, Taken};
use crate::engine::{Begun, Input, PromptError, StreamingBehavior};
use crate::extensions::{GIVEN_UP, Heard};

/// A prompt of the user.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said {
    /// The text; may be empty.
    pub text: String,
    /// The images of the prompt.
    pub images: Vec<ImageContent>,
    /// The handling during a run. Without it, the prompt is rejected during a run.
    pub streaming: Option<StreamingBehavior>,
}

impl Said {
    /// Creates a prompt of text and images.
    pub fn new(text: String, images: Option<Vec<ImageContent>>) -> Self {
        Self { text, images: images.unwrap_or_default(), streaming: None }
    }
}

/// The reason why a prompt was rejected. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The prompt was aborted, or another session was opened, before the prompt reached the engine.
    #[error("{GIVEN_UP}")]
    GivenUp,
    /// The prompt waited for the decision about trust.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// A command of an extension runs at once or not at all.
    // The pi document prescribes this text.
    #[error(
        "Extension command \"/{0}\" cannot be queued. Use prompt() or execute the command when not streaming."
    )]
    Command(String),
    /// A prompt of an MCP server could not be retrieved.
    #[error("{0}")]
    Server(String),
    /// An extension rejected the prompt.
    #[error("{0}")]
    Extension(String),
    /// The engine rejected the prompt.
    #[error(transparent)]
    Prompt(#[from] PromptError),
}

/// The result of the hooks of extensions for a prompt.
enum Left {
    Words(Input, Accepted),
    Done(Taken),
}

impl Desk {
    /// Handles a prompt: runs a command of an extension, and passes any other input to the engine after the
    /// hooks of extensions. Returns after the start of the work, not after its end.
    pub async fn prompt(&self, said: Said, caller: Caller) -> Result<Taken, Refused> {
        self.engine.fairness().share(self.take_prompt(said, caller)).await
    }

    async fn take_prompt(&self, said: Said, caller: Caller) -> Result<Taken, Refused> {
        self.engine.accept_words(&said.text, &said.images)?;
        let _coming = self.host.coming();
        // Boxed futures: many prompts may wait for a remote agent, and should not reserve memory for the
        // later steps.
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

    /// Aborts the current work and starts a prompt in one step, so that no other work can start in between.
    /// The closing events of the aborted work precede the acceptance of the prompt.
    pub async fn abort_and_prompt(&self, said: Said, caller: Caller) -> Result<Taken, Refused> {
        // A rejected prompt must not stop the current work.
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

    /// Queues a message for the current run. While the engine is idle, the message waits for the next prompt.
    pub async fn steer(&self, text: String, images: Option<Vec<ImageContent>>) -> Result<(), Refused> {
        let input = self.queueable(text, images).await?;
        let _handed = self.engine.hand_to_queue(&input, StreamingBehavior::Steer).await?;
        self.engine.steer(input)?;
        Ok(())
    }

    /// Queues a message for the moment at which the agent would stop. While the engine is idle, the message
    /// waits for the next prompt.
    pub async fn follow_up(&self, text: String, images: Option<Vec<ImageContent>>) -> Result<(), Refused> {
        let input = self.queueable(text, images).await?;
        let _handed = self.engine.hand_to_queue(&input, StreamingBehavior::FollowUp).await?;
        self.engine.follow_up(input)?;
        Ok(())
    }

    /// Stops the current work and all waiting prompts, and waits until the closing events are sent. Queued
    /// messages stay.
    pub async fn abort(&self) {
        self.give_up();
        self.engine.abort().await;
    }

    fn give_up(&self) {
        self.gate.stop(Waiting::Prompt);
        self.host.give_up();
    }

    /// Waits until a prompt may be processed.
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

    /// Runs the hooks of extensions, and prepares the resulting input.
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

    /// Prepares input for a queue. Fails for a command of an extension, because such a command runs at once.
    async fn queueable(&self, text: String, images: Option<Vec<ImageContent>>) -> Result<Input, Refused> {
        self.host.ready().await;
        if let Some(invoked) = self.host.find(&text) {
            return Err(Refused::Command(invoked.name().to_owned()));
        }
        let images = images.unwrap_or_default();
        let empty = self.engine.accept_words(&text, &images)?;
        self.prepared(text, images, empty).await
    }

    /// Expands the name of an MCP prompt, a skill or a template, and checks the images. `empty` is true if
    /// input without a text is accepted.
    async fn prepared(
        &self,
        text: String,
        mut images: Vec<ImageContent>,
        empty: bool,
    ) -> Result<Input, Refused> {
        let input = match self.mcp.expand(&text).await.map_err(Refused::Server)? {
            // The text of an MCP server is never read as a command.
            Some(expanded) => {
                images.extend(expanded.images);
                Input::new(expanded.text, images).verbatim()
            }
            None => Input::new(text, images),
        };
        Ok(self.engine.prepare(input.empty_if(empty)).await?)
    }
}

/// Notifies the caller, then starts the run.
fn begin(begun: Begun, accepted: Accepted) -> Taken {
    let taken = begun.running().map_or(Taken::Queued, Taken::Run);
    // The response precedes the first event of the run.
    accepted(&taken);
    begun.start();
    taken
}
