//! An open session.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentese::acp::{
    AcpAvailableCommand, AcpAvailableCommandsUpdate, AcpCommandInput, AcpConfigOption, AcpConfigOptionUpdate,
    AcpPromptEnd, AcpStopReason,
};
use agentese::serve::Refusal;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::client::Client;
use super::error::{failed, invalid};
use super::options::Offers;
use super::sink::Sink;
use super::{history, options, teller};
use crate::desk::{Caller, Desk, Refused, Said, Taken};
use crate::engine::PromptError;
use crate::resources::CommandSource;

/// A conversation, and the requests of a client about it.
pub(super) struct Opened {
    pub id: String,
    pub cwd: PathBuf,
    pub desk: Arc<Desk>,
    client: Arc<Client>,
    sink: Arc<Sink>,
    offers: Offers,
    /// Cancelled when the client cancels all current turns.
    turn: Mutex<CancellationToken>,
    /// Cancelled when the session is closed; ends its background tasks.
    closed: CancellationToken,
}

impl Opened {
    pub fn new(
        id: String,
        cwd: PathBuf,
        desk: Arc<Desk>,
        client: Arc<Client>,
        sink: Arc<Sink>,
        offers: Offers,
    ) -> Self {
        let (turn, closed) = (Mutex::default(), CancellationToken::new());
        Self { id, cwd, desk, client, sink, offers, turn, closed }
    }

    fn turn(&self) -> MutexGuard<'_, CancellationToken> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends user input, and waits until the agent has finished with it. `given_up` is cancelled if the
    /// client cancels this request alone.
    pub async fn prompt(&self, said: Said, given_up: CancellationToken) -> Result<AcpPromptEnd, Refusal> {
        let turn = self.turn().clone();
        if !self.desk.engine().view().streaming {
            self.sink.begin();
        }
        let ended = {
            let mut work = std::pin::pin!(self.carry_out(said, &turn));
            tokio::select! {
                biased;
                ended = &mut work => ended,
                () = given_up.cancelled() => {
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

    async fn carry_out(&self, said: Said, turn: &CancellationToken) -> Result<AcpStopReason, Refusal> {
        let engine = self.desk.engine();
        loop {
            let caller = Caller::new(|_| {}, turn.clone().cancelled_owned());
            let taken = self.desk.prompt(said.clone(), caller).await;
            if turn.is_cancelled() {
                // The run started at the moment of the cancellation.
                self.desk.abort().await;
                return Ok(AcpStopReason::Cancelled);
            }
            match taken {
                Ok(Taken::Run(_) | Taken::Queued) => {
                    engine.wait_until_idle().await;
                    return self.sink.outcome().map_err(failed);
                }
                Ok(Taken::Command(over)) => {
                    tokio::select! {
                        () = over.cancelled() => {}
                        () = turn.cancelled() => {}
                    }
                    // The command may have started a run.
                    engine.wait_until_idle().await;
                    return self.sink.outcome().map_err(failed);
                }
                Ok(Taken::Handled) => return Ok(AcpStopReason::EndTurn),
                Err(Refused::Prompt(PromptError::Compacting)) => engine.wait_until_idle().await,
                Err(Refused::Prompt(PromptError::Budget(_))) => return Ok(AcpStopReason::MaxTurnRequests),
                Err(Refused::Prompt(error @ PromptError::Blank)) => {
                    return Err(invalid("session/prompt", &error.to_string()));
                }
                Err(Refused::GivenUp) => return Ok(AcpStopReason::Cancelled),
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Stops the current work and clears the queues.
    pub async fn cancel(&self) {
        std::mem::take(&mut *self.turn()).cancel();
        let _ = self.desk.engine().clear_queues();
        self.desk.abort().await;
    }

    /// Returns the options of the session.
    pub fn options(&self) -> Vec<AcpConfigOption> {
        options::all(self.desk.engine(), self.offers)
    }

    /// Sets an option and returns all options.
    pub fn choose(&self, option: &str, value: &Value) -> Result<Vec<AcpConfigOption>, Refusal> {
        options::set(self.desk.engine(), self.offers, option, value)?;
        Ok(self.options())
    }

    /// Sends the whole conversation as updates.
    pub async fn replay(&self) {
        for update in history::told(&self.cwd, &self.desk.engine().conversation()) {
            self.client.room().await;
            self.client.tell(&self.id, update);
        }
        self.tell_usage();
    }

    /// Sends the usage of the context.
    pub fn tell_usage(&self) {
        let engine = self.desk.engine();
        let (used, model) = (engine.context_tokens(), engine.view().model);
        let cost = engine.stats().2.cost;
        if let (Some(used), Some(model)) = (used.filter(|used| *used > 0), model) {
            self.client.tell(&self.id, teller::usage(used, model.context_window, cost));
        }
    }

    /// Sends the list of commands after the extensions are loaded, and the options after each change. Runs
    /// until the session is closed.
    pub async fn keep_told(self: Arc<Self>) {
        let telling = async {
            let commands = self.desk.commands().await.into_iter().map(|command| {
                let description = command.description.unwrap_or_default();
                let mut listed = AcpAvailableCommand::new(command.name, description);
                listed.input = Some(AcpCommandInput::new(match command.source {
                    CommandSource::Skill => "what to use the skill for",
                    CommandSource::Extension | CommandSource::Template => "arguments",
                }))
                .into();
                listed
            });
            self.client.tell(&self.id, AcpAvailableCommandsUpdate::new(commands.collect()));
            loop {
                self.sink.chosen().await;
                self.client.tell(&self.id, AcpConfigOptionUpdate::new(self.options()));
            }
        };
        tokio::select! {
            () = telling => {}
            () = self.closed.cancelled() => {}
        }
    }

    /// Stops all further updates.
    pub fn silence(&self) {
        self.closed.cancel();
        self.sink.close();
    }
}
