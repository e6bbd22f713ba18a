//! Conversion of the updates of a turn to remote events for the engine, without I/O.
//!
//! ACP has pieces of text and tool calls, but no messages. So an answer ends when one of its calls starts,
//! and at the end of the turn.

use std::collections::BTreeMap;

use agentese::acp::{
    AcpCompactionStatus, AcpPermissionCall, AcpPromptEnd, AcpStopReason, AcpTokenUsage, AcpToolCallUpdate,
    AcpToolStatus, AcpUpdate,
};
use agentese::types::{
    AssistantBlock, AssistantMessage, CompactionReason, CompactionResult, StopReason, TextContent,
    ThinkingContent, ToolCall, Usage,
};
use agentese::view::Message;
use agentese::wire::Maybe;
use agentese_server_base::runtime::{Clock as _, SystemClock};
use agentese_server_dialects::conversation::RemoteSessionError;
use agentese_server_engine::engine::{RemoteCompaction, RemoteEvent};
use agentese_server_models::{StreamEvent, number};
use agentese_server_tools::{ToolOutput, ToolUpdate};
use serde_json::{Map, Value};

use super::super::convert::{self, ABORTED};
use super::call_details::{CallDetails, content_text, update_of, update_of_permission};
use super::call_output::{result_output, running_output};

/// The error message of an answer that the model refused.
const REFUSED: &str = "The model refused to answer.";

/// A text, a thought or a tool call in an incomplete answer.
#[derive(Debug)]
enum Part {
    Text(String),
    Thinking(String),
    Call(String),
}

/// A tool call.
#[derive(Debug, Default)]
struct CallState {
    details: CallDetails,
    /// `true` if an update announced the call, `false` if only a permission request did.
    announced: bool,
    /// The arguments that were reported with the start of the call. `None` before the start.
    started: Option<Map<String, Value>>,
    ended: bool,
}

/// Converts updates to remote events.
#[derive(Debug, Default)]
pub(super) struct UpdateTranslator {
    /// The parts of the growing answer. The flag is `true` if more text may follow in the last part.
    answer: Option<(Vec<Part>, bool)>,
    /// `true` in a turn that has no answer yet.
    is_unanswered: bool,
    calls: BTreeMap<String, CallState>,
    /// Number of tokens in the context.
    context_tokens: u64,
    /// Size of the context window in tokens; 0 if it is unknown.
    context_window: u64,
    /// The cost of the session so far, and the cost that was already reported with answers, both in US dollars.
    cost: f64,
    reported_cost: f64,
    /// `true` if the cost of the session before it was opened is unknown. The first report of a cost then contains it.
    is_earlier_cost_unknown: bool,
}

impl UpdateTranslator {
    /// Starts the accounting of another session. `cost` is the cost of the session so far, if it is known.
    pub fn open_session(&mut self, cost: Option<f64>) {
        self.calls.clear();
        (self.context_tokens, self.context_window) = (0, 0);
        self.cost = cost.unwrap_or_default();
        self.reported_cost = self.cost;
        self.is_earlier_cost_unknown = cost.is_none();
    }

    /// Returns the size of the context window in tokens; 0 if it is unknown.
    pub fn context_window(&self) -> u64 {
        self.context_window
    }

    /// Starts a turn.
    pub fn start_turn(&mut self) -> Vec<RemoteEvent> {
        self.calls.clear();
        self.is_unanswered = true;
        vec![RemoteEvent::RunStarted]
    }

