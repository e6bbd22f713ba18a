//! The interface of an engine for extensions.

use std::sync::{Arc, MutexGuard, Weak};

use agentese::types::{AgentMessage, CustomMessage, Model, ThinkingLevel};
use serde_json::Value;

use super::user_input::OriginalInput;
use crate::engine::run::agent_loop::AgentLoop;
use crate::engine::run::driver::Run;
use crate::engine::shared::Work;
use crate::engine::state::{EngineState, WorkKind, WorkPhase};
use crate::engine::{AcceptedPrompt, BehaviorProfile, Engine, Event, PromptError, Shared};
use crate::session::EntryId;
use crate::tools::ToolSet;

/// Moment at which a message of an extension reaches the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtensionDelivery {
    /// The message reaches the model as soon as possible during a run. If the engine is idle, the message
    /// joins the session.
    Steer,
    /// The message reaches the model when the agent would stop. If the engine is idle, the message joins the
    /// session.
    FollowUp,
    /// The message reaches the model with the user's next prompt.
    NextTurn,
}

/// A weak handle to an engine.
#[derive(Clone)]
pub struct WeakEngine(Weak<Shared>);

impl Engine {
    /// Returns the profile: the behavior in which the agent differs from other agents.
    pub fn profile(&self) -> &BehaviorProfile {
        &self.shared.options.profile
    }
}

impl WeakEngine {
    /// Returns the engine, if it still exists. Dropping the returned value does not abort the work.
    pub fn engine(&self) -> Option<Engine> {
        self.0.upgrade().map(|shared| Engine { shared, owner: false })
    }
}

impl std::fmt::Debug for WeakEngine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("WeakEngine").field("alive", &(self.0.strong_count() > 0)).finish()
    }
}

/// The entries of a session, as written to its file.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryList {
    /// The header of the file.
    pub header: Value,
    /// The entries in the order of the file.
    pub entries: Vec<Value>,
    /// Id of the current entry of the conversation.
    pub leaf: Option<String>,
}

fn parse_json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_default()
}

impl Engine {
    /// Returns a weak handle to this engine, for values that the engine owns.
    pub fn downgrade(&self) -> WeakEngine {
        WeakEngine(Arc::downgrade(&self.shared))
    }

    /// Adds a message of an extension to the conversation. During a run, the message joins the run; otherwise it
    /// joins the session at once, with its events. With `starts_run`, an idle engine starts a run with the message.
    /// Fails if the run cannot start.
    pub fn custom_message(
        &self,
        mut message: CustomMessage,
        delivery: ExtensionDelivery,
        starts_run: bool,
    ) -> Result<Option<AcceptedPrompt>, PromptError> {
        message.timestamp = self.shared.options.clock.now_ms();
        let policy = &self.shared.options.profile.extensions;
        let message = AgentMessage::from(message);
        let mut state = self.shared.state();
        if state.closing {
            return Err(PromptError::Closing);
        }
        if delivery == ExtensionDelivery::NextTurn {
            state.next_prompt_messages.push(message);
            return Ok(None);
        }
        if let Some(work) = state.work.as_ref().filter(|work| work.kind == WorkKind::Prompt) {
            let _ = work;
            match delivery {
                ExtensionDelivery::FollowUp => state.queues.follow_up(message),
                ExtensionDelivery::Steer | ExtensionDelivery::NextTurn => state.queues.steer(message),
            }?;
            return Ok(None);
        }
        if starts_run && state.work.is_none() {
            let work = self.shared.reserve_work(&mut state)?;
            // Since pi 1.5, hooks of extensions also run for such a run.
            let original_input =
                policy.idle_messages_run_hooks.then(|| OriginalInput::from_message(&message));
            return self.shared.accept_run(state, work, vec![message], original_input).map(Some);
        }
        let message = Arc::new(message);
        if policy.emits_idle_messages {
            let sink = &self.shared.sink;
            let entry = &state.session.reserve_id();
            sink.push(Event::MessageStarted { entry, message: &message });
            state.session.append_as(entry.clone(), message.clone());
            sink.push(Event::MessageEnded { entry, message: &message });
        } else {
            state.session.append(message);
        }
        state.session.wait_briefly();
        self.shared.emit_storage_status(&mut state);
        Ok(None)
    }

    /// Stores an entry of an extension in the session and emits an event. The model does not receive the entry.
    pub fn append_entry(&self, custom_type: &str, data: Option<&Value>) -> EntryId {
        let mut state = self.shared.state();
        let id = state.session.custom(custom_type, data);
        state.session.wait_briefly();
        if let Some(entry) = state.session.entry(id.as_str()) {
            self.shared.sink.push(Event::EntryAppended(entry.json().as_str()));
        }
        id
    }

