//! An open session.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentese::opal::{
    AgentState, AgentStateBuilder, Failure, Opal, OpalConfig, OpalFeatures, OpalHistoryMessage, OpalModel,
    OpalStatus, QueuedPrompt,
};
use agentese::serve::{Call, CommandError};
use agentese::types::Model;

use super::convert::{Level, history, model};
use super::error::invalid_params;
use super::features::Features;
use super::sink::Sink;
use super::tools::TaskList;
use crate::conversation::{
    ConversationService, PromptOutcome, PromptRequest, PromptRequestError, RequestContext,
};
use crate::engine::{CompactError, InputQueue, PromptError};
use crate::session::IdClaim;

/// The components of an open session.
pub(super) struct SessionComponents {
    pub id: String,
    pub conversation: Arc<ConversationService>,
    pub sink: Arc<Sink>,
    pub features: Arc<Features>,
    pub tasks: Arc<TaskList>,
    pub level: Level,
    pub is_stored: bool,
    pub claim: Option<IdClaim>,
}

/// A conversation, and the requests of clients about it.
pub(super) struct ActiveSession {
    id: String,
    conversation: Arc<ConversationService>,
    sink: Arc<Sink>,
    features: Arc<Features>,
    pub tasks: Arc<TaskList>,
    /// The thinking level that the client requested; the model may not support it.
    level: Mutex<Level>,
    /// True if the session has a file.
    is_stored: bool,
    /// The claim to the id of the session, which keeps other processes from using it.
    claim: Mutex<Option<IdClaim>>,
    /// Locked during an abort, so that later prompts start after its end.
    aborting: tokio::sync::Mutex<()>,
    /// The number of abort requests.
    aborts: AtomicU64,
}

impl ActiveSession {
    pub fn new(components: SessionComponents) -> Self {
        let SessionComponents { id, conversation, sink, features, tasks, level, is_stored, claim } =
            components;
        let (level, claim, aborting) = (Mutex::new(level), Mutex::new(claim), tokio::sync::Mutex::default());
        Self {
            id,
            conversation,
            sink,
            features,
            tasks,
            level,
            is_stored,
            claim,
            aborting,
            aborts: AtomicU64::default(),
        }
    }

    fn level(&self) -> MutexGuard<'_, Level> {
        self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts a prompt. An idle agent starts a run with it; otherwise the prompt waits in a queue until the
    /// run would end.
    pub async fn prompt(
        &self,
        text: String,
        call: Call<Opal, QueuedPrompt>,
    ) -> Result<QueuedPrompt, CommandError> {
        drop(self.aborting.lock().await);
        loop {
            let request = PromptRequest {
                text: text.clone(),
                images: Vec::new(),
                delivery: Some(InputQueue::FollowUp),
            };
            let (sink, responder, input) = (self.sink.clone(), call.clone(), text.clone());
            let on_accepted = move |outcome: &PromptOutcome| {
                if matches!(outcome, PromptOutcome::Run(_)) {
                    sink.expect_prompt();
                }
                // The response precedes every event.
                responder.answer(QueuedPrompt::new(matches!(outcome, PromptOutcome::Queued)));
                if matches!(outcome, PromptOutcome::Queued) {
                    sink.report_queued(&input);
                }
            };
            match self.conversation.prompt(request, RequestContext::new(on_accepted, call.replaced())).await {
                Ok(PromptOutcome::Run(_) | PromptOutcome::Queued) => return Ok(QueuedPrompt::new(false)),
                // No run starts, but the client waits for an end: the end of the command.
                Ok(outcome @ (PromptOutcome::Command(_) | PromptOutcome::Handled)) => {
                    call.answer(QueuedPrompt::new(false));
                    let aborts = self.aborts.load(Ordering::Relaxed);
                    if let PromptOutcome::Command(command_end) = outcome {
                        command_end.cancelled().await;
                    }
                    // An abort has sent its own event, and so does a run that the command has started.
                    let is_aborted = aborts != self.aborts.load(Ordering::Relaxed);
                    if !is_aborted && !self.conversation.engine().status().streaming {
                        self.sink.report_empty_run();
                    }
                    return Ok(QueuedPrompt::new(false));
                }
                Err(PromptRequestError::Engine(PromptError::Compacting)) => {
                    self.conversation.engine().wait_until_idle().await
                }
                Err(PromptRequestError::Engine(
                    error @ (PromptError::NoModel(_) | PromptError::MissingKey(_)),
                )) => {
                    call.answer(QueuedPrompt::new(false));
                    self.sink.report_rejected(&error.to_string());
                    return Ok(QueuedPrompt::new(false));
                }
                Err(PromptRequestError::Engine(error @ PromptError::Blank)) => {
                    return Err(invalid_params("agent/prompt", &error.to_string()));
                }
                // The abort sends its own event.
                Err(PromptRequestError::Cancelled) => return Ok(QueuedPrompt::new(false)),
                Err(error) => {
                    return Err(Failure::InternalError.command_error(&[]).with_data(error.to_string()));
                }
            }
        }
    }

