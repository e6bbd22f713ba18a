//! Events that have another form since pi 1.5 than in the rest of the pi family.

use agentese::pi::{EntryAppended, SessionEntry};
use agentese::spec::Spec;
use agentese::types::{
    AgentEnd, AgentMessage, AgentSettled, AssistantBlock, AssistantMessage, CompactionEnd, CompactionReason,
    CompactionStart, MessageStart, QueueUpdate, SessionInfoChanged, StopReason,
    SummarizationRetryAttemptStart, SummarizationRetryFinished, SummarizationRetryScheduledBuilder,
    SummarySource, ThinkingLevelChanged, ToolExecutionEndBuilder, ToolOutput,
};
use agentese::wire::decode;
use serde_json::{Error, to_string};

use super::convert::{self, body, messages};
use super::snapshot;
use crate::engine::{Event, content_blocks, milliseconds};
use crate::providers::Update;

/// Returns the frame for an update of an answer: only the new part, and the number of tokens so far.
pub(super) fn update(message: &AssistantMessage, update: &Update) -> Result<String, Error> {
    let mut event = snapshot::event(message, update)?;
    if let (Update::ToolCallStart { .. }, Some(AssistantBlock::ToolCall(call))) =
        (update, message.content.get(update.index()))
    {
        event.push_str(&format!(",\"id\":{},\"toolName\":{}", to_string(&call.id)?, to_string(&call.name)?));
    }
    let usage = to_string(&message.usage)?;
    Ok(format!("{{\"type\":\"message_update\",\"usage\":{usage},\"assistantMessageEvent\":{event}}}}}"))
}

/// Returns the JSON text of any other event. Returns `None` if the revision does not have the event. `reason` is
/// the reason of the last compaction.
pub(super) fn event(
    spec: &Spec,
    event: Event<'_>,
    reason: &CompactionReason,
) -> Result<Option<String>, Error> {
    match event {
        Event::MessageStarted { message: AgentMessage::Assistant(message), .. } => {
            let mut message = message.clone();
            // A message that ended before its start event keeps its stop reason.
            if !matches!(message.stop_reason, StopReason::Error | StopReason::Aborted) {
                message.stop_reason = StopReason::Pending;
            }
            body(spec, &MessageStart::new(AgentMessage::from(message)))
        }
        Event::ToolEnded(call, output) => {
            let mut result = ToolOutput::new(content_blocks(&output.content));
            result.details = output.details.clone().into();
            result.structured_content = output.data();
            // A failure without data has its flag only beside the result.
            result.is_error = (output.is_error && result.structured_content.is_some()).then_some(true);
            let mut end = ToolExecutionEndBuilder {
                tool_call_id: call.id.clone(),
                tool_name: call.name.clone(),
                result,
                is_error: output.is_error,
            }
            .build();
            end.duration_ms = output.took.map(|took| milliseconds(took).into());
            body(spec, &end)
        }
        Event::RunEnded { messages: all, will_retry } => {
            let mut end = AgentEnd::new(messages(all));
            end.will_retry = Some(will_retry);
            body(spec, &end)
        }
        Event::CompactionStarted { reason } => body(spec, &CompactionStart::new(reason.clone())),
        Event::CompactionEnded { result, aborted, will_retry, error } => {
            let mut end = CompactionEnd::new(reason.clone(), aborted, will_retry);
            end.result = result.cloned();
            end.error_message = error.map(str::to_owned);
            body(spec, &end)
        }
        Event::SummaryRetryScheduled { attempt, limit, pause, error } => {
            let (max_attempts, delay_ms) = (limit, milliseconds(pause));
            let error_message = error.to_owned();
            let planned =
                SummarizationRetryScheduledBuilder { attempt, max_attempts, delay_ms, error_message };
            body(spec, &planned.build())
        }
        Event::SummaryRetryStarted { reason } => {
            let mut started = SummarizationRetryAttemptStart::new(SummarySource::Compaction);
            started.reason = Some(reason.clone());
            body(spec, &started)
        }
        Event::SummaryRetriesEnded => body(spec, &SummarizationRetryFinished::new()),
        Event::Settled { aborted } => body(spec, &AgentSettled::new(aborted)),
        Event::QueuesChanged { steering, follow_ups } => {
            body(spec, &QueueUpdate::new(steering.to_vec(), follow_ups.to_vec()))
        }
        Event::SessionNamed { name } => {
            let mut changed = SessionInfoChanged::new();
            changed.name = Some(name.to_owned());
            body(spec, &changed)
        }
        Event::EntryAppended(entry) => body(spec, &EntryAppended::new(decode::<SessionEntry>(entry)?)),
        Event::ThinkingChanged { level } => body(spec, &ThinkingLevelChanged::new(level)),
        other => convert::event(spec, other),
    }
}
