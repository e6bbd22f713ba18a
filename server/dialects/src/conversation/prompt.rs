//! Prompts of the user.

use agentese::types::{ImageContent, InputSource};
use tokio_util::sync::CancellationToken;

use super::request_context::OnAccepted;
use super::trust::TrustWaiter;
use super::{ConversationService, PromptOutcome, RequestContext, TrustError};
use crate::engine::{AcceptedPrompt, Delivery, InputQueue, PromptError, UserInput};
use crate::extensions::{CANCELLED, InputHookResult};

/// A prompt of the user.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptRequest {
    /// The text; may be empty.
    pub text: String,
    /// The images of the prompt.
    pub images: Vec<ImageContent>,
    /// The queue for a prompt that arrives during a run. If it is `None`, the prompt is rejected during a run.
    pub delivery: Option<InputQueue>,
}

impl PromptRequest {
    /// Creates a prompt of text and images.
    pub fn new(text: String, images: Option<Vec<ImageContent>>) -> Self {
        Self { text, images: images.unwrap_or_default(), delivery: None }
    }
}

/// The reason why a prompt was rejected. A rejected prompt changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptRequestError {
    /// The prompt was aborted, or another session was opened, before the prompt reached the engine.
    #[error("{CANCELLED}")]
    Cancelled,
    /// The prompt was aborted before the decision about trust, or the files of the trusted directory are unusable.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The input for a queue is a command of an extension. Such commands run at once and cannot be queued.
    // The pi document prescribes this text.
    #[error(
        "Extension command \"/{0}\" cannot be queued. Use prompt() or execute the command when not streaming."
    )]
    Command(String),
    /// A prompt of an MCP server could not be retrieved.
    #[error("{0}")]
    McpPrompt(String),
    /// An extension rejected the prompt.
    #[error("{0}")]
    Extension(String),
    /// The engine rejected the prompt.
    #[error(transparent)]
    Engine(#[from] PromptError),
}

/// The result of the input hooks: input for the engine, or the outcome if an extension handled the prompt.
enum HookedPrompt {
    Input(UserInput, OnAccepted),
    Done(PromptOutcome),
}

impl ConversationService {
    /// Handles a prompt. A command of an extension is run. Other input passes the input hooks of the extensions and
    /// goes to the engine. Returns when the work has started, without waiting for its end.
    pub async fn prompt(
        &self,
        request: PromptRequest,
        context: RequestContext,
    ) -> Result<PromptOutcome, PromptRequestError> {
        self.engine.fairness().prompts.share(self.submit_prompt(request, context)).await
    }

    async fn submit_prompt(
        &self,
        request: PromptRequest,
        context: RequestContext,
    ) -> Result<PromptOutcome, PromptRequestError> {
        self.engine.check_input(&request.text, &request.images)?;
        let _incoming = self.host.register_prompt();
        // Boxed futures: many prompts may wait for a remote agent, and should not reserve memory for the
        // later steps.
        Box::pin(self.ready_for_prompts()).await?;
        self.engine.check_budget()?;
        let busy_queue = request.delivery;
        match Box::pin(self.run_input_hooks(request, context)).await? {
            HookedPrompt::Input(input, on_accepted) => {
                Ok(start_run(self.engine.submit(input, Delivery::Prompt(busy_queue)).await?, on_accepted))
            }
            HookedPrompt::Done(outcome) => Ok(outcome),
        }
    }

    /// Aborts the current work and starts a prompt. No other work can start between the two. The closing events of
    /// the aborted work are sent before the prompt is accepted.
    pub async fn abort_and_prompt(
        &self,
        request: PromptRequest,
        context: RequestContext,
    ) -> Result<PromptOutcome, PromptRequestError> {
        // A rejected prompt must not stop the current work.
        self.engine.check_budget()?;
        self.engine.check_input(&request.text, &request.images)?;
        self.cancel_waiting_prompts();
        self.ready_for_prompts().await?;
        let reservation = self.engine.abort_and_reserve().await?;
        let aborted = reservation.abort_token();
        let hooked = tokio::select! {
            biased;
            () = aborted.cancelled() => Err(PromptRequestError::Cancelled),
            result = self.run_input_hooks(request, context) => result,
        };
        match hooked? {
            HookedPrompt::Input(input, on_accepted) => {
                Ok(start_run(reservation.submit(input).await?, on_accepted))
            }
            HookedPrompt::Done(outcome) => Ok(outcome),
        }
    }

    /// Queues a message for the current run. While the engine is idle, the message waits for the next prompt.
    pub async fn steer(
        &self,
        text: String,
        images: Option<Vec<ImageContent>>,
    ) -> Result<(), PromptRequestError> {
        self.submit_to_queue(text, images, InputQueue::Steer).await
    }