    /// Converts an update of the conversation.
    pub fn translate(&mut self, update: AcpUpdate) -> Vec<RemoteEvent> {
        let mut events = Vec::new();
        match update {
            AcpUpdate::AgentMessageChunk(chunk) => {
                self.push_text(content_text(&chunk.content), false, &mut events)
            }
            AcpUpdate::AgentThoughtChunk(chunk) => {
                self.push_text(content_text(&chunk.content), true, &mut events)
            }
            AcpUpdate::ToolCall(call) => self.push_call(update_of(call), false, &mut events),
            AcpUpdate::ToolCallUpdate(update) => self.push_call(update, false, &mut events),
            AcpUpdate::UsageUpdate(usage) => {
                (self.context_tokens, self.context_window) = (usage.used, usage.size);
                if let Some(cost) = usage.cost.as_option() {
                    self.cost = cost.amount.as_f64().unwrap_or_default();
                    if std::mem::take(&mut self.is_earlier_cost_unknown) {
                        self.reported_cost = self.cost;
                    }
                }
            }
            AcpUpdate::CompactionUpdate(compaction) => match compaction.status {
                AcpCompactionStatus::InProgress => {
                    events.push(RemoteEvent::CompactionStarted(CompactionReason::Threshold))
                }
                status => {
                    let summary = compaction.summary.into_option().unwrap_or_default();
                    let summary: String = summary.iter().map(content_text).collect();
                    let result = (status == AcpCompactionStatus::Completed).then(|| RemoteCompaction {
                        result: CompactionResult::new(summary, "", self.context_tokens),
                        kept_messages: 0,
                    });
                    events.push(RemoteEvent::CompactionEnded {
                        result,
                        aborted: status == AcpCompactionStatus::Cancelled,
                        will_retry: false,
                        error: compaction.error.into_option(),
                    });
                }
            },
            _ => {}
        }
        events
    }

    /// Converts the tool call of a permission request to remote events. They contain the start of the call, so that a
    /// client shows the call before the question.
    pub fn translate_permission(&mut self, call: &AcpPermissionCall) -> Vec<RemoteEvent> {
        let mut events = Vec::new();
        if self.calls.get(&call.tool_call_id).is_some_and(|known| known.ended) {
            self.calls.remove(&call.tool_call_id);
        }
        self.push_call(update_of_permission(call), true, &mut events);
        events
    }

    /// Returns all known data of the call of a permission request. A call that has ended is another one, even if it has
    /// the same id.
    pub fn permission_details(&self, call: &AcpPermissionCall) -> CallDetails {
        let known = self.calls.get(&call.tool_call_id).filter(|known| !known.ended);
        let mut details = known.map(|known| known.details.clone()).unwrap_or_default();
        details.merge(&update_of_permission(call));
        details
    }

    /// Ends the turn. The returned flag is `true` if the turn was aborted.
    pub fn end_turn(&mut self, ended: Result<AcpPromptEnd, RemoteSessionError>) -> (Vec<RemoteEvent>, bool) {
        let mut events = Vec::new();
        let tokens = ended.as_ref().ok().and_then(|ended| ended.usage.as_option()).map(tokens);
        let (stop, error) = match ended {
            Ok(ended) => match ended.stop_reason {
                AcpStopReason::Cancelled => (StopReason::Aborted, Some(ABORTED.to_owned())),
                AcpStopReason::MaxTokens => (StopReason::Length, None),
                AcpStopReason::Refusal => (StopReason::Error, Some(REFUSED.to_owned())),
                _ => (StopReason::Stop, None),
            },
            Err(trouble) => (StopReason::Error, Some(trouble)),
        };
        let aborted = stop == StopReason::Aborted;
        // A turn without any update gets an empty answer, because a client's turn ends with an answer.
        if self.answer.is_some() || error.is_some() || self.is_unanswered {
            self.end_answer(stop, error, tokens.unwrap_or_default(), &mut events);
        }
        (events, aborted)
    }

    fn push_text(&mut self, text: String, thinks: bool, events: &mut Vec<RemoteEvent>) {
        if text.is_empty() {
            return;
        }
        if self.answer.as_ref().is_some_and(|(parts, _)| matches!(parts.last(), Some(Part::Call(_)))) {
            self.end_answer(StopReason::ToolUse, None, Usage::default(), events);
        }
        let (parts, open) = current_answer(&mut self.answer, events);
        match parts.last_mut() {
            Some(Part::Text(all)) if !thinks && *open => all.push_str(&text),
            Some(Part::Thinking(all)) if thinks && *open => all.push_str(&text),
            _ => {
                close_part(parts, open, events);
                *open = true;
                let (event, part) = match thinks {
                    true => (StreamEvent::ThinkingStart, Part::Thinking(text.clone())),
                    false => (StreamEvent::TextStart, Part::Text(text.clone())),
                };
                events.push(RemoteEvent::AnswerUpdated(event));
                parts.push(part);
            }
        }
        events.push(RemoteEvent::AnswerUpdated(match thinks {
            true => StreamEvent::ThinkingDelta(text),
            false => StreamEvent::TextDelta(text),
        }));
    }

