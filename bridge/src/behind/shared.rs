//! The data that both directions of the bridge to an ACP agent share.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentese::acp::{AcpCancelParams, AcpContentBlock, AcpImage, AcpPromptParams, AcpText, Command};
use agentese::types::{AgentMessage, ImageContent};
use agentese_server_engine::engine::Unwilling;
use agentese_server_engine::resources::CommandInfo;
use tokio_util::sync::CancellationToken;

use super::choices::Choices;
use super::peer::Peer;
use crate::person::Person;

/// User input: a text with images.
pub(super) type Words = (String, Vec<ImageContent>);

/// The known state of the agent, and its waiting input.
#[derive(Default)]
pub(super) struct State {
    pub session: String,
    /// The name of the session.
    pub name: Option<String>,
    /// `true` if the agent can open stored sessions.
    pub loads: bool,
    /// `true` if the agent accepts images in prompts.
    pub images: bool,
    /// The messages of the session from before its opening.
    pub history: Vec<AgentMessage>,
    pub choices: Choices,
    /// The number of option changes in progress. Meanwhile, options from the agent may be outdated.
    pub choosing: usize,
    pub commands: Vec<CommandInfo>,
    /// The current turn.
    pub turn: Option<Turn>,
    /// The number of turns so far.
    pub turns: u64,
    /// Input that waits for the end of the turn, because agents have one turn at a time.
    pub held: VecDeque<Words>,
    /// The reason of the agent's disconnect.
    pub gone: Option<String>,
}

/// A current turn.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub number: u64,
    /// Its session.
    pub session: String,
    /// Cancelled when the turn is stopped; its questions are then dismissed.
    pub stopped: CancellationToken,
    /// Cancelled when the turn has ended.
    pub over: CancellationToken,
}

impl State {
    /// Starts a turn.
    pub fn take_turn(&mut self) -> Turn {
        self.turns += 1;
        let turn = Turn {
            number: self.turns,
            session: self.session.clone(),
            stopped: CancellationToken::new(),
            over: CancellationToken::new(),
        };
        self.turn = Some(turn.clone());
        turn
    }
}

/// The data that both directions of the bridge share.
pub(super) struct Shared {
    pub peer: Peer,
    pub person: Person,
    state: Mutex<State>,
}

impl Shared {
    pub fn new(peer: Peer, person: Person, state: State) -> Self {
        Self { peer, person, state: Mutex::new(state) }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the prompt of a turn.
    pub fn begin(&self, turn: Turn, (text, images): Words) -> Result<(), Unwilling> {
        let mut prompt: Vec<AcpContentBlock> = vec![AcpText::new(text).into()];
        prompt.extend(images.into_iter().map(|image| AcpImage::new(image.data, image.mime_type).into()));
        self.peer.begin(turn.number, &Command::Prompt(AcpPromptParams::new(turn.session, prompt)))
    }

    /// Stops a turn. Its end arrives as a message.
    pub fn stop(&self, turn: &Turn) {
        turn.stopped.cancel();
        self.peer.notify(&Command::Cancel(AcpCancelParams::new(turn.session.as_str())));
    }
}
