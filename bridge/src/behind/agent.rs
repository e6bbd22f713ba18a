//! The remote agent of the engine over ACP: passes input and commands to the agent, and returns its deeds.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentese::acp::{
    AcpInitialized, AcpLoadSessionParams, AcpNewSession, AcpNewSessionParams, AcpSetConfigOptionParams,
    Command,
};
use agentese::types::{AgentMessage, ImageContent};
use agentese_server_base::config::{Change, Persist, Settings};
use agentese_server_base::ui::Ui;
use agentese_server_engine::engine::{Deed, Lead, Manner, Opened, Unwilling};
use agentese_server_engine::resources::CommandInfo;
use agentese_server_sessions::session::Elsewhere;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::super::beginning::Beginning;
use super::choices::Choices;
use super::peer::{Heard, Peer};
use super::pump::Pump;
use super::shared::{Shared, State};
use crate::launch::here;
use crate::person::Person;
use crate::queue;

/// The time limit for the end of a turn before another session is opened.
const GRACE: Duration = Duration::from_secs(4);

/// An ACP agent.
pub(super) struct Behind {
    shared: Arc<Shared>,
    deeds: tokio::sync::Mutex<queue::Receiver>,
    /// Held while another session replaces the current one; input waits meanwhile.
    moves: tokio::sync::Mutex<()>,
    parted: CancellationToken,
}

impl Behind {
    /// Starts listening to the agent. Must be called on a tokio runtime.
    pub fn new(
        peer: Peer,
        heard: UnboundedReceiver<Heard>,
        (told, opened): (AcpInitialized, AcpNewSession),
        person: Person,
    ) -> Arc<Self> {
        let can = told.agent_capabilities.unwrap_or_default();
        let state = State {
            session: opened.session_id,
            loads: can.load_session == Some(true),
            images: can.prompt_capabilities.is_some_and(|can| can.image == Some(true)),
            choices: Choices::of(opened.config_options.into_option().unwrap_or_default()),
            ..State::default()
        };
        let shared = Arc::new(Shared::new(peer, person, state));
        let (told, deeds) = queue::queue();
        tokio::spawn(Pump::new(shared.clone(), told).run(heard));
        let deeds = tokio::sync::Mutex::new(deeds);
        Arc::new(Self {
            shared,
            deeds,
            moves: tokio::sync::Mutex::default(),
            parted: CancellationToken::new(),
        })
    }

    /// Returns the initial state of the agent.
    pub fn beginning(&self) -> Beginning {
        let state = self.shared.state();
        let mut session = agentese::view::Session::default();
        session.id = Some(state.session.clone());
        Beginning {
            models: state.choices.models(),
            model: state.choices.current(),
            thinking: state.choices.level(),
            settings: Settings::default(),
            messages: Vec::new(),
            session,
        }
    }

    /// Returns the handler that applies a client's settings to the agent.
    pub fn persist(&self) -> Arc<dyn Persist> {
        Arc::new(Choosing(self.shared.clone()))
    }

    /// Returns the token that is cancelled after the disconnect of the agent was reported.
    pub fn gone_for_good(&self) -> CancellationToken {
        self.parted.clone()
    }

    /// Returns the reason of the agent's disconnect. Returns `None` while the agent is connected.
    pub fn gone(&self) -> Option<String> {
        self.shared.state().gone.clone()
    }

    /// Switches the agent to another session; `id` is the id of a stored one. Ends the current turn first.
    async fn moves(&self, id: Option<String>, command: Command) -> Result<bool, Unwilling> {
        let _moves = self.moves.lock().await;
        let held = std::mem::take(&mut self.shared.state().held);
        self.leave().await;
        self.shared.peer.opens(id);
        let opened = self.shared.peer.ask(&command, Heard::Opened).await;
        opened.map(|_| true).inspect_err(|_| self.shared.state().held = held)
    }

    /// Ends the current turn.
    async fn leave(&self) {
        let Some(turn) = self.shared.state().turn.clone() else { return };
        self.shared.stop(&turn);
        if tokio::time::timeout(GRACE, turn.over.cancelled()).await.is_err() {
            tracing::warn!("the agent did not end its turn for another session");
            self.shared.peer.give_up(turn.number);
            turn.over.cancelled().await;
        }
    }