    /// Sets or removes the label of an entry. Returns `false` if there is no such entry.
    pub fn label(&self, entry: &str, label: Option<&str>) -> bool {
        let mut state = self.shared.state();
        let found = state.session.label(entry, label).is_some();
        state.session.wait_briefly();
        found
    }

    /// Returns the entries of the session.
    pub fn entries(&self) -> EntryList {
        let state = self.shared.state();
        EntryList {
            header: parse_json(state.session.header().json()),
            entries: state.session.entries().iter().map(|entry| parse_json(entry.json().as_str())).collect(),
            leaf: state.session.leaf().map(|leaf| leaf.id().to_string()),
        }
    }

    /// Returns the changes since a caller last read the entries. At that time, `session` had `known` entries, and
    /// `leaf` was the current entry. The result: the id of the session, `true` if the list has all entries and not
    /// only the new ones, and the list. Returns `None` if there are no changes.
    pub fn entries_after(
        &self,
        session: &str,
        known: usize,
        leaf: Option<&str>,
    ) -> Option<(String, bool, EntryList)> {
        let state = self.shared.state();
        let now = state.session.leaf().map(|leaf| leaf.id().to_string());
        let entries = state.session.entries();
        let reset = state.session.id() != session || known > entries.len();
        if !reset && known == entries.len() && now.as_deref() == leaf {
            return None;
        }
        let changes = &entries[if reset { 0 } else { known }..];
        let entries = EntryList {
            header: parse_json(state.session.header().json()),
            entries: changes.iter().map(|entry| parse_json(entry.json().as_str())).collect(),
            leaf: now,
        };
        Some((state.session.id().to_owned(), reset, entries))
    }

    /// Returns the tools that the model can call.
    pub fn tools(&self) -> ToolSet {
        self.shared.tools()
    }

    /// Returns the current system prompt.
    pub fn system_prompt(&self) -> String {
        self.shared.system_prompt()
    }

    /// Returns `true` if no work is in progress.
    pub fn is_idle(&self) -> bool {
        self.shared.state().work.is_none()
    }

    /// Returns the estimated number of tokens in the context, and the model. Returns `None` without a model.
    pub fn context_usage(&self) -> Option<(u64, Model)> {
        let model = self.shared.state().model.clone()?;
        Some((self.shared.read_session(crate::engine::policies::compaction::context_tokens), model))
    }

    /// Returns the model and the thinking level.
    pub fn model(&self) -> (Option<Model>, ThinkingLevel) {
        let state = self.shared.state();
        (state.model.clone(), state.thinking)
    }

    /// Emits an event about the failure of an extension.
    pub fn extension_failed(&self, extension: &str, event: &str, error: &str) {
        self.shared.sink.push(Event::ExtensionFailed { extension, event, error });
    }
}

impl Shared {
    /// Fails if there is no model, or if the model has no key.
    fn check_model(&self, state: &EngineState) -> Result<(), PromptError> {
        let options = &self.options;
        let model =
            state.model.as_ref().ok_or_else(|| PromptError::NoModel(options.no_model_reason.clone()))?;
        options.catalog.ready(model).map_err(|reason| PromptError::MissingKey(reason.to_string()))
    }

    /// Reserves an idle engine.
    pub(in crate::engine) fn reserve_work(
        self: &Arc<Self>,
        state: &mut EngineState,
    ) -> Result<Work, PromptError> {
        if self.remote.is_none() {
            self.check_model(state)?;
        }
        let working = state.start_work(WorkKind::Prompt, WorkPhase::Running);
        Ok(Work::new(self.clone(), working))
    }

    /// Starts a run with `messages` in the engine that was reserved for `work`.
    pub(in crate::engine) fn accept_run(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, EngineState>,
        work: Work,
        messages: Vec<AgentMessage>,
        original_input: Option<OriginalInput>,
    ) -> Result<AcceptedPrompt, PromptError> {
        if self.remote.is_some() {
            state.append_deferred();
            return Ok(AcceptedPrompt::for_remote(work, messages));
        }
        let made = self.check_model(&state).and_then(|()| {
            state.append_deferred();
            let waited = std::mem::take(&mut state.next_prompt_messages);
            let steps = AgentLoop::new(messages.into_iter().chain(waited));
            let run = Run::new(self, &state, steps, work.abort_token())
                .map(|run| run.with_original_input(original_input));
            run.ok_or_else(|| PromptError::NoModel(self.options.no_model_reason.clone()))
        });
        // Without a run, the reservation ends as soon as the state is unlocked.
        drop(state);
        Ok(AcceptedPrompt::for_run(work, made?))
    }
}
