//! The remote agent of the engine over ACP: passes input and commands to the agent, and returns its events.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentese::acp::{
    AcpInitializeResult, AcpLoadSessionParams, AcpNewSession, AcpNewSessionParams, AcpSetConfigOptionParams,
    Command,
};
use agentese::types::{AgentMessage, ImageContent};
use agentese_server_base::config::{Settings, SettingsChange, SettingsStore};
use agentese_server_base::ui::Ui;
use agentese_server_engine::engine::{
    Delivery, RemoteAgent, RemoteError, RemoteEvent, RemoteSession, ReportedUsage,
};
use agentese_server_engine::resources::CommandInfo;
use agentese_server_sessions::session::ExternalSession;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::super::initial_state::InitialState;
use super::choices::Choices;
use super::connection::{AcpConnection, ConnectionEvent};
use super::event_loop::AcpEventLoop;
use super::state::{AcpContext, AcpState};
use crate::client_ui::ClientUi;
use crate::event_queue;
use crate::launch::current_dir;

/// The time limit for the current turn to end before another session is opened.
const GRACE: Duration = Duration::from_secs(4);

/// An ACP agent.
pub(crate) struct AcpRemoteAgent {
    context: Arc<AcpContext>,
    events: tokio::sync::Mutex<event_queue::Receiver>,
    /// Held while the agent switches to another session. User input waits for it.
    switching: tokio::sync::Mutex<()>,
    disconnected: CancellationToken,
}

impl AcpRemoteAgent {
    /// Starts listening to the agent. Must be called on a tokio runtime.
    pub(super) fn new(
        connection: AcpConnection,
        incoming: UnboundedReceiver<ConnectionEvent>,
        (initialized, opened): (AcpInitializeResult, AcpNewSession),
        ui: ClientUi,
    ) -> Arc<Self> {
        let can = initialized.agent_capabilities.unwrap_or_default();
        let state = AcpState {
            session: opened.session_id,
            can_load: can.load_session == Some(true),
            accepts_images: can.prompt_capabilities.is_some_and(|can| can.image == Some(true)),
            choices: Choices::of(opened.config_options.into_option().unwrap_or_default()),
            ..AcpState::default()
        };
        let context = Arc::new(AcpContext::new(connection, ui, state));
        let (remote_events, events) = event_queue::channel();
        tokio::spawn(AcpEventLoop::new(context.clone(), remote_events).run(incoming));
        let events = tokio::sync::Mutex::new(events);
        Arc::new(Self {
            context,
            events,
            switching: tokio::sync::Mutex::default(),
            disconnected: CancellationToken::new(),
        })
    }

    /// Returns the initial state of the agent.
    pub fn initial_state(&self) -> InitialState {
        let state = self.context.state();
        let mut session = agentese::view::Session::default();
        session.id = Some(state.session.clone());
        InitialState {
            models: state.choices.models(),
            model: state.choices.current(),
            thinking: state.choices.level(),
            settings: Settings::default(),
            messages: Vec::new(),
            session,
        }
    }

    /// Returns the store that applies changes of settings to the agent.
    pub fn persist(&self) -> Arc<dyn SettingsStore> {
        Arc::new(AcpSettingsForwarder(self.context.clone()))
    }

    /// Returns a token that is cancelled once the engine has reported the disconnect of the agent.
    pub fn disconnected(&self) -> CancellationToken {
        self.disconnected.clone()
    }

    /// Returns the reason of the agent's disconnect. Returns `None` while the agent is connected.
    pub fn disconnect_reason(&self) -> Option<String> {
        self.context.state().disconnect_reason.clone()
    }

    /// Ends the current turn, then switches the agent to another session. `id` is the id of a stored session; `None`
    /// creates one.
    async fn change_session(&self, id: Option<String>, command: Command) -> Result<bool, RemoteError> {
        let _moves = self.switching.lock().await;
        let held_input = std::mem::take(&mut self.context.state().held_input);
        self.end_turn().await;
        self.context.connection.announce_session(id);
        let opened = self.context.connection.call_in_order(&command, ConnectionEvent::SessionOpened).await;
        opened.map(|_| true).inspect_err(|_| self.context.state().held_input = held_input)
    }

    /// Ends the current turn.
    async fn end_turn(&self) {
        let Some(turn) = self.context.state().turn.clone() else { return };
        self.context.stop(&turn);
        if tokio::time::timeout(GRACE, turn.ended.cancelled()).await.is_err() {
            tracing::warn!("the agent did not end its turn before the switch to another session");
            self.context.connection.cancel_turn(turn.number);
            turn.ended.cancelled().await;
        }
    }

