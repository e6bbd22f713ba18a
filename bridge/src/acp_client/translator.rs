//! Conversion of the updates of a turn to remote events for the engine, without I/O.
//!
//! ACP has pieces of text and tool calls, but no messages. So an answer ends when one of its calls starts,
//! and at the end of the turn.

use std::collections::BTreeMap;

use agentese::acp::{
    AcpCompactionStatus, AcpContentBlock, AcpPermissionCall, AcpPromptEnd, AcpStopReason, AcpToolCall,
    AcpToolCallUpdate, AcpToolContent, AcpToolKind, AcpToolStatus, AcpUpdate,
};
use agentese::types::{
    AssistantBlock, AssistantMessage, CompactionReason, CompactionResult, StopReason, TextContent,
    ThinkingContent, ToolCall,
};
use agentese::view::Message;
use agentese_server_base::runtime::{Clock as _, SystemClock};
use agentese_server_dialects::conversation::RemoteSessionError;
use agentese_server_engine::engine::{RemoteCompaction, RemoteEvent};
use agentese_server_models::{StreamEvent, number};
use agentese_server_tools::{ToolContent, ToolOutput, ToolUpdate};
use serde_json::{Map, Value, json};

use super::super::convert::{self, ABORTED};

/// The error message of an answer that the model refused.
const REFUSED: &str = "The model refused to answer.";

/// A text, a thought or a tool call in an incomplete answer.
#[derive(Debug)]
enum Part {
    Text(String),
    Thinking(String),
    Call(String),
}

/// The data of a tool call that has arrived so far.
#[derive(Debug, Default)]
struct CallState {
    name: String,
    input: Map<String, Value>,
    started: bool,
    ended: bool,
    content: Vec<ToolContent>,
    /// Changes of files by the call.
    changes: Vec<Value>,
    output: Option<Value>,
}

/// Converts updates to remote events.
#[derive(Debug, Default)]
pub(super) struct UpdateTranslator {
    /// The parts of the growing answer. The flag is `true` if more text may follow in the last part.
    answer: Option<(Vec<Part>, bool)>,
    calls: BTreeMap<String, CallState>,
    /// Number of tokens in the context. Below it, in US dollars: the cost of the session so far, and the cost that was
    /// already reported with answers.
    context_tokens: u64,
    cost: f64,
    reported_cost: f64,
}

