//! The data that both directions of the bridge to an ACP agent share.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentese::acp::{AcpCancelParams, AcpContentBlock, AcpImage, AcpPromptParams, AcpText, Command};
use agentese::types::{AgentMessage, ImageContent, Usage};
use agentese_server_engine::engine::{RemoteError, ReportedUsage};
use agentese_server_engine::resources::CommandInfo;
use tokio_util::sync::CancellationToken;

use super::choices::Choices;
use super::connection::AcpConnection;
use crate::client_ui::ClientUi;

/// User input: a text with images.
pub(super) type TurnInput = (String, Vec<ImageContent>);

/// The known state of the agent, and its waiting input.
#[derive(Default)]
pub(super) struct AcpState {
    pub session: String,
    /// The name of the session.
    pub name: Option<String>,
    /// `true` if the agent can open stored sessions.
    pub can_load: bool,
    /// `true` if the agent accepts images in prompts.
    pub accepts_images: bool,
    /// The reported usage of the sessions that this connection has opened, by their ids.
    pub usage: BTreeMap<String, ReportedUsage>,
    /// The messages of the session that existed when it was opened.
    pub history: Vec<AgentMessage>,
    pub choices: Choices,
    /// The number of option changes in progress. Until all have finished, options from the agent may be outdated and
    /// are not reported.
    pub pending_options: usize,
    pub commands: Vec<CommandInfo>,
    /// The current turn.
    pub turn: Option<Turn>,
    /// The number of turns so far.
    pub turn_count: u64,
    /// User input that waits for the end of the current turn, because an ACP agent accepts one prompt at a time.
    pub held_input: VecDeque<TurnInput>,
    /// The reason of the agent's disconnect.
    pub disconnect_reason: Option<String>,
}

/// A current turn.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub number: u64,
    /// The id of the session in which the turn runs.
    pub session: String,
    /// Cancelled when the turn is stopped, which dismisses its open questions.
    pub stopped: CancellationToken,
    /// Cancelled when the turn has ended.
    pub ended: CancellationToken,
}

impl AcpState {
    /// Adds the tokens of a turn to the usage of its session.
    pub fn add_tokens(&mut self, session: &str, tokens: &Usage) {
        let usage = self.usage.entry(session.to_owned()).or_default();
        for (sum, more) in [
            (&mut usage.input, tokens.input),
            (&mut usage.output, tokens.output),
            (&mut usage.cache_read, tokens.cache_read),
            (&mut usage.cache_write, tokens.cache_write),
        ] {
            *sum = Some(sum.unwrap_or_default().saturating_add(more));
        }
    }

    /// Starts a turn.
    pub fn start_turn(&mut self) -> Turn {
        self.turn_count += 1;
        let turn = Turn {
            number: self.turn_count,
            session: self.session.clone(),
            stopped: CancellationToken::new(),
            ended: CancellationToken::new(),
        };
        self.turn = Some(turn.clone());
        turn
    }
}

/// The context that both directions of the bridge share.
pub(super) struct AcpContext {
    pub connection: AcpConnection,
    pub ui: ClientUi,
    state: Mutex<AcpState>,
}

impl AcpContext {
    pub fn new(connection: AcpConnection, ui: ClientUi, state: AcpState) -> Self {
        Self { connection, ui, state: Mutex::new(state) }
    }

    pub fn state(&self) -> MutexGuard<'_, AcpState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the prompt of a turn.
    pub fn send_prompt(&self, turn: Turn, (text, images): TurnInput) -> Result<(), RemoteError> {
        let mut prompt: Vec<AcpContentBlock> = vec![AcpText::new(text).into()];
        prompt.extend(images.into_iter().map(|image| AcpImage::new(image.data, image.mime_type).into()));
        self.connection.start_turn(turn.number, &Command::Prompt(AcpPromptParams::new(turn.session, prompt)))
    }

    /// Requests the stop of a turn. The end of the turn arrives as an event.
    pub fn stop(&self, turn: &Turn) {
        turn.stopped.cancel();
        self.connection.notify(&Command::Cancel(AcpCancelParams::new(turn.session.as_str())));
    }
}