    /// Ends the agent.
    pub async fn close(&self) {
        self.shared.peer.close().await;
    }
}

impl Lead for Behind {
    fn next(&self) -> BoxFuture<'_, Deed> {
        async move { self.deeds.lock().await.next().await }.boxed()
    }

    fn connect(&self, ui: Arc<dyn Ui>) {
        self.shared.person.connect(ui);
    }

    fn parted(&self) {
        self.parted.cancel();
    }

    fn say<'a>(
        &'a self,
        text: &'a str,
        images: &'a [ImageContent],
        _: Manner,
    ) -> BoxFuture<'a, Result<(), Unwilling>> {
        async move {
            let words = (text.to_owned(), images.to_vec());
            let _moves = self.moves.lock().await;
            let turn = {
                let mut state = self.shared.state();
                if let Some(reason) = &state.gone {
                    return Err(reason.clone());
                }
                if !images.is_empty() && !state.images {
                    return Err("the agent takes no images".to_owned());
                }
                if state.turn.is_some() {
                    state.held.push_back(words);
                    return Ok(());
                }
                state.take_turn()
            };
            self.shared.begin(turn, words)
        }
        .boxed()
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        let turn = self.shared.state().turn.clone();
        turn.iter().for_each(|turn| self.shared.stop(turn));
        futures::future::ready(()).boxed()
    }

    fn clear_queues(&self) {
        self.shared.state().held.clear();
    }

    fn commands(&self) -> BoxFuture<'_, Vec<CommandInfo>> {
        futures::future::ready(self.shared.state().commands.clone()).boxed()
    }

    fn switch_session<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<bool, Unwilling>> {
        async move {
            if !self.shared.state().loads {
                return Err("the agent opens no sessions that are kept".to_owned());
            }
            // The protocol identifies sessions by ids, not by files.
            let id = path.to_string_lossy();
            let params = AcpLoadSessionParams::new(&*id, here().to_string_lossy(), Vec::new());
            self.moves(Some(id.into_owned()), Command::LoadSession(params)).await
        }
        .boxed()
    }

    fn session(&self) -> BoxFuture<'_, Opened> {
        let state = self.shared.state();
        let elsewhere = Elsewhere { id: Some(state.session.clone()), file: None };
        let opened = Opened { name: state.name.clone(), elsewhere, ..Opened::default() };
        futures::future::ready(opened).boxed()
    }

    fn history(&self) -> BoxFuture<'_, Result<Option<Vec<AgentMessage>>, Unwilling>> {
        futures::future::ready(Ok(Some(self.shared.state().history.clone()))).boxed()
    }

    fn new_session(&self) -> BoxFuture<'_, Result<bool, Unwilling>> {
        let params = AcpNewSessionParams::new(here().to_string_lossy(), Vec::new());
        self.moves(None, Command::NewSession(params)).boxed()
    }
}

/// Applies a client's settings to the agent. Reports failures to the user.
struct Choosing(Arc<Shared>);

impl Persist for Choosing {
    fn save(&self, change: Change) {
        let (session, (model, thinking)) = {
            let state = self.0.state();
            (state.session.clone(), state.choices.names())
        };
        let (option, value) = match change {
            Change::DefaultModel { id, .. } => (model, id),
            Change::DefaultThinkingLevel(level) => (thinking, level.as_str().to_owned()),
            // Commands for other settings were rejected before.
            _ => return,
        };
        let Some(option) = option else { return };
        let shared = self.0.clone();
        let params = AcpSetConfigOptionParams::new(session, option, value.into());
        // Sent at once, so that a later prompt cannot overtake the change.
        shared.state().choosing += 1;
        let chosen = shared.peer.ask(&Command::SetConfigOption(params), Heard::Chosen);
        tokio::spawn(async move {
            if let Err(trouble) = chosen.await {
                shared.person.tell(&trouble, "warning");
            }
        });
    }
}