    /// Returns `true` if the agent accepts images.
    pub fn accepts_images(&self) -> bool {
        self.context.state().accepts_images
    }

    /// Ends the agent.
    pub async fn close(&self) {
        self.context.connection.close().await;
    }
}

impl RemoteAgent for AcpRemoteAgent {
    fn next_event(&self) -> BoxFuture<'_, RemoteEvent> {
        async move { self.events.lock().await.next().await }.boxed()
    }

    fn connect(&self, ui: Arc<dyn Ui>) {
        self.context.ui.connect(ui);
    }

    fn on_disconnected(&self) {
        self.disconnected.cancel();
    }

    fn submit<'a>(
        &'a self,
        text: &'a str,
        images: &'a [ImageContent],
        _: Delivery,
    ) -> BoxFuture<'a, Result<(), RemoteError>> {
        async move {
            let input = (text.to_owned(), images.to_vec());
            let _moves = self.switching.lock().await;
            let turn = {
                let mut state = self.context.state();
                if let Some(reason) = &state.disconnect_reason {
                    return Err(reason.clone());
                }
                if !images.is_empty() && !state.accepts_images {
                    return Err("the agent does not accept images".to_owned());
                }
                if state.turn.is_some() {
                    state.held_input.push_back(input);
                    return Ok(());
                }
                state.start_turn()
            };
            self.context.send_prompt(turn, input)
        }
        .boxed()
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        let turn = self.context.state().turn.clone();
        turn.iter().for_each(|turn| self.context.stop(turn));
        futures::future::ready(()).boxed()
    }

    fn clear_queues(&self) {
        self.context.state().held_input.clear();
    }

    fn commands(&self) -> BoxFuture<'_, Vec<CommandInfo>> {
        futures::future::ready(self.context.state().commands.clone()).boxed()
    }

    fn usage(&self) -> BoxFuture<'_, Option<ReportedUsage>> {
        let state = self.context.state();
        futures::future::ready(state.usage.get(&state.session).copied()).boxed()
    }

    fn switch_session<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<bool, RemoteError>> {
        async move {
            if !self.context.state().can_load {
                return Err("the agent cannot open stored sessions".to_owned());
            }
            // The protocol identifies sessions by ids, not by files.
            let id = path.to_string_lossy();
            let params = AcpLoadSessionParams::new(&*id, current_dir().to_string_lossy(), Vec::new());
            self.change_session(Some(id.into_owned()), Command::LoadSession(params)).await
        }
        .boxed()
    }

    fn session(&self) -> BoxFuture<'_, RemoteSession> {
        let state = self.context.state();
        let elsewhere = ExternalSession { id: Some(state.session.clone()), file: None };
        let opened =
            RemoteSession { name: state.name.clone(), location: elsewhere, ..RemoteSession::default() };
        futures::future::ready(opened).boxed()
    }

    fn history(&self) -> BoxFuture<'_, Result<Option<Vec<AgentMessage>>, RemoteError>> {
        futures::future::ready(Ok(Some(self.context.state().history.clone()))).boxed()
    }

    fn new_session(&self) -> BoxFuture<'_, Result<bool, RemoteError>> {
        let params = AcpNewSessionParams::new(current_dir().to_string_lossy(), Vec::new());
        self.change_session(None, Command::NewSession(params)).boxed()
    }
}

/// Applies a client's settings to the agent. Reports failures to the user.
struct AcpSettingsForwarder(Arc<AcpContext>);

impl SettingsStore for AcpSettingsForwarder {
    fn save(&self, change: SettingsChange) {
        let (session, (model, thinking)) = {
            let state = self.0.state();
            (state.session.clone(), state.choices.names())
        };
        let (option, value) = match change {
            SettingsChange::DefaultModel { id, .. } => (model, id),
            SettingsChange::DefaultThinkingLevel(level) => (thinking, level.as_str().to_owned()),
            // Commands for other settings were rejected before.
            _ => return,
        };
        let Some(option) = option else { return };
        let context = self.0.clone();
        let params = AcpSetConfigOptionParams::new(session, option, value.into());
        // Sent at once, so that a later prompt cannot overtake the change.
        context.state().pending_options += 1;
        let chosen =
            context.connection.call_in_order(&Command::SetConfigOption(params), ConnectionEvent::OptionSet);
        tokio::spawn(async move {
            if let Err(trouble) = chosen.await {
                context.ui.notify(&trouble, "warning");
            }
        });
    }
}
