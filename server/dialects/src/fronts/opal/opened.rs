//! An open session.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentese::opal::{
    AgentState, AgentStateBuilder, Failure, Opal, OpalConfig, OpalFeatures, OpalHistoryMessage, OpalModel,
    OpalStatus, PromptQueued,
};
use agentese::serve::{Call, Refusal};
use agentese::types::Model;

use super::convert::{Level, history, model};
use super::error::invalid;
use super::features::Features;
use super::sink::Sink;
use super::tools::TaskList;
use crate::desk::{Caller, Desk, Refused, Said, Taken};
use crate::engine::{CompactError, PromptError, StreamingBehavior};
use crate::session::IdClaim;

/// The parts of a session.
pub(super) struct Parts {
    pub id: String,
    pub desk: Arc<Desk>,
    pub sink: Arc<Sink>,
    pub features: Arc<Features>,
    pub tasks: Arc<TaskList>,
    pub level: Level,
    pub kept: bool,
    pub claim: Option<IdClaim>,
}

/// A conversation, and the requests of clients about it.
pub(super) struct Opened {
    id: String,
    desk: Arc<Desk>,
    sink: Arc<Sink>,
    features: Arc<Features>,
    pub tasks: Arc<TaskList>,
    /// The requested thinking level, independent of the levels of the model.
    level: Mutex<Level>,
    /// True if the session has a file.
    kept: bool,
    /// Protects the id of the session from other processes.
    claim: Mutex<Option<IdClaim>>,
    /// Held by an abort until its end: later prompts start after it.
    aborting: tokio::sync::Mutex<()>,
    /// The number of abort requests.
    aborts: AtomicU64,
}

impl Opened {
    pub fn new(parts: Parts) -> Self {
        let Parts { id, desk, sink, features, tasks, level, kept, claim } = parts;
        let (level, claim, aborting) = (Mutex::new(level), Mutex::new(claim), tokio::sync::Mutex::default());
        Self { id, desk, sink, features, tasks, level, kept, claim, aborting, aborts: AtomicU64::default() }
    }

    fn level(&self) -> MutexGuard<'_, Level> {
        self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts a prompt: the prompt starts a run, or waits for the end of the current run.
    pub async fn prompt(
        &self,
        text: String,
        call: Call<Opal, PromptQueued>,
    ) -> Result<PromptQueued, Refusal> {
        drop(self.aborting.lock().await);
        loop {
            let said =
                Said { text: text.clone(), images: Vec::new(), streaming: Some(StreamingBehavior::FollowUp) };
            let (sink, answering, words) = (self.sink.clone(), call.clone(), text.clone());
            let accepted = move |taken: &Taken| {
                if matches!(taken, Taken::Run(_)) {
                    sink.prompted();
                }
                // The response precedes every event.
                answering.answer(PromptQueued::new(matches!(taken, Taken::Queued)));
                if matches!(taken, Taken::Queued) {
                    sink.queued(&words);
                }
            };
            match self.desk.prompt(said, Caller::new(accepted, call.replaced())).await {
                Ok(Taken::Run(_) | Taken::Queued) => return Ok(PromptQueued::new(false)),
                // No run starts, but the client waits for an end: the end of the command.
                Ok(taken @ (Taken::Command(_) | Taken::Handled)) => {
                    call.answer(PromptQueued::new(false));
                    let aborts = self.aborts.load(Ordering::Relaxed);
                    if let Taken::Command(over) = taken {
                        over.cancelled().await;
                    }
                    // An abort has sent its own event, and so does a run that the command has started.
                    let is_told = aborts != self.aborts.load(Ordering::Relaxed);
                    if !is_told && !self.desk.engine().view().streaming {
                        self.sink.nothing_to_do();
                    }
                    return Ok(PromptQueued::new(false));
                }
                Err(Refused::Prompt(PromptError::Compacting)) => self.desk.engine().wait_until_idle().await,
                Err(Refused::Prompt(error @ (PromptError::NoModel(_) | PromptError::NotReady(_)))) => {
                    call.answer(PromptQueued::new(false));
                    self.sink.refused(&error.to_string());
                    return Ok(PromptQueued::new(false));
                }
                Err(Refused::Prompt(error @ PromptError::Blank)) => {
                    return Err(invalid("agent/prompt", &error.to_string()));
                }
                // The abort sends its own event.
                Err(Refused::GivenUp) => return Ok(PromptQueued::new(false)),
                Err(error) => return Err(Failure::InternalError.refusal(&[]).with_data(error.to_string())),
            }
        }
    }

