//! Where the engine's events become notifications.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agentese::opal::{Event as Wire, OpalStatus, OpalSubAgentEventBuilder, OpalUsage};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::client::Client;
use super::teller::Teller;
use crate::engine::{ChildEvent, Engine, Event, EventSink, WeakEngine};
use crate::providers::Catalog;

/// A child that a tool sets to work.
#[derive(Debug, Clone)]
pub(super) struct ChildOf {
    /// The call of the tool.
    pub call: String,
    /// What it does, on one line.
    pub label: String,
    /// Its model's id.
    pub model: String,
    /// Its tools.
    pub tools: Vec<String>,
    /// Notified with everything that it does.
    pub alive: Arc<Notify>,
}

struct Child {
    of: ChildOf,
    teller: Teller,
}

struct State {
    teller: Teller,
    children: HashMap<String, Child>,
    /// An abort is on its way: what still happens is not told.
    silent: bool,
}

/// Sends the events of one session to the client.
pub(super) struct Sink {
    client: Arc<Client>,
    session: String,
    catalog: Catalog,
    /// Context files, for a client that looks at them again after a recovery.
    context: Vec<String>,
    state: Mutex<State>,
    link: OnceLock<WeakEngine>,
}

impl Sink {
    pub fn new(
        client: Arc<Client>,
        session: &str,
        catalog: Catalog,
        window: u64,
        compacts: bool,
        context: Vec<String>,
    ) -> Self {
        let teller = Teller::new(session.to_owned(), catalog.clone(), window, compacts);
        Self {
            client,
            session: session.to_owned(),
            catalog,
            context,
            state: Mutex::new(State { teller, children: HashMap::new(), silent: false }),
            link: OnceLock::new(),
        }
    }

    /// The engine whose events these are: it is named with the titles that its model gives.
    pub fn of(&self, link: WeakEngine) {
        let _ = self.link.set(link);
    }

    /// The engine whose events these are, while it is there.
    pub fn engine(&self) -> Option<Engine> {
        self.link.get()?.engine()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, events: impl IntoIterator<Item = Wire>) {
        events.into_iter().for_each(|event| self.client.send(event));
    }

    /// What the agent is doing.
    pub fn status(&self) -> OpalStatus {
        self.state().teller.status()
    }

    /// Tokens so far.
    pub fn usage(&self) -> OpalUsage {
        self.state().teller.usage()
    }

    /// A prompt is about to begin a run.
    pub fn prompted(&self) {
        self.state().teller.prompted();
    }

    /// A prompt waits, and the client knows.
    pub fn queued(&self, text: &str) {
        let mut state = self.state();
        let event = state.teller.queued(text);
        self.send([event]);
    }

    /// A prompt begins nothing, for that reason, which the client hears as the failure of a run.
    pub fn refused(&self, reason: &str) {
        let mut state = self.state();
        let events = state.teller.refused(reason);
        self.send(events);
    }

    /// A prompt was dealt with, and the model was not asked.
    pub fn nothing_to_do(&self) {
        let mut state = self.state();
        let events = state.teller.nothing_to_do();
        self.send(events);
    }

    /// From now on nothing is told, until [`Sink::aborted`].
    pub fn silence(&self) {
        self.state().silent = true;
    }

    /// An abort is over.
    pub fn aborted(&self) {
        let mut state = self.state();
        state.silent = false;
        state.children.clear();
        let event = state.teller.aborted();
        self.send([event]);
    }

    /// A child is about to be started under that id.
    pub fn expect_child(&self, id: &str, of: ChildOf) {
        let teller = Teller::new(String::new(), self.catalog.clone(), 0, true);
        self.state().children.insert(id.to_owned(), Child { of, teller });
    }

    /// A child has ended.
    pub fn forget_child(&self, id: &str) {
        self.state().children.remove(id);
    }

    /// An event of a child, as its parent tells it.
    fn forward(&self, state: &mut State, id: &str, event: ChildEvent<'_>) {
        let Some(Child { of, teller }) = state.children.get_mut(id) else { return };
        of.alive.notify_one();
        let inner: Vec<Map<String, Value>> = match event {
            ChildEvent::Started { .. } => {
                let started = json!({"type": "sub_agent_start", "label": of.label, "model": of.model, "tools": of.tools});
                started.as_object().cloned().into_iter().collect()
            }
            ChildEvent::Did(event) => {
                // What goes wrong with a child is told by the result of the call.
                let told = teller.tell(event).into_iter().filter(|event| !matches!(event, Wire::Error(_)));
                told.filter_map(|event| inner(&event)).collect()
            }
            _ => Vec::new(),
        };
        let call = of.call.clone();
        if !state.silent {
            let session = self.session.as_str();
            self.send(inner.into_iter().map(|inner| wrapped(session, &call, id, inner)));
        }
    }

    /// A model has named the conversation.
    fn name(&self, title: String) {
        let Some(link) = self.link.get().cloned() else { return };
        // The engine's state is locked while it tells of something.
        let name = async move {
            if let Some(engine) = link.engine() {
                let _ = engine.set_session_name(&title);
            }
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(name);
        }
    }
}

fn wrapped(session: &str, call: &str, child: &str, inner: Map<String, Value>) -> Wire {
    let event = OpalSubAgentEventBuilder {
        session_id: session.to_owned(),
        parent_call_id: call.to_owned(),
        sub_session_id: child.to_owned(),
        inner,
    };
    event.build().into()
}

/// An event of a child, which belongs to no session.
fn inner(event: &Wire) -> Option<Map<String, Value>> {
    let Ok(Value::Object(mut inner)) = serde_json::to_value(event) else { return None };
    inner.remove("session_id");
    Some(inner)
}

impl EventSink for Sink {
    fn room(&self) -> BoxFuture<'_, ()> {
        self.client.room().boxed()
    }

    fn push(&self, event: Event<'_>) {
        let mut state = self.state();
        let events = match event {
            Event::Child { id, event, .. } => return self.forward(&mut state, id, event),
            Event::Recovered => state.teller.recovered(&self.context),
            Event::ExtensionFailed { extension, event, error } => {
                tracing::warn!(session = self.session, extension, event, error, "an extension failed");
                return;
            }
            Event::Storage { trouble: Some(trouble) } => {
                tracing::warn!(session = self.session, trouble, "the session does not reach its file");
                state.teller.unkept(trouble)
            }
            Event::Storage { trouble: None } => {
                state.teller.kept_again();
                return;
            }
            event => state.teller.tell(&event),
        };
        if let Some(title) = state.teller.take_title() {
            self.name(title);
        }
        if !state.silent {
            self.send(events);
        }
    }
}
