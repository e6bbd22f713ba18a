//! Conversion of engine values to the types that the dialects of the pi family share.

use std::path::PathBuf;
use std::sync::Arc;

use agentese::framing::FrameText;
use agentese::serve::{CommandError, Segments};
use agentese::spec::Spec;
use agentese::types::{
    AgentEnd, AgentMessage, AgentStart, AutoCompactionEnd, AutoCompactionStart, AutoRetryEnd,
    AutoRetryStartBuilder, BashResult, BudgetExceeded, BudgetWarning, ExtensionError, MessageEnd,
    MessageStart, NotifyNotice, NotifyType, StreamingBehavior as WireBehavior, SubagentEnd, SubagentStart,
    TodoReminder, ToolExecutionEndBuilder, ToolExecutionStart, ToolExecutionUpdateBuilder, ToolOutput,
    TtsrTriggered, TurnEnd, TurnStart,
};
use agentese::wire::{ConstantValue, Maybe, Record};
use serde::Serialize;

use crate::engine::{ChildEvent, Event, InputQueue, content_blocks};
use crate::tools::RpcBashOutput;

pub(super) fn delivery(behavior: WireBehavior) -> InputQueue {
    match behavior {
        WireBehavior::Steer => InputQueue::Steer,
        WireBehavior::FollowUp => InputQueue::FollowUp,
    }
}

/// Returns a path as text.
pub(in crate::dialects) fn path_text(path: PathBuf) -> String {
    path.to_string_lossy().into_owned()
}

pub(super) fn messages(messages: &[Arc<AgentMessage>]) -> Vec<AgentMessage> {
    messages.iter().map(|message| AgentMessage::clone(message)).collect()
}

/// Returns the text of a response from messages that are JSON text already.
pub(super) fn message_texts(messages: Vec<FrameText>) -> Segments {
    let mut answer = Segments::with_capacity(messages.len() + 32);
    for (number, message) in messages.into_iter().enumerate() {
        answer.push_str(if number == 0 { "{\"messages\":[" } else { "," });
        answer.defer(message);
    }
    answer.push_str(if answer.is_empty() { "{\"messages\":[]}" } else { "]}" });
    answer
}

pub(super) fn bash_result(output: RpcBashOutput) -> BashResult {
    let mut result = BashResult::new(output.output, output.cancelled, output.truncated);
    result.exit_code = output.exit_code.map(i64::from).into();
    result.full_output_path = output.full_output_path.map(path_text).into();
    result
}

/// Converts an event that users should see but that the pi family has no frame for. The result is a notice, as
/// extensions send it.
pub(super) fn notice(event: &Event<'_>) -> Option<NotifyNotice> {
    let Event::StorageStatus { error } = event else { return None };
    let (text, kind) = match error {
        Some(error) => (format!("The session is not saved: {error}"), NotifyType::Error),
        None => ("The session is saved again: its file is complete.".to_owned(), NotifyType::Info),
    };
    let mut notice = NotifyNotice::new(text);
    notice.notify_type = Some(kind);
    Some(notice)
}

