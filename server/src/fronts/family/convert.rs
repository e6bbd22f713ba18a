//! From the engine's values to those of the family: what several of its dialects have is one type and converted once.

use std::path::PathBuf;
use std::sync::Arc;

use agentese::spec::Spec;
use agentese::types::{
    AgentEnd, AgentMessage, AgentStart, AutoCompactionEnd, AutoCompactionStart, AutoRetryEnd, AutoRetryStart,
    BashResult, ExtensionError, MessageEnd, MessageStart, StreamingBehavior as WireBehavior,
    ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate, ToolOutput, TurnEnd, TurnStart,
};
use agentese::wire::{ConstantValue, Maybe, Record};
use serde::Serialize;

use crate::engine::{Event, StreamingBehavior, blocks};
use crate::tools::RpcBashOutput;

pub(super) fn streaming_behavior(behavior: WireBehavior) -> StreamingBehavior {
    match behavior {
        WireBehavior::Steer => StreamingBehavior::Steer,
        WireBehavior::FollowUp => StreamingBehavior::FollowUp,
    }
}

/// A path, as text.
pub(in crate::fronts) fn text(path: PathBuf) -> String {
    path.to_string_lossy().into_owned()
}

pub(super) fn messages(messages: &[Arc<AgentMessage>]) -> Vec<AgentMessage> {
    messages.iter().map(|message| AgentMessage::clone(message)).collect()
}

pub(super) fn bash_result(output: RpcBashOutput) -> BashResult {
    let mut result = BashResult::new(output.output, output.cancelled, output.truncated);
    result.exit_code = output.exit_code.map(i64::from).into();
    result.full_output_path = output.full_output_path.map(text).into();
    result
}

/// The text of an event on the wire; none where the dialect does not have it, and for the growth of a message, which
/// [`super::snapshot`] writes.
pub(super) fn event(spec: &Spec, event: Event<'_>) -> Result<Option<String>, serde_json::Error> {
    match event {
        Event::MessageUpdated { .. } => Ok(None),
        Event::RunStarted => body(spec, &AgentStart::new()),
        Event::TurnStarted => body(spec, &TurnStart::new()),
        Event::MessageStarted(message) => body(spec, &MessageStart::new(message.clone())),
        Event::MessageEnded(message) => body(spec, &MessageEnd::new(message.clone())),
        Event::ToolStarted(call) => {
            body(spec, &ToolExecutionStart::new(&call.id, &call.name, call.arguments.clone()))
        }
        Event::ToolUpdated(call, update) => {
            let mut shown = ToolOutput::new(blocks(&update.content));
            shown.details = update.details.clone().into();
            body(spec, &ToolExecutionUpdate::new(&call.id, &call.name, call.arguments.clone(), shown))
        }
        Event::ToolEnded(call, output) => {
            let mut result = ToolOutput::new(blocks(&output.content));
            result.details = output.details.clone().into();
            body(spec, &ToolExecutionEnd::new(&call.id, &call.name, result, output.is_error))
        }
        Event::TurnEnded { message, results } => body(spec, &TurnEnd::new(message.clone(), results.to_vec())),
        Event::RunEnded { messages: all } => body(spec, &AgentEnd::new(messages(all))),
        Event::RetryStarted { attempt, limit, pause, error } => {
            let pause = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            body(spec, &AutoRetryStart::new(attempt, limit, pause, error))
        }
        Event::RetryEnded { success, attempt, error } => {
            let mut end = AutoRetryEnd::new(success, attempt);
            end.final_error = error.map(str::to_owned);
            body(spec, &end)
        }
        Event::CompactionStarted { reason } => body(spec, &AutoCompactionStart::new(reason.clone())),
        Event::CompactionEnded { result, aborted, will_retry, error } => {
            let mut end = AutoCompactionEnd::new(aborted, will_retry);
            // The document: null where nothing came of it.
            end.result = Maybe::or_null(result.cloned());
            end.error_message = error.map(str::to_owned);
            body(spec, &end)
        }
        Event::ExtensionFailed { extension, event, error } => {
            body(spec, &ExtensionError::new(extension, event, error))
        }
    }
}

/// The text of an event, where the dialect declares it.
fn body<T: Record + Serialize>(spec: &Spec, event: &T) -> Result<Option<String>, serde_json::Error> {
    let declared = match T::CONSTANTS {
        [(_, ConstantValue::String(name)), ..] => spec.event(name).is_some(),
        _ => false,
    };
    declared.then(|| serde_json::to_string(event)).transpose()
}