    /// Adds an update of a call. `is_permission` is `true` for the call of a permission request, which starts it.
    fn push_call(&mut self, update: AcpToolCallUpdate, is_permission: bool, events: &mut Vec<RemoteEvent>) {
        let id = update.tool_call_id.clone();
        if !self.calls.contains_key(&id) {
            // A call that starts while other calls run belongs to their answer, which is complete. A call that only a
            // permission request announced may never end.
            let runs =
                self.calls.values().any(|call| call.announced && call.started.is_some() && !call.ended);
            if !runs || self.answer.is_some() {
                let (parts, open) = current_answer(&mut self.answer, events);
                close_part(parts, open, events);
                parts.push(Part::Call(id.clone()));
            }
        }
        let call = self.calls.entry(id.clone()).or_default();
        call.announced |= !is_permission;
        if call.ended {
            return;
        }
        let has_more = call.details.merge(&update);
        let mut shows = has_more || update.content.as_option().is_some();
        let status = update.status.into_option();
        let over = matches!(status, Some(AcpToolStatus::Completed | AcpToolStatus::Failed));
        match &call.started {
            Some(arguments) => shows |= call.details.arguments() != *arguments,
            None if over || is_permission || has_more || status == Some(AcpToolStatus::InProgress) => {
                let arguments = call.details.arguments();
                call.started = Some(arguments.clone());
                shows |= !call.details.content().is_empty();
                let began = ToolCall::new(id.as_str(), call.details.tool_name(), arguments);
                if self.answer.is_some() {
                    self.end_answer(StopReason::ToolUse, None, Usage::default(), events);
                }
                events.push(RemoteEvent::ToolStarted(began));
            }
            None => {}
        }
        let Some(call) = self.calls.get_mut(&id) else { return };
        if over {
            call.ended = true;
            let failed = status == Some(AcpToolStatus::Failed);
            events.push(RemoteEvent::ToolEnded(id, call.result(failed)));
        } else if call.started.is_some() && shows {
            let update = ToolUpdate { content: running_output(&call.details), details: Some(call.report()) };
            events.push(RemoteEvent::ToolUpdated(id, update));
        }
    }

    /// Completes the growing answer. `tokens` is the number of tokens of the turn, for its last answer.
    fn end_answer(
        &mut self,
        stop: StopReason,
        error: Option<String>,
        tokens: Usage,
        events: &mut Vec<RemoteEvent>,
    ) {
        self.is_unanswered = false;
        let mut parts = Vec::new();
        if let Some((all, mut open)) = self.answer.take() {
            close_part(&all, &mut open, events);
            parts = all;
        }
        let mut blocks: Vec<AssistantBlock> = Vec::new();
        for part in parts {
            blocks.push(match part {
                Part::Text(text) => TextContent::new(text).into(),
                Part::Thinking(text) => ThinkingContent::new(text).into(),
                Part::Call(id) => {
                    let call = self.calls.entry(id.clone()).or_default();
                    let (name, input) = (call.details.tool_name(), call.details.arguments());
                    events.extend([
                        RemoteEvent::AnswerUpdated(StreamEvent::ToolCallStart {
                            id: id.clone(),
                            name: name.clone(),
                        }),
                        RemoteEvent::AnswerUpdated(StreamEvent::ToolCallDelta(
                            Value::Object(input.clone()).to_string(),
                        )),
                        RemoteEvent::AnswerUpdated(StreamEvent::ToolCallEnd),
                    ]);
                    ToolCall::new(id, name, input).into()
                }
            });
        }
        let calls = blocks.iter().any(|block| matches!(block, AssistantBlock::ToolCall(_)));
        let mut answer: AssistantMessage = convert::answer(&Message::default());
        answer.timestamp = SystemClock.now_ms();
        answer.content = blocks;
        answer.stop_reason = if calls && stop == StopReason::Stop { StopReason::ToolUse } else { stop };
        answer.error_message = error;
        answer.usage = tokens;
        // The total of an answer is the size of the context.
        if self.context_tokens > 0 || answer.usage.total_tokens.is_none() {
            answer.usage.total_tokens = Some(self.context_tokens);
        }
        answer.usage.cost.total = number((self.cost - self.reported_cost).max(0.0));
        self.reported_cost = self.cost;
        events.push(RemoteEvent::AnswerEnded(Box::new(answer)));
    }
}

