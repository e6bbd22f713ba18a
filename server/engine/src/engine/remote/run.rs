//! A run of the remote agent: its turns, messages and calls, emitted and stored by this engine.

use std::sync::Arc;

use agentese::types::{
    AgentMessage, AssistantBlock, AssistantMessage, InputKind, Model, ModelBuilder, ModelCostBuilder,
    StopReason, ToolCall, ToolResultMessage,
};

use crate::engine::Hooks as _;
use crate::engine::run::driver::REQUEST_ABORTED;
use crate::engine::run::tool_calls::result_message;
use crate::engine::{Event, Shared};
use crate::providers::{Assembler, ProviderError, ProviderErrorKind, StreamEvent};
use crate::session::EntryId;
use crate::tools::{ToolOutput, ToolUpdate};

/// Result of a call for which the remote agent reported no result.
const NO_RESULT: &str = "The agent reported no result for this call.";

/// A run. Turns are inferred from the events: a turn ends with its answer and the results of all calls.
#[derive(Default)]
pub(in crate::engine) struct RemoteRun {
    messages: Vec<Arc<AgentMessage>>,
    turn: Option<Turn>,
    partial_answer: Option<PartialAnswer>,
}

/// A turn of the remote agent that has not ended.
#[derive(Default)]
struct Turn {
    answer: Option<Arc<AgentMessage>>,
    failed: bool,
    calls: Vec<CallState>,
    results: Vec<ToolResultMessage>,
}

/// A call of the turn.
struct CallState {
    call: ToolCall,
    /// `true` if the call started before the answer that contains it arrived.
    early: bool,
    started: bool,
    ended: bool,
}

/// An answer in progress.
struct PartialAnswer {
    entry: EntryId,
    assembler: Assembler,
}

impl RemoteRun {
    /// Starts a run and its first turn.
    pub fn start(shared: &Shared) -> Self {
        shared.sink.push(Event::RunStarted);
        let mut run = Self::default();
        run.open_turn(shared);
        run
    }

    fn open_turn(&mut self, shared: &Shared) -> &mut Turn {
        if self.turn.is_none() {
            shared.options.hooks.turn_started(&shared.state().session, self.messages.is_empty());
            shared.sink.push(Event::TurnStarted);
        }
        self.turn.get_or_insert_default()
    }

    fn close_turn(&mut self, shared: &Shared) {
        let Some(turn) = self.turn.take() else { return };
        if let Some(answer) = &turn.answer {
            if let AgentMessage::Assistant(answer) = &**answer {
                shared.options.usage_tracker.count_answer(&answer.usage);
            }
            shared.sink.push(Event::TurnEnded { message: answer, results: &turn.results });
        }
    }

