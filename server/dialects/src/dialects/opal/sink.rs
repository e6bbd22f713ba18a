//! Conversion of engine events to notifications.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agentese::opal::{Event as Wire, OpalStatus, OpalSubAgentEventBuilder, OpalUsage};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::client::ClientConnection;
use super::event_translator::EventTranslator;
use crate::engine::{ChildEvent, Engine, Event, EventSink, WeakEngine};
use crate::providers::Catalog;

/// A subagent that a tool call has started.
#[derive(Debug, Clone)]
pub(super) struct SubagentInfo {
    /// The id of the tool call.
    pub call: String,
    /// The task of the subagent, on one line.
    pub label: String,
    /// The id of the subagent's model.
    pub model: String,
    /// The tools of the subagent.
    pub tools: Vec<String>,
    /// Notified at each event of the subagent, which shows that it is active.
    pub activity: Arc<Notify>,
}

struct TrackedSubagent {
    info: SubagentInfo,
    translator: EventTranslator,
}

struct SinkState {
    translator: EventTranslator,
    subagents: HashMap<String, TrackedSubagent>,
    /// True while an abort is in progress; further events are dropped.
    muted: bool,
}

/// Sends the events of one session to the client.
pub(super) struct Sink {
    client: Arc<ClientConnection>,
    session: String,
    catalog: Catalog,
    /// The context files, sent to the client again after a restart of the agent.
    context_files: Vec<String>,
    state: Mutex<SinkState>,
    engine: OnceLock<WeakEngine>,
}

impl Sink {
    pub fn new(
        client: Arc<ClientConnection>,
        session: &str,
        catalog: Catalog,
        window: u64,
        compacts: bool,
        context_files: Vec<String>,
    ) -> Self {
        let translator = EventTranslator::new(session.to_owned(), catalog.clone(), window, compacts);
        Self {
            client,
            session: session.to_owned(),
            catalog,
            context_files,
            state: Mutex::new(SinkState { translator, subagents: HashMap::new(), muted: false }),
            engine: OnceLock::new(),
        }
    }

    /// Sets the engine whose events are sent. The sink gives its session the title that the model chooses.
    pub fn set_engine(&self, link: WeakEngine) {
        let _ = self.engine.set(link);
    }

    /// Returns the engine whose events are sent; `None` if the engine no longer exists.
    pub fn engine(&self) -> Option<Engine> {
        self.engine.get()?.engine()
    }

    fn state(&self) -> MutexGuard<'_, SinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, events: impl IntoIterator<Item = Wire>) {
        events.into_iter().for_each(|event| self.client.send(event));
    }

    /// Returns the status of the agent.
    pub fn status(&self) -> OpalStatus {
        self.state().translator.status()
    }

    /// Returns the token usage so far.
    pub fn usage(&self) -> OpalUsage {
        self.state().translator.usage()
    }

    /// Expects the next user message to be the prompt that starts the run.
    pub fn expect_prompt(&self) {
        self.state().translator.expect_prompt();
    }

    /// Reports a queued prompt. Called after the response to it.
    pub fn report_queued(&self, text: &str) {
        let mut state = self.state();
        let event = state.translator.prompt_queued(text);
        self.send([event]);
    }

    /// Reports a rejected prompt as a run that failed for that reason.
    pub fn report_rejected(&self, reason: &str) {
        let mut state = self.state();
        let events = state.translator.prompt_rejected(reason);
        self.send(events);
    }

    /// Reports a prompt that ended without a model request.
    pub fn report_empty_run(&self) {
        let mut state = self.state();
        let events = state.translator.empty_run();
        self.send(events);
    }

    /// Drops all events until [`Sink::report_abort`] is called.
    pub fn mute(&self) {
        self.state().muted = true;
    }

    /// Reports the end of an abort.
    pub fn report_abort(&self) {
        let mut state = self.state();
        state.muted = false;
        state.subagents.clear();
        let event = state.translator.run_aborted();
        self.send([event]);
    }

    /// Registers a subagent that is about to start with the given id.
    pub fn register_subagent(&self, id: &str, info: SubagentInfo) {
        let translator = EventTranslator::new(String::new(), self.catalog.clone(), 0, true);
        self.state().subagents.insert(id.to_owned(), TrackedSubagent { info, translator });
    }

    /// Removes a subagent that has ended.
    pub fn remove_subagent(&self, id: &str) {
        self.state().subagents.remove(id);
    }

    /// Sends an event of a subagent to the client, inside an event of the parent's session.
    fn forward(&self, state: &mut SinkState, id: &str, event: ChildEvent<'_>) {
        let Some(TrackedSubagent { info: subagent, translator }) = state.subagents.get_mut(id) else {
            return;
        };
        subagent.activity.notify_one();
        let inner: Vec<Map<String, Value>> = match event {
            ChildEvent::Started { .. } => {
                let started = json!({"type": "sub_agent_start", "label": subagent.label, "model": subagent.model, "tools": subagent.tools});
                started.as_object().cloned().into_iter().collect()
            }
            ChildEvent::Event(event) => {
                // The result of the call reports the failure of a subagent.
                let translated =
                    translator.translate(event).into_iter().filter(|event| !matches!(event, Wire::Error(_)));
                translated.filter_map(|event| event_members(&event)).collect()
            }
            _ => Vec::new(),
        };
        let call = subagent.call.clone();
        if !state.muted {
            let session = self.session.as_str();
            self.send(inner.into_iter().map(|inner| subagent_event(session, &call, id, inner)));
        }
    }

    /// Sets the name of the session to a title from the model.
    fn set_session_name(&self, title: String) {
        let Some(link) = self.engine.get().cloned() else { return };
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

fn subagent_event(session: &str, call: &str, child: &str, inner: Map<String, Value>) -> Wire {
    let event = OpalSubAgentEventBuilder {
        session_id: session.to_owned(),
        parent_call_id: call.to_owned(),
        sub_session_id: child.to_owned(),
        inner,
    };
    event.build().into()
}

/// Returns the members of a subagent's event, without the session id.
fn event_members(event: &Wire) -> Option<Map<String, Value>> {
    let Ok(Value::Object(mut inner)) = serde_json::to_value(event) else { return None };
    inner.remove("session_id");
    Some(inner)
}

impl EventSink for Sink {
    fn wait_for_capacity(&self) -> BoxFuture<'_, ()> {
        self.client.wait_for_capacity().boxed()
    }

    fn push(&self, event: Event<'_>) {
        let mut state = self.state();
        let events = match event {
            Event::Child { id, event, .. } => return self.forward(&mut state, id, event),
            Event::Recovered => state.translator.agent_recovered(&self.context_files),
            Event::ExtensionFailed { extension, event, error } => {
                tracing::warn!(session = self.session, extension, event, error, "an extension failed");
                return;
            }
            Event::StorageStatus { error: Some(error) } => {
                tracing::warn!(session = self.session, error, "the session is not saved");
                state.translator.storage_failed(error)
            }
            Event::StorageStatus { error: None } => {
                state.translator.storage_recovered();
                return;
            }
            event => state.translator.translate(&event),
        };
        if let Some(title) = state.translator.take_title() {
            self.set_session_name(title);
        }
        if !state.muted {
            self.send(events);
        }
    }
}