impl CallState {
    /// Returns the data of the call that has no place in its arguments and its output: changes of files, and arguments
    /// that arrived after the start.
    fn report(&self) -> Value {
        let mut report = Map::new();
        let changes = self.details.changes();
        if !changes.is_empty() {
            report.insert("changes".to_owned(), changes.into());
        }
        let arguments = self.details.arguments();
        if self.started.as_ref().is_some_and(|started| *started != arguments) {
            report.insert("arguments".to_owned(), arguments.into());
        }
        report.into()
    }

    fn result(&self, failed: bool) -> ToolOutput {
        let mut output = ToolOutput::text(String::new());
        output.content = result_output(&self.details, failed);
        output.is_error = failed;
        output.details = Some(self.report());
        output
    }
}

/// Converts the tokens of a turn to those of a message, whose input excludes cached tokens and whose output includes
/// reasoning. Agents differ in both; the total shows which parts are counted apart. Without a total, both are.
pub(super) fn tokens(usage: &AcpTokenUsage) -> Usage {
    let count = |count: &Maybe<u64>| count.as_option().copied().unwrap_or_default();
    let (input, output) = (count(&usage.input_tokens), count(&usage.output_tokens));
    let (read, written) = (count(&usage.cached_read_tokens), count(&usage.cached_write_tokens));
    let (cached, thought) = (read.saturating_add(written), count(&usage.thought_tokens));
    let all = cached.saturating_add(thought);
    let sum = input.saturating_add(output);
    let total = usage.total_tokens.as_option().copied().unwrap_or_else(|| sum.saturating_add(all));
    let apart = total.saturating_sub(sum);
    let is_thought_apart = apart == all || (apart == thought && apart != cached);
    let is_cache_apart = if apart == thought && apart != all { apart == cached } else { apart >= cached };
    let mut tokens = Usage::default();
    tokens.input = if is_cache_apart { input } else { input.saturating_sub(cached) };
    tokens.output = output.saturating_add(if is_thought_apart { thought } else { 0 });
    (tokens.cache_read, tokens.cache_write) = (read, written);
    tokens.total_tokens = Some(total);
    tokens
}

/// Returns the growing answer. If no answer is growing, starts one and adds its start to `events`.
fn current_answer<'a>(
    answer: &'a mut Option<(Vec<Part>, bool)>,
    events: &mut Vec<RemoteEvent>,
) -> (&'a mut Vec<Part>, &'a mut bool) {
    if answer.is_none() {
        events.push(RemoteEvent::AnswerUpdated(StreamEvent::Start));
    }
    let (parts, open) = answer.get_or_insert_default();
    (parts, open)
}

/// Closes the last part of an answer if it is open. Tool calls are not closed here: they are reported with the complete
/// answer, because their arguments may arrive late.
fn close_part(parts: &[Part], open: &mut bool, events: &mut Vec<RemoteEvent>) {
    if std::mem::take(open) {
        events.extend(match parts.last() {
            Some(Part::Text(_)) => Some(RemoteEvent::AnswerUpdated(StreamEvent::TextEnd)),
            Some(Part::Thinking(_)) => {
                Some(RemoteEvent::AnswerUpdated(StreamEvent::ThinkingEnd { signature: None }))
            }
            _ => None,
        });
    }
}

#[cfg(test)]
mod tests;
