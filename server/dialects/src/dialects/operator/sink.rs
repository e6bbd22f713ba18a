//! Conversion of engine events to frames.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use agentese::operator::{
    Event as Wire, Operator, OperatorAgentEnd, OperatorAgentStart, OperatorMessage, OperatorMessageEnd,
    OperatorMessageStart, OperatorMessageUpdate, OperatorToolExecutionEnd, OperatorToolExecutionStart,
    OperatorTurnEnd, OperatorTurnStart,
};
use agentese::serve::Emitter;
use agentese::types::{AgentMessage, StopReason};
use agentese::wire::Maybe;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::convert;
use crate::engine::{Event, EventSink};

/// Sends the events of the engine to the client. Drops events until the client is connected.
#[derive(Default)]
pub(super) struct Sink {
    emitter: OnceLock<Emitter<Operator>>,
    run: Mutex<RunReport>,
}

/// The part of the current or last run that was reported to the client.
#[derive(Debug, Default)]
struct RunReport {
    /// Messages of the run, without the message of the prompt.
    messages: Vec<OperatorMessage>,
    /// The last answer of the current turn.
    answer: Option<OperatorMessage>,
    /// The stop reason of the last answer, and its error message if it failed.
    last_answer_end: Option<(StopReason, Option<String>)>,
    /// The reason why the session is not stored. Cleared once it is reported.
    storage_error: Option<String>,
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Sink").field("run", &self.run()).finish_non_exhaustive()
    }
}

impl Sink {
    /// Sends events to `emitter` from now on. Later calls have no effect.
    pub fn connect(&self, emitter: Emitter<Operator>) {
        let _ = self.emitter.set(emitter);
    }

    /// Returns the reason why the last run failed or was not stored. Returns `None` if it succeeded and was stored.
    pub fn failure(&self) -> Option<String> {
        let mut run = self.run();
        let unkept = run.storage_error.take();
        match &run.last_answer_end {
            Some((StopReason::Error, error)) => {
                let reasons: Vec<_> = error.iter().cloned().chain(unkept).collect();
                Some(reasons.join("; "))
            }
            _ => unkept,
        }
    }

    fn run(&self) -> MutexGuard<'_, RunReport> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, event: impl Into<Wire>) {
        let Some(emitter) = self.emitter.get() else { return };
        match serde_json::to_string(&event.into()) {
            Ok(body) => emitter.emit_body_now(body),
            Err(error) => tracing::error!(%error, "an event could not be written"),
        }
    }
}

impl RunReport {
    /// Returns true if Operator reports the message. The prompt is not reported, because the client has just sent
    /// it.
    fn includes(&self, message: &AgentMessage) -> bool {
        self.answer.is_some() || matches!(message, AgentMessage::Assistant(_) | AgentMessage::ToolResult(_))
    }
}

impl EventSink for Sink {
    fn wait_for_capacity(&self) -> BoxFuture<'_, ()> {
        async move {
            if let Some(emitter) = self.emitter.get() {
                emitter.room().await;
            }
        }
        .boxed()
    }

    fn push(&self, event: Event<'_>) {
        let mut run = self.run();
        match event {
            Event::RunStarted => {
                *run = RunReport { storage_error: run.storage_error.take(), ..RunReport::default() };
                self.send(OperatorAgentStart::new());
            }
            Event::TurnStarted => self.send(OperatorTurnStart::new()),
            Event::MessageStarted { entry, message } if run.includes(message) => {
                self.send(OperatorMessageStart::new(match message {
                    AgentMessage::Assistant(answer) => convert::started_answer(entry, answer),
                    complete => convert::message(entry, complete),
                }));
            }
            Event::MessageUpdated { entry, message, update } => {
                if let Some(piece) = convert::piece(entry, message, update) {
                    self.send(OperatorMessageUpdate::new(piece));
                }
            }
            Event::MessageEnded { entry, message } if run.includes(message) => {
                let wire_message = convert::message(entry, message);
                run.messages.push(wire_message.clone());
                if let AgentMessage::Assistant(answer) = message {
                    run.last_answer_end = Some((answer.stop_reason, answer.error_message.clone()));
                    run.answer = Some(wire_message.clone());
                }
                let mut end = OperatorMessageEnd::new();
                end.message = Some(wire_message).into();
                self.send(end);
            }
            Event::ToolStarted(call) => self.send(OperatorToolExecutionStart::new(convert::tool_call(call))),
            Event::ToolEnded(call, output) => {
                self.send(OperatorToolExecutionEnd::new(convert::tool_output(call, output)));
            }
            Event::TurnEnded { message: _, results } => {
                let mut end = OperatorTurnEnd::new();
                // Null if the request failed.
                let failed = matches!(run.last_answer_end, Some((StopReason::Error, _)));
                end.message = Maybe::or_null(run.answer.clone().filter(|_| !failed));
                end.tool_results = Some(results.iter().map(convert::tool_result).collect());
                self.send(end);
            }
            Event::RunEnded { .. } => {
                let mut end = OperatorAgentEnd::new(run.messages.clone());
                end.reason = run.last_answer_end.as_ref().map(|(reason, _)| reason_of(*reason).to_owned());
                self.send(end);
            }
            Event::StorageStatus { error } => {
                run.storage_error = error.map(|error| format!("the session is not saved: {error}"));
            }
            // The document has no events for the others.
            _ => {}
        }
    }
}

fn reason_of(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Error => "error",
        StopReason::Aborted => "aborted",
        _ => "completed",
    }
}