    /// Stops the current work. The only further event is the abort event, also without current work.
    pub async fn abort(&self, call: &Call<Opal>) {
        let _aborting = self.aborting.lock().await;
        self.aborts.fetch_add(1, Ordering::Relaxed);
        call.answer(());
        self.sink.silence();
        self.desk.abort().await;
        self.sink.aborted();
    }

    /// Returns the state of the session.
    pub fn state(&self) -> AgentState {
        let view = self.desk.engine().view();
        let status = match (view.streaming || view.compacting, self.sink.status()) {
            (false, _) => OpalStatus::Idle,
            (true, OpalStatus::Idle) => OpalStatus::Running,
            (true, status) => status,
        };
        let messages = self.history().len() as u64;
        let mut state = AgentStateBuilder {
            session_id: self.id.clone(),
            status,
            model: self.model(),
            message_count: messages,
            tools: self.features.all(),
        }
        .build();
        state.token_usage = Some(self.sink.usage());
        state
    }

    /// Returns the model of the session.
    pub fn model(&self) -> OpalModel {
        match self.desk.engine().view().model {
            Some(chosen) => model(&chosen, *self.level()),
            None => OpalModel::new("", "", self.level().name()),
        }
    }

    /// Returns the conversation.
    pub fn history(&self) -> Vec<OpalHistoryMessage> {
        history(&self.desk.engine().conversation())
    }

    /// Switches to a model, from the next request on.
    pub fn set_model(&self, model: Model, level: Level) {
        self.desk.engine().use_model(model);
        self.set_level(level);
    }

    /// Sets the thinking level.
    pub fn set_level(&self, level: Level) {
        *self.level() = level;
        self.desk.engine().set_thinking(level.engine());
    }

    /// Switches parts and tools. Fails for unknown names.
    pub fn configure(
        &self,
        features: Option<&OpalFeatures>,
        tools: Option<&[String]>,
    ) -> Result<(), Refusal> {
        let _ = self.config();
        self.features.set(features, tools)?;
        self.desk.mcp().set_enabled(self.features.mcp());
        Ok(())
    }

    /// Returns the switches for parts and tools.
    pub fn config(&self) -> OpalConfig {
        // This call updates the tools in the switches.
        let _ = self.desk.engine().tools();
        self.features.config()
    }

    /// Goes back to a message, so that the next prompt follows it. Fails if the session is not stored, or if
    /// the message does not exist.
    pub async fn branch(&self, entry: &str, call: &Call<Opal>) -> Result<(), Refusal> {
        if !self.kept {
            let data = format!("the session \"{}\" is not kept", self.id);
            return Err(Failure::SessionNotFound.refusal(&[]).with_data(data));
        }
        let refused = |reason: &str| Failure::BranchFailed.refusal(&[]).with_data(reason);
        match self.desk.go_to(entry, Caller::of(call)).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(refused("an extension refused it")),
            Err(error) => Err(refused(&error.to_string())),
        }
    }

    /// Compacts the conversation. Fails if the session is not stored, or if the model returns no summary.
    pub async fn compact(&self, keep_recent: Option<u64>, call: &Call<Opal>) -> Result<(), Refusal> {
        if !self.kept {
            return Err(Failure::NotKept.refusal(&[]));
        }
        let keep_recent = keep_recent.filter(|tokens| *tokens > 0);
        match self.desk.compact_to(keep_recent, Caller::of(call)).await {
            Ok(_) | Err(CompactError::Nothing(_)) => Ok(()),
            Err(error) => Err(Failure::CompactionFailed.refusal(&[]).with_data(error.to_string())),
        }
    }

    /// Releases the id of the session for other processes.
    pub fn give_up_id(&self) {
        *self.claim.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Stops all further events.
    pub fn silence(&self) {
        self.sink.silence();
    }
}