    /// Queues a message for the moment at which the agent would stop. While the engine is idle, the message
    /// waits for the next prompt.
    pub async fn follow_up(
        &self,
        text: String,
        images: Option<Vec<ImageContent>>,
    ) -> Result<(), PromptRequestError> {
        self.submit_to_queue(text, images, InputQueue::FollowUp).await
    }

    async fn submit_to_queue(
        &self,
        text: String,
        images: Option<Vec<ImageContent>>,
        queue: InputQueue,
    ) -> Result<(), PromptRequestError> {
        let input = self.prepare_queued_input(text, images).await?;
        self.engine.submit(input, Delivery::Queue(queue)).await?.start();
        Ok(())
    }

    /// Stops the current work and all waiting prompts, and waits until the closing events are sent. Queued
    /// messages stay.
    pub async fn abort(&self) {
        self.cancel_waiting_prompts();
        self.engine.abort().await;
    }

    fn cancel_waiting_prompts(&self) {
        self.gate.stop(TrustWaiter::Prompt);
        self.host.cancel_pending();
    }

    /// Waits until extensions, trust and MCP servers allow a prompt. Fails if the prompt is aborted meanwhile.
    async fn ready_for_prompts(&self) -> Result<(), PromptRequestError> {
        if !self.host.ready_unless_cancelled().await {
            return Err(PromptRequestError::Cancelled);
        }
        self.wait_for_trust(TrustWaiter::Prompt).await?;
        if !self.host.wait_for_restarts().await {
            return Err(PromptRequestError::Cancelled);
        }
        tokio::select! {
            biased;
            () = self.mcp.ready() => Ok(()),
            () = self.gate.wait_until_stopped(TrustWaiter::Prompt) => Err(PromptRequestError::Cancelled),
        }
    }

    /// Runs the command of an extension that the prompt names. Other input passes the input hooks and is prepared
    /// for the engine.
    async fn run_input_hooks(
        &self,
        request: PromptRequest,
        context: RequestContext,
    ) -> Result<HookedPrompt, PromptRequestError> {
        let RequestContext { on_accepted, replaced } = context;
        if let Some(invocation) = self.host.find(&request.text) {
            let finished = CancellationToken::new();
            let outcome = PromptOutcome::Command(finished.clone());
            let on_accepted = Box::new(move || on_accepted(&outcome));
            self.host.invoke(invocation, finished.clone().drop_guard(), on_accepted).await;
            return Ok(HookedPrompt::Done(PromptOutcome::Command(finished)));
        }
        let empty = self.engine.check_input(&request.text, &request.images)?;
        let input_hooks = self.host.input(request.text, request.images, InputSource::Rpc);
        match self.host.until_replaced(replaced, input_hooks).await {
            InputHookResult::Input(text, images) => {
                let input = self.prepare_input(text, images, empty).await?;
                Ok(HookedPrompt::Input(self.engine.read_mentions(input).await, on_accepted))
            }
            InputHookResult::Handled => Ok(HookedPrompt::Done(PromptOutcome::Handled)),
            InputHookResult::Rejected(reason) => Err(PromptRequestError::Extension(reason)),
            InputHookResult::Cancelled => Err(PromptRequestError::Cancelled),
        }
    }

    /// Prepares input for a queue. Fails if the input is a command of an extension, because such a command cannot
    /// be queued.
    async fn prepare_queued_input(
        &self,
        text: String,
        images: Option<Vec<ImageContent>>,
    ) -> Result<UserInput, PromptRequestError> {
        self.host.ready().await;
        if let Some(invocation) = self.host.find(&text) {
            return Err(PromptRequestError::Command(invocation.name().to_owned()));
        }
        let images = images.unwrap_or_default();
        let empty = self.engine.check_input(&text, &images)?;
        self.prepare_input(text, images, empty).await
    }

    /// Replaces the name of an MCP prompt, a skill or a template with its text, and checks the images. If `empty`
    /// is true, the text may be empty.
    async fn prepare_input(
        &self,
        text: String,
        mut images: Vec<ImageContent>,
        empty: bool,
    ) -> Result<UserInput, PromptRequestError> {
        let input = match self.mcp.expand(&text).await.map_err(PromptRequestError::McpPrompt)? {
            // The text of an MCP server is never read as a command.
            Some(expanded) => {
                images.extend(expanded.images);
                UserInput::new(expanded.text, images).verbatim()
            }
            None => UserInput::new(text, images),
        };
        Ok(self.engine.prepare(input.accept_empty(empty)).await?)
    }
}

/// Reports the acceptance to the caller, then starts the run.
fn start_run(prompt: AcceptedPrompt, on_accepted: OnAccepted) -> PromptOutcome {
    let outcome = prompt.run_handle().map_or(PromptOutcome::Queued, PromptOutcome::Run);
    // The response precedes the first event of the run.
    on_accepted(&outcome);
    prompt.start();
    outcome
}