/// Returns the JSON text of an event. Returns `None` if the dialect does not declare the event. Also returns `None`
/// for updates of a message, which [`super::snapshot`] writes, and for events that become a [`notice`].
pub(super) fn event(spec: &Spec, event: Event<'_>) -> Result<Option<String>, serde_json::Error> {
    match event {
        Event::MessageUpdated { .. } | Event::StorageStatus { .. } | Event::Recovered => Ok(None),
        Event::RunStarted => body(spec, &AgentStart::new()),
        Event::TurnStarted => body(spec, &TurnStart::new()),
        Event::MessageStarted { message, .. } => body(spec, &MessageStart::new(message.clone())),
        Event::MessageEnded { message, .. } => body(spec, &MessageEnd::new(message.clone())),
        Event::ToolStarted(call) => {
            body(spec, &ToolExecutionStart::new(&call.id, &call.name, call.arguments.clone()))
        }
        Event::ToolUpdated(call, update) => {
            let mut shown = ToolOutput::new(content_blocks(&update.content));
            shown.details = update.details.clone().into();
            body(
                spec,
                &ToolExecutionUpdateBuilder {
                    tool_call_id: call.id.clone(),
                    tool_name: call.name.clone(),
                    args: call.arguments.clone(),
                    partial_result: shown,
                }
                .build(),
            )
        }
        Event::ToolEnded(call, output) => {
            let mut result = ToolOutput::new(content_blocks(&output.content));
            result.details = output.details.clone().into();
            body(
                spec,
                &ToolExecutionEndBuilder {
                    tool_call_id: call.id.clone(),
                    tool_name: call.name.clone(),
                    result,
                    is_error: output.is_error,
                }
                .build(),
            )
        }
        Event::TurnEnded { message, results } => body(spec, &TurnEnd::new(message.clone(), results.to_vec())),
        Event::RunEnded { messages: all, .. } => body(spec, &AgentEnd::new(messages(all))),
        Event::RetryStarted { attempt, limit, pause, error } => {
            let pause = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            body(
                spec,
                &AutoRetryStartBuilder {
                    attempt,
                    max_attempts: limit,
                    delay_ms: pause,
                    error_message: error.into(),
                }
                .build(),
            )
        }
        Event::RetryEnded { success, attempt, error } => {
            let mut end = AutoRetryEnd::new(success, attempt);
            end.final_error = error.map(str::to_owned);
            body(spec, &end)
        }
        Event::CompactionStarted { reason } => body(spec, &AutoCompactionStart::new(reason.clone())),
        Event::CompactionEnded { result, aborted, will_retry, error } => {
            let mut end = AutoCompactionEnd::new(aborted, will_retry);
            // The document requires null if there is no result.
            end.result = Maybe::or_null(result.cloned());
            end.error_message = error.map(str::to_owned);
            body(spec, &end)
        }
        // Older revisions do not have these events.
        Event::Queued(_)
        | Event::Settled { .. }
        | Event::QueuesChanged { .. }
        | Event::SummaryRetryScheduled { .. }
        | Event::SummaryRetryStarted { .. }
        | Event::SummaryRetriesEnded
        | Event::EntryAppended(_)
        | Event::SessionNamed { .. }
        | Event::ThinkingChanged { .. } => Ok(None),
        Event::RulesTriggered(rules) => body(spec, &TtsrTriggered::new(rules.to_vec())),
        Event::TodoReminder { todos, attempt, limit } => {
            body(spec, &TodoReminder::new(todos.to_vec(), attempt, limit))
        }
        Event::Child { id, agent, event } => subagent_event(spec, id, agent, event),
        Event::BudgetWarning { scope, snapshot } => {
            body(spec, &BudgetWarning::new(scope.clone(), snapshot.clone()))
        }
        Event::BudgetExceeded { scope, snapshot } => {
            body(spec, &BudgetExceeded::new(scope.clone(), snapshot.clone()))
        }
        Event::ExtensionFailed { extension, event, error } => {
            body(spec, &ExtensionError::new(extension, event, error))
        }
    }
}

/// Returns the JSON text of a subagent's event.
fn subagent_event(
    spec: &Spec,
    id: &str,
    agent: &str,
    event: ChildEvent<'_>,
) -> Result<Option<String>, serde_json::Error> {
    match event {
        ChildEvent::Started { isolated } => body(spec, &SubagentStart::new(id, agent, isolated)),
        // The family shows the progress of subagents as updates of the tool.
        ChildEvent::Event(_) => Ok(None),
        ChildEvent::VerificationStarted(event) => body(spec, event),
        ChildEvent::VerificationCommandStarted(event) => body(spec, event),
        ChildEvent::VerificationCommandEnded(event) => body(spec, event),
        ChildEvent::VerificationEnded(event) => body(spec, event),
        ChildEvent::Ended { exit_code, verification } => {
            let mut end = SubagentEnd::new(id, agent, exit_code);
            end.verification = verification.cloned();
            body(spec, &end)
        }
    }
}

/// Returns the JSON text of an event. Returns `None` if the dialect does not declare the event.
pub(super) fn body<T: Record + Serialize>(
    spec: &Spec,
    event: &T,
) -> Result<Option<String>, serde_json::Error> {
    declares::<T>(spec).then(|| serde_json::to_string(event)).transpose()
}

/// Returns true if a revision declares an event.
pub(in crate::dialects) fn declares<T: Record>(spec: &Spec) -> bool {
    match T::CONSTANTS {
        [(_, ConstantValue::String(name)), ..] => spec.event(name).is_some(),
        _ => false,
    }
}

/// Converts an error to a rejection with the same text.
pub(in crate::dialects) fn command_error(error: impl ToString) -> CommandError {
    CommandError::new(error.to_string())
}