impl UpdateTranslator {
    /// Starts a turn.
    pub fn start_turn(&mut self) -> Vec<RemoteEvent> {
        self.calls.clear();
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
            AcpUpdate::ToolCall(call) => self.push_call(update_of(call), &mut events),
            AcpUpdate::ToolCallUpdate(update) => self.push_call(update, &mut events),
            AcpUpdate::UsageUpdate(usage) => {
                self.context_tokens = usage.used;
                if let Some(cost) = usage.cost.as_option() {
                    self.cost = cost.amount.as_f64().unwrap_or_default();
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

    /// Converts the tool call of a permission request to remote events.
    pub fn translate_permission(&mut self, call: &AcpPermissionCall) -> Vec<RemoteEvent> {
        let mut update = AcpToolCallUpdate::new(call.tool_call_id.as_str());
        update.title = call.title.clone();
        update.name = call.name.clone();
        update.kind = call.kind.clone();
        update.raw_input = call.raw_input.clone();
        let mut events = Vec::new();
        self.push_call(update, &mut events);
        events
    }

    /// Ends the turn. The returned flag is `true` if the turn was aborted.
    pub fn end_turn(&mut self, ended: Result<AcpPromptEnd, RemoteSessionError>) -> (Vec<RemoteEvent>, bool) {
        let mut events = Vec::new();
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
        if self.answer.is_some() || error.is_some() {
            self.end_answer(stop, error, &mut events);
        }
        (events, aborted)
    }

    fn push_text(&mut self, text: String, thinks: bool, events: &mut Vec<RemoteEvent>) {
        if text.is_empty() {
            return;
        }
        if self.answer.as_ref().is_some_and(|(parts, _)| matches!(parts.last(), Some(Part::Call(_)))) {
            self.end_answer(StopReason::ToolUse, None, events);
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

    fn push_call(&mut self, update: AcpToolCallUpdate, events: &mut Vec<RemoteEvent>) {
        let id = update.tool_call_id;
        if !self.calls.contains_key(&id) {
            // A call that starts while other calls run belongs to their answer, which is complete.
            let runs = self.calls.values().any(|call| call.started && !call.ended);
            if !runs || self.answer.is_some() {
                let (parts, open) = current_answer(&mut self.answer, events);
                close_part(parts, open, events);
                parts.push(Part::Call(id.clone()));
            }
        }
        let call = self.calls.entry(id.clone()).or_default();
        if call.ended {
            return;
        }
        let named = update.name.into_option();
        let kind = || update.kind.into_option().map(|kind: AcpToolKind| kind.as_str().to_owned());
        if let Some(name) = named.or_else(|| call.name.is_empty().then(kind).flatten()) {
            call.name = name;
        }
        if let Some(Value::Object(input)) = update.raw_input.into_option() {
            call.input = input;
        }
        if let (true, Some(title)) = (call.input.is_empty(), update.title.into_option()) {
            // The title is the only information about the call.
            call.input.insert("title".to_owned(), title.into());
        }
        let shows = update.content.as_option().is_some();
        if let Some(content) = update.content.into_option() {
            (call.content, call.changes) = contents(&content);
        }
        call.output = update.raw_output.into_option().or(call.output.take());
        let status = update.status.into_option();
        let over = matches!(status, Some(AcpToolStatus::Completed | AcpToolStatus::Failed));
        if (over || status == Some(AcpToolStatus::InProgress)) && !call.started {
            call.started = true;
            let began = ToolCall::new(id.as_str(), call.name.as_str(), call.input.clone());
            if self.answer.is_some() {
                self.end_answer(StopReason::ToolUse, None, events);
            }
            events.push(RemoteEvent::ToolStarted(began));
        }
        let Some(call) = self.calls.get_mut(&id) else { return };
        if over {
            call.ended = true;
            let failed = status == Some(AcpToolStatus::Failed);
            events.push(RemoteEvent::ToolEnded(id, call.result(failed)));
        } else if call.started && shows {
            let update = ToolUpdate { content: call.content.clone(), details: Some(call.details()) };
            events.push(RemoteEvent::ToolUpdated(id, update));
        }
    }

    /// Completes the growing answer.
    fn end_answer(&mut self, stop: StopReason, error: Option<String>, events: &mut Vec<RemoteEvent>) {
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
                    let (name, input) = (call.name.clone(), call.input.clone());
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
        answer.usage.total_tokens = (self.context_tokens > 0).then_some(self.context_tokens);
        answer.usage.cost.total = number((self.cost - self.reported_cost).max(0.0));
        self.reported_cost = self.cost;
        events.push(RemoteEvent::AnswerEnded(Box::new(answer)));
    }
}

impl CallState {
    fn details(&self) -> Value {
        match self.changes.is_empty() {
            true => json!({}),
            false => json!({"changes": self.changes}),
        }
    }

    fn result(&self, failed: bool) -> ToolOutput {
        let mut output = ToolOutput::text(String::new());
        output.content.clone_from(&self.content);
        if output.content.is_empty() {
            let text = match &self.output {
                Some(Value::String(text)) => text.clone(),
                Some(value) if !value.is_null() => value.to_string(),
                _ => self
                    .changes
                    .iter()
                    .filter_map(|change| change["path"].as_str())
                    .collect::<Vec<_>>()
                    .join("\n"),
            };
            output.content = vec![ToolContent::Text(text)];
        }
        output.is_error = failed;
        output.details = Some(self.details());
        output
    }
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

/// Converts a call to an update of that call.
fn update_of(call: AcpToolCall) -> AcpToolCallUpdate {
    let mut update = AcpToolCallUpdate::new(call.tool_call_id);
    update.title = call.title.into();
    update.name = call.name;
    update.kind = call.kind;
    update.status = call.status;
    update.content = call.content;
    update.locations = call.locations;
    update.raw_input = call.raw_input;
    update.raw_output = call.raw_output;
    update
}

/// Returns content as text.
pub(super) fn content_text(content: &AcpContentBlock) -> String {
    match content {
        AcpContentBlock::Text(text) => text.text.clone(),
        AcpContentBlock::ResourceLink(link) => format!("[{}]({})", link.name, link.uri),
        AcpContentBlock::Image(_) => "(an image)".to_owned(),
        AcpContentBlock::Audio(_) => "(a recording)".to_owned(),
        _ => String::new(),
    }
}

/// Returns the content of a call, and its file changes.
fn contents(content: &[AcpToolContent]) -> (Vec<ToolContent>, Vec<Value>) {
    let (mut all, mut changes) = (Vec::new(), Vec::new());
    for item in content {
        match item {
            AcpToolContent::Content(content) => all.push(match &content.content {
                AcpContentBlock::Image(image) => {
                    ToolContent::Image { data: image.data.clone(), mime_type: image.mime_type.clone() }
                }
                other => ToolContent::Text(content_text(other)),
            }),
            AcpToolContent::Diff(diff) => changes.push(
                json!({"path": diff.path, "oldText": diff.old_text.as_option(), "newText": diff.new_text}),
            ),
            _ => {}
        }
    }
    (all, changes)
}

#[cfg(test)]
mod tests;
