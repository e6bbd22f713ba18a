//! The agent, as the engine leads with it: words and commands go to it, its deeds come back.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentese::acp::{
    AcpCancelParams, AcpConfigOption, AcpContentBlock, AcpImage, AcpInitialized, AcpLoadSessionParams,
    AcpNewSession, AcpPromptParams, AcpSetConfigOptionParams, AcpText, Command, Reply,
};
use agentese::types::{AgentMessage, ImageContent};
use agentese_server::config::{Change, Persist, Settings};
use agentese_server::engine::{Deed, Lead, Manner, Unwilling};
use agentese_server::resources::CommandInfo;
use agentese_server::ui::Ui;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::super::beginning::Beginning;
use super::choices::Choices;
use super::open;
use super::peer::{Heard, Peer};
use super::pump::Pump;
use crate::bridge::here;
use crate::bridge::person::Person;

/// Words of the user, and what goes with them.
pub(super) type Words = (String, Vec<ImageContent>);

/// What is known of the agent, and what waits for it.
#[derive(Default)]
pub(super) struct State {
    pub session: String,
    /// The agent opens sessions that are kept.
    pub loads: bool,
    /// What was said in the session before it was opened.
    pub history: Vec<AgentMessage>,
    pub choices: Choices,
    pub commands: Vec<CommandInfo>,
    /// A turn is going on.
    pub busy: bool,
    /// Words that wait until it is over: agents have one turn at a time.
    pub held: VecDeque<Words>,
    /// Cancelled with the turn: questions of it are dismissed.
    pub turn: CancellationToken,
    /// Why the agent is gone.
    pub gone: Option<String>,
}

/// What both sides of the bridge share.
pub(super) struct Shared {
    pub peer: Peer,
    pub person: Person,
    state: Mutex<State>,
}

impl Shared {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a prompt; a turn has to be marked as going on before.
    pub fn begin(&self, (text, images): Words) -> Result<(), Unwilling> {
        let mut prompt: Vec<AcpContentBlock> = vec![AcpText::new(text).into()];
        prompt.extend(images.into_iter().map(|image| AcpImage::new(image.data, image.mime_type).into()));
        let session = self.state().session.clone();
        self.peer.begin(&Command::Prompt(AcpPromptParams::new(session, prompt)))
    }
}

/// An agent that speaks ACP.
pub(super) struct Behind {
    shared: Arc<Shared>,
    deeds: tokio::sync::Mutex<UnboundedReceiver<Deed>>,
    parted: CancellationToken,
}

impl Behind {
    /// Listens to the agent from now on. Must be called on a tokio runtime.
    pub fn new(
        peer: Peer,
        heard: UnboundedReceiver<Heard>,
        (told, opened): (AcpInitialized, AcpNewSession),
        person: Person,
    ) -> Arc<Self> {
        let state = State {
            session: opened.session_id,
            loads: told.agent_capabilities.is_some_and(|can| can.load_session == Some(true)),
            choices: Choices::of(opened.config_options.into_option().unwrap_or_default()),
            ..State::default()
        };
        let shared = Arc::new(Shared { peer, person, state: Mutex::new(state) });
        let (told, deeds) = unbounded_channel();
        tokio::spawn(Pump::new(shared.clone(), told).run(heard));
        Arc::new(Self { shared, deeds: tokio::sync::Mutex::new(deeds), parted: CancellationToken::new() })
    }

    /// What the agent is before anybody says anything to it.
    pub fn beginning(&self) -> Beginning {
        let state = self.shared.state();
        Beginning {
            models: state.choices.models(),
            model: state.choices.current(),
            thinking: state.choices.level(),
            settings: Settings::default(),
            messages: Vec::new(),
            session: agentese::view::Session::default(),
        }
    }

    /// What a client sets is set at the agent.
    pub fn persist(&self) -> Arc<dyn Persist> {
        Arc::new(Choosing(self.shared.clone()))
    }

    /// Cancelled when the agent is gone and everything of that was told.
    pub fn gone_for_good(&self) -> CancellationToken {
        self.parted.clone()
    }

    /// Why the agent is gone; none while it is there.
    pub fn gone(&self) -> Option<String> {
        self.shared.state().gone.clone()
    }

    /// Ends the agent.
    pub async fn close(&self) {
        self.shared.peer.close().await;
    }
}

impl Lead for Behind {
    fn next(&self) -> BoxFuture<'_, Deed> {
        async move {
            match self.deeds.lock().await.recv().await {
                Some(deed) => deed,
                None => std::future::pending().await,
            }
        }
        .boxed()
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
        let words = (text.to_owned(), images.to_vec());
        let said = {
            let mut state = self.shared.state();
            if let Some(reason) = &state.gone {
                Err(reason.clone())
            } else if state.busy {
                state.held.push_back(words);
                Ok(None)
            } else {
                state.busy = true;
                state.turn = CancellationToken::new();
                Ok(Some(words))
            }
        };
        let said = said.and_then(|words| words.map_or(Ok(()), |words| self.shared.begin(words)));
        futures::future::ready(said).boxed()
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        let session = {
            let state = self.shared.state();
            state.turn.cancel();
            state.session.clone()
        };
        self.shared.peer.notify(&Command::Cancel(AcpCancelParams::new(session)));
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
            // The protocol names sessions by ids, and no files.
            let id = path.to_string_lossy();
            let params = AcpLoadSessionParams::new(&*id, here().to_string_lossy(), Vec::new());
            let (reply, history) = self.shared.peer.load(Command::LoadSession(params)).await?;
            let mut state = self.shared.state();
            (state.session, state.history) = (id.into_owned(), history);
            if let Reply::LoadSession(loaded) = reply
                && let Some(options) = loaded.config_options.into_option()
            {
                state.choices = Choices::of(options);
            }
            Ok(true)
        }
        .boxed()
    }

    fn history(&self) -> BoxFuture<'_, Result<Option<Vec<AgentMessage>>, Unwilling>> {
        futures::future::ready(Ok(Some(self.shared.state().history.clone()))).boxed()
    }

    fn new_session(&self) -> BoxFuture<'_, Result<bool, Unwilling>> {
        async move {
            let opened = open(&self.shared.peer).await?;
            let mut state = self.shared.state();
            state.session = opened.session_id;
            state.history.clear();
            state.choices = Choices::of(opened.config_options.into_option().unwrap_or_default());
            Ok(true)
        }
        .boxed()
    }
}

/// What a client sets is set at the agent. Where it fails, the person is told.
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
            // Commands about anything else were refused before.
            _ => return,
        };
        let Some(option) = option else { return };
        let shared = self.0.clone();
        let params = AcpSetConfigOptionParams::new(session, option, value.into());
        tokio::spawn(async move {
            if let Err(trouble) = shared.peer.call(Command::SetConfigOption(params)).await {
                shared.person.tell(&trouble, "warning");
            }
        });
    }
}

/// The options of a session are others.
pub(super) fn chosen(shared: &Shared, options: Vec<AcpConfigOption>) -> Option<Deed> {
    let mut state = shared.state();
    state.choices = Choices::of(options);
    state.choices.level().map(Deed::Thinks)
}