    /// Stops the current work. The client receives only the abort event after this, even if no work was in
    /// progress.
    pub async fn abort(&self, call: &Call<Opal>) {
        let _aborting = self.aborting.lock().await;
        self.aborts.fetch_add(1, Ordering::Relaxed);
        call.answer(());
        self.sink.mute();
        self.conversation.abort().await;
        self.sink.report_abort();
    }

    /// Returns the state of the session.
    pub fn state(&self) -> AgentState {
        let engine_status = self.conversation.engine().status();
        let status = match (engine_status.streaming || engine_status.compacting, self.sink.status()) {
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
        match self.conversation.engine().status().model {
            Some(chosen) => model(&chosen, *self.level()),
            None => OpalModel::new("", "", self.level().name()),
        }
    }

    /// Returns the messages of the conversation.
    pub fn history(&self) -> Vec<OpalHistoryMessage> {
        history(&self.conversation.engine().conversation())
    }

    /// Switches to a model, from the next request on.
    pub fn set_model(&self, model: Model, level: Level) {
        self.conversation.engine().use_model(model);
        self.set_level(level);
    }

    /// Sets the thinking level.
    pub fn set_level(&self, level: Level) {
        *self.level() = level;
        self.conversation.engine().set_thinking(level.engine());
    }

    /// Switches features and tools. Fails for unknown names.
    pub fn configure(
        &self,
        features: Option<&OpalFeatures>,
        tools: Option<&[String]>,
    ) -> Result<(), CommandError> {
        let _ = self.config();
        self.features.set(features, tools)?;
        self.conversation.mcp().set_enabled(self.features.mcp());
        Ok(())
    }

    /// Returns the switches for features and tools.
    pub fn config(&self) -> OpalConfig {
        // This call updates the tools in the switches.
        let _ = self.conversation.engine().tools();
        self.features.config()
    }

    /// Returns to an earlier message, so that the next prompt follows it. Fails if the session is not stored, if
    /// the message does not exist, or if an extension rejects it.
    pub async fn branch(&self, entry: &str, call: &Call<Opal>) -> Result<(), CommandError> {
        if !self.is_stored {
            let data = format!("the session \"{}\" is not stored", self.id);
            return Err(Failure::SessionNotFound.command_error(&[]).with_data(data));
        }
        let refused = |reason: &str| Failure::BranchFailed.command_error(&[]).with_data(reason);
        match self.conversation.go_to(entry, RequestContext::for_call(call)).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(refused("an extension rejected it")),
            Err(error) => Err(refused(&error.to_string())),
        }
    }

    /// Compacts the conversation. Fails if the session is not stored, or if the model returns no summary.
    pub async fn compact(&self, keep_recent: Option<u64>, call: &Call<Opal>) -> Result<(), CommandError> {
        if !self.is_stored {
            return Err(Failure::NotKept.command_error(&[]));
        }
        let keep_recent = keep_recent.filter(|tokens| *tokens > 0);
        match self.conversation.compact_to(keep_recent, RequestContext::for_call(call)).await {
            Ok(_) | Err(CompactError::NothingToCompact(_)) => Ok(()),
            Err(error) => Err(Failure::CompactionFailed.command_error(&[]).with_data(error.to_string())),
        }
    }

    /// Releases the id of the session for other processes.
    pub fn release_id(&self) {
        *self.claim.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Stops all further events.
    pub fn mute_events(&self) {
        self.sink.mute();
    }
}
