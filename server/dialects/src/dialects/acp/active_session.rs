//! An open session.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentese::acp::{
    AcpAvailableCommand, AcpAvailableCommandsUpdate, AcpCommandInput, AcpConfigOption, AcpConfigOptionUpdate,
    AcpPromptEnd, AcpStopReason,
};
use agentese::serve::CommandError;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::client::ClientConnection;
use super::error::{internal_error, invalid_params};
use super::options::OfferedOptions;
use super::sink::Sink;
use super::{event_translator, history, options};
use crate::conversation::{
    ConversationService, PromptOutcome, PromptRequest, PromptRequestError, RequestContext,
};
use crate::engine::PromptError;
use crate::resources::CommandSource;

/// A conversation, and the requests of a client about it.
pub(super) struct ActiveSession {
    pub id: String,
    pub cwd: PathBuf,
    pub conversation: Arc<ConversationService>,
    client: Arc<ClientConnection>,
    sink: Arc<Sink>,
    offered: OfferedOptions,
    /// Cancelled when the client cancels all turns in progress.
    turn_token: Mutex<CancellationToken>,
    /// Cancelled when the session is closed; ends its background tasks.
    closed: CancellationToken,
}

impl ActiveSession {
    pub fn new(
        id: String,
        cwd: PathBuf,
        conversation: Arc<ConversationService>,
        client: Arc<ClientConnection>,
        sink: Arc<Sink>,
        offered: OfferedOptions,
    ) -> Self {
        let (turn_token, closed) = (Mutex::default(), CancellationToken::new());
        Self { id, cwd, conversation, client, sink, offered, turn_token, closed }
    }

    fn turn_token(&self) -> MutexGuard<'_, CancellationToken> {
        self.turn_token.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends user input and waits until the agent has finished its work on it. `cancel_token` is cancelled if the
    /// client cancels only this request.
    pub async fn prompt(
        &self,
        request: PromptRequest,
        cancel_token: CancellationToken,
    ) -> Result<AcpPromptEnd, CommandError> {
        let turn = self.turn_token().clone();
        if !self.conversation.engine().status().streaming {
            self.sink.start_turn();
        }
        let ended = {
            let mut work = std::pin::pin!(self.run_prompt(request, &turn));
            tokio::select! {
                biased;
                ended = &mut work => ended,
                () = cancel_token.cancelled() => {
                    self.cancel().await;
                    work.await
                }
            }
        };
        // A cancelled turn reports the cancellation, independent of the outcome of the work.
        if turn.is_cancelled() {
            return Ok(AcpPromptEnd::new(AcpStopReason::Cancelled));
        }
        ended.map(AcpPromptEnd::new)
    }

    async fn run_prompt(
        &self,
        request: PromptRequest,
        turn: &CancellationToken,
    ) -> Result<AcpStopReason, CommandError> {
        let engine = self.conversation.engine();
        loop {
            let context = RequestContext::new(|_| {}, turn.clone().cancelled_owned());
            let outcome = self.conversation.prompt(request.clone(), context).await;
            if turn.is_cancelled() {
                // The run started at the moment of the cancellation.
                self.conversation.abort().await;
                return Ok(AcpStopReason::Cancelled);
            }
            match outcome {
                Ok(PromptOutcome::Run(_) | PromptOutcome::Queued) => {
                    engine.wait_until_idle().await;
                    return self.sink.outcome().map_err(internal_error);
                }
                Ok(PromptOutcome::Command(command_end)) => {
                    tokio::select! {
                        () = command_end.cancelled() => {}
                        () = turn.cancelled() => {}
                    }
                    // The command may have started a run.
                    engine.wait_until_idle().await;
                    return self.sink.outcome().map_err(internal_error);
                }
                Ok(PromptOutcome::Handled) => return Ok(AcpStopReason::EndTurn),
                Err(PromptRequestError::Engine(PromptError::Compacting)) => engine.wait_until_idle().await,
                Err(PromptRequestError::Engine(PromptError::Budget(_))) => {
                    return Ok(AcpStopReason::MaxTurnRequests);
                }
                Err(PromptRequestError::Engine(error @ PromptError::Blank)) => {
                    return Err(invalid_params("session/prompt", &error.to_string()));
                }
                Err(PromptRequestError::Cancelled) => return Ok(AcpStopReason::Cancelled),
                Err(error) => return Err(internal_error(error)),
            }
        }
    }

    /// Stops the current work and clears the queues.
    pub async fn cancel(&self) {
        std::mem::take(&mut *self.turn_token()).cancel();
        let _ = self.conversation.engine().clear_queues();
        self.conversation.abort().await;
    }

    /// Returns the options of the session.
    pub fn options(&self) -> Vec<AcpConfigOption> {
        options::all(self.conversation.engine(), self.offered)
    }

    /// Sets an option and returns all options.
    pub fn set_option(&self, option: &str, value: &Value) -> Result<Vec<AcpConfigOption>, CommandError> {
        options::set(self.conversation.engine(), self.offered, option, value)?;
        Ok(self.options())
    }

    /// Sends the whole conversation as updates.
    pub async fn replay(&self) {
        for update in history::history_updates(&self.cwd, &self.conversation.engine().conversation()) {
            self.client.wait_for_capacity().await;
            self.client.send_update(&self.id, update);
        }
        self.send_usage();
    }

    /// Sends the token usage of the context.
    pub fn send_usage(&self) {
        let engine = self.conversation.engine();
        let (used, model) = (engine.context_tokens(), engine.status().model);
        let cost = engine.stats().2.cost;
        if let (Some(used), Some(model)) = (used.filter(|used| *used > 0), model) {
            self.client.send_update(&self.id, event_translator::usage(used, model.context_window, cost));
        }
    }

    /// Sends the list of commands once the extensions are loaded, and the options after each change. Runs until the
    /// session is closed.
    pub async fn forward_updates(self: Arc<Self>) {
        let updates = async {
            let commands = self.conversation.commands().await.into_iter().map(|command| {
                let description = command.description.unwrap_or_default();
                let mut listed = AcpAvailableCommand::new(command.name, description);
                listed.input = Some(AcpCommandInput::new(match command.source {
                    CommandSource::Skill => "what to use the skill for",
                    CommandSource::Extension | CommandSource::Template => "arguments",
                }))
                .into();
                listed
            });
            self.client.send_update(&self.id, AcpAvailableCommandsUpdate::new(commands.collect()));
            loop {
                self.sink.wait_for_option_change().await;
                self.client.send_update(&self.id, AcpConfigOptionUpdate::new(self.options()));
            }
        };
        tokio::select! {
            () = updates => {}
            () = self.closed.cancelled() => {}
        }
    }

    /// Stops all further updates.
    pub fn stop_updates(&self) {
        self.closed.cancel();
        self.sink.close();
    }
}