    /// Ends the turn if it has its answer. Called when a message follows that is not a tool result.
    fn next_turn(&mut self, shared: &Shared, aborted: bool) {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.answer.is_some()) else {
            self.open_turn(shared);
            return;
        };
        let early: Vec<_> = turn.calls.extract_if(.., |called| called.early && !called.ended).collect();
        self.close_calls(shared, aborted);
        self.close_turn(shared);
        self.open_turn(shared).calls = early;
    }

    /// Adds a message that is complete from the start.
    pub fn add_message(&mut self, shared: &Shared, message: AgentMessage) {
        self.next_turn(shared, false);
        let message = emit_message(shared, message);
        self.messages.push(message);
    }

    /// Starts or extends an answer.
    pub fn update_answer(&mut self, shared: &Shared, event: StreamEvent) {
        if self.partial_answer.is_none() {
            self.next_turn(shared, false);
        }
        let partial = self.partial_answer.get_or_insert_with(|| {
            let entry = shared.state().session.reserve_id();
            let assembler =
                assembler(shared).with_details(shared.options.profile.answers.stores_provider_details);
            let message = &assembler.message().clone().into();
            shared.sink.push(Event::MessageStarted { entry: &entry, message });
            PartialAnswer { entry, assembler }
        });
        if let Some(update) = partial.assembler.apply(event) {
            let (entry, message) = (&partial.entry, partial.assembler.message());
            shared.sink.push(Event::MessageUpdated { entry, message, update: &update });
        }
    }

    /// Completes an answer.
    pub fn end_answer(&mut self, shared: &Shared, mut answer: AssistantMessage) {
        let known = model(shared);
        for (reported, known) in [
            (&mut answer.api, known.api),
            (&mut answer.provider, known.provider),
            (&mut answer.model, known.id),
        ] {
            if reported.is_empty() {
                *reported = known;
            }
        }
        if let Some(partial) = self.partial_answer.take() {
            // The answer began when its start was emitted.
            answer.timestamp = partial.assembler.message().timestamp;
            return self.complete(shared, partial.entry, answer);
        }
        // An answer that ended before its start was emitted is shown complete from the start.
        self.next_turn(shared, false);
        let entry = shared.state().session.reserve_id();
        shared.sink.push(Event::MessageStarted { entry: &entry, message: &answer.clone().into() });
        self.complete(shared, entry, answer);
    }

    fn complete(&mut self, shared: &Shared, entry: EntryId, answer: AssistantMessage) {
        let failed = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
        let policy = &shared.options.profile.tool_calls;
        let calls = answer.content.iter().filter_map(|block| match block {
            AssistantBlock::ToolCall(call) => Some(CallState {
                call: policy.without_purpose(call),
                early: false,
                started: false,
                ended: false,
            }),
            _ => None,
        });
        let mut calls: Vec<_> = calls.collect();
        let message = store_message(shared, entry, answer.into());
        self.messages.push(message.clone());
        let turn = self.open_turn(shared);
        for early in turn.calls.drain(..).filter(|called| called.early) {
            match calls.iter_mut().find(|called| called.call.id == early.call.id) {
                Some(called) => called.started = true,
                None => calls.push(early),
            }
        }
        (turn.answer, turn.failed, turn.calls) = (Some(message), failed, calls);
        if turn.calls.is_empty() {
            self.close_turn(shared);
        }
    }

    /// Starts a call.
    pub fn tool_started(&mut self, shared: &Shared, call: &ToolCall) {
        let call = shared.options.profile.tool_calls.without_purpose(call);
        let turn = self.open_turn(shared);
        let known = turn.calls.iter_mut().find(|known| known.call.id == call.id);
        match known {
            Some(known) if known.started => return,
            Some(known) => known.started = true,
            None => {
                let early = turn.answer.is_some();
                turn.calls.push(CallState { call: call.clone(), early, started: true, ended: false });
            }
        }
        shared.options.usage_tracker.count_tool_call();
        shared.sink.push(Event::ToolStarted(&call));
    }

    /// Emits partial output of a tool.
    pub fn tool_updated(&mut self, shared: &Shared, id: &str, update: &ToolUpdate) {
        let calls = self.turn.iter().flat_map(|turn| &turn.calls);
        if let Some(called) = calls.into_iter().find(|called| called.call.id == id && !called.ended) {
            shared.sink.push(Event::ToolUpdated(&called.call, update));
        }
    }

    /// Ends a call with its result.
    pub fn tool_ended(&mut self, shared: &Shared, id: &str, output: ToolOutput) {
        let Some(turn) = &mut self.turn else { return };
        let Some(called) = turn.calls.iter_mut().find(|called| called.call.id == id && !called.ended) else {
            return;
        };
        called.ended = true;
        if !std::mem::replace(&mut called.started, true) {
            shared.sink.push(Event::ToolStarted(&called.call));
        }
        shared.sink.push(Event::ToolEnded(&called.call, &output));
        let message = result_message(&called.call, output, shared.options.clock.now_ms());
        turn.results.push(message.clone());
        let turn_done = turn.answer.is_some() && turn.calls.iter().all(|called| called.ended);
        self.messages.push(emit_message(shared, message.into()));
        if turn_done {
            self.close_turn(shared);
        }
    }

    /// Adds an error result for each call that has no result, so that the conversation stays valid. Skips calls of
    /// a failed answer that did not start.
    fn close_calls(&mut self, shared: &Shared, aborted: bool) {
        let Some(turn) = &self.turn else { return };
        let open = turn.calls.iter().filter(|called| !called.ended && (called.started || !turn.failed));
        let open: Vec<_> = open.map(|called| called.call.id.clone()).collect();
        for id in open {
            self.tool_ended(
                shared,
                &id,
                ToolOutput::error(if aborted { REQUEST_ABORTED } else { NO_RESULT }),
            );
        }
    }

    /// Ends the answer in progress as failed, for the given reason.
    pub fn fail(&mut self, shared: &Shared, reason: &str) {
        let failure = ProviderError::new(ProviderErrorKind::Network, reason);
        match self.partial_answer.take() {
            Some(PartialAnswer { entry, assembler }) => {
                self.complete(shared, entry, assembler.failed(failure).message);
            }
            None => self.end_answer(shared, assembler(shared).failed(failure).message),
        }
    }

    /// Ends the run, with its open answer, calls and turn. Returns the messages of the run.
    pub fn close(mut self, shared: &Shared, aborted: bool) -> Vec<Arc<AgentMessage>> {
        if let Some(PartialAnswer { entry, assembler }) = self.partial_answer.take() {
            let answer = match aborted {
                true => assembler.aborted(REQUEST_ABORTED),
                false => assembler.failed(ProviderError::new(
                    ProviderErrorKind::Network,
                    crate::engine::run::model_request::CUT_OFF,
                )),
            };
            self.complete(shared, entry, answer.message);
        }
        // A run that is stopped before its answer gets an aborted answer, as every run does.
        if aborted && self.turn.as_ref().is_some_and(|turn| turn.answer.is_none()) {
            self.end_answer(shared, assembler(shared).aborted(REQUEST_ABORTED).message);
        }
        self.close_calls(shared, aborted);
        self.close_turn(shared);
        self.messages
    }
}

/// Emits and stores a message that is complete from the start.
fn emit_message(shared: &Shared, message: AgentMessage) -> Arc<AgentMessage> {
    let entry = shared.state().session.reserve_id();
    shared.sink.push(Event::MessageStarted { entry: &entry, message: &message });
    store_message(shared, entry, message)
}

/// Stores a complete message and emits its end.
fn store_message(shared: &Shared, entry: EntryId, message: AgentMessage) -> Arc<AgentMessage> {
    let message = Arc::new(message);
    shared.state().session.append_as(entry.clone(), message.clone());
    shared.sink.push(Event::MessageEnded { entry: &entry, message: &message });
    message
}

/// Returns the model of the answers. If it is unknown, the model has no name.
fn model(shared: &Shared) -> Model {
    shared.state().model.clone().unwrap_or_else(|| {
        let text = String::new;
        let free = || 0.into();
        let cost =
            ModelCostBuilder { input: free(), output: free(), cache_read: free(), cache_write: free() };
        ModelBuilder {
            id: text(),
            name: text(),
            api: text(),
            provider: text(),
            base_url: text(),
            reasoning: false,
            input: vec![InputKind::Text],
            context_window: 0,
            max_tokens: 0,
            cost: cost.build(),
        }
        .build()
    })
}

/// Returns the assembler of an answer of the given model.
fn assembler(shared: &Shared) -> Assembler {
    Assembler::new(&model(shared), shared.options.clock.now_ms())
}
