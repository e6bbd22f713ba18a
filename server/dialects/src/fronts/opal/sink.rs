//! Conversion of engine events to notifications.

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

/// A subagent of a tool call.
#[derive(Debug, Clone)]
pub(super) struct ChildOf {
    /// The id of the tool call.
    pub call: String,
    /// The task of the subagent, on one line.
    pub label: String,
    /// The id of its model.
    pub model: String,
    /// The tools of the subagent.
    pub tools: Vec<String>,
    /// Notified with each event of the subagent.
    pub alive: Arc<Notify>,
}

struct Child {
    of: ChildOf,
    teller: Teller,
}

struct State {
    teller: Teller,
    children: HashMap<String, Child>,
    /// True while an abort is in progress; further events are dropped.
    silent: bool,
}

/// Sends the events of one session to the client.
pub(super) struct Sink {
    client: Arc<Client>,
    session: String,
    catalog: Catalog,
    /// Context files, for a client that reads them again after a recovery.
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

    /// Sets the engine of these events: the sink names its session with the titles from its model.
    pub fn of(&self, link: WeakEngine) {
        let _ = self.link.set(link);
    }

    /// Returns the engine of these events while the engine exists.
    pub fn engine(&self) -> Option<Engine> {
        self.link.get()?.engine()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, events: impl IntoIterator<Item = Wire>) {
        events.into_iter().for_each(|event| self.client.send(event));
    }

    /// Returns the status of the agent.
    pub fn status(&self) -> OpalStatus {
        self.state().teller.status()
    }

    /// Returns the token usage so far.
    pub fn usage(&self) -> OpalUsage {
        self.state().teller.usage()
    }

    /// Marks the next user message as the prompt of a run.
    pub fn prompted(&self) {
        self.state().teller.prompted();
    }

    /// Reports a queued prompt, after its response.
    pub fn queued(&self, text: &str) {
        let mut state = self.state();
        let event = state.teller.queued(text);
        self.send([event]);
    }

    /// Reports a rejected prompt as a failed run with that reason.
    pub fn refused(&self, reason: &str) {
        let mut state = self.state();
        let events = state.teller.refused(reason);
        self.send(events);
    }

    /// Reports a prompt that ended without a model request.
    pub fn nothing_to_do(&self) {
        let mut state = self.state();
        let events = state.teller.nothing_to_do();
        self.send(events);
    }

    /// Drops events from now on, until [`Sink::aborted`].
    pub fn silence(&self) {
        self.state().silent = true;
    }

    /// Reports the end of an abort.
    pub fn aborted(&self) {
        let mut state = self.state();
        state.silent = false;
        state.children.clear();
        let event = state.teller.aborted();
        self.send([event]);
    }

    /// Registers a subagent that is about to start with that id.
    pub fn expect_child(&self, id: &str, of: ChildOf) {
        let teller = Teller::new(String::new(), self.catalog.clone(), 0, true);
        self.state().children.insert(id.to_owned(), Child { of, teller });
    }

    /// Removes a subagent that has ended.
    pub fn forget_child(&self, id: &str) {
        self.state().children.remove(id);
    }

    /// Sends an event of a subagent, wrapped in an event of its parent.
    fn forward(&self, state: &mut State, id: &str, event: ChildEvent<'_>) {
        let Some(Child { of, teller }) = state.children.get_mut(id) else { return };
        of.alive.notify_one();
        let inner: Vec<Map<String, Value>> = match event {
            ChildEvent::Started { .. } => {
                let started = json!({"type": "sub_agent_start", "label": of.label, "model": of.model, "tools": of.tools});
                started.as_object().cloned().into_iter().collect()
            }
            ChildEvent::Did(event) => {
                // The result of the call reports the failure of a subagent.
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

    /// Sets the name of the session to a title from the model.
    fn name(&self, title: String) {
        let Some(link) = self.link.get().cloned() else { return };
        // The engine holds its state lock while it emits events, so a task sets the name.
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

/// Converts an event of a subagent, without a session id.
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
