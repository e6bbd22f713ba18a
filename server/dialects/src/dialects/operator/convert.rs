//! Messages in the form of Operator: a list of contents, times in seconds, and the id of the entry as the id
//! of the message.

use std::collections::BTreeMap;

use agentese::operator::{
    OperatorContent, OperatorMessage, OperatorRole, OperatorText, OperatorThinking, OperatorToolCall,
    OperatorToolResult, OperatorUsage,
};
use agentese::types::{
    AgentMessage, AssistantBlock, AssistantMessage, InputBlock, InputContent, StopReason, ToolCall,
    ToolResultMessage, Usage,
};
use serde_json::Number;

use crate::engine::content_blocks;
use crate::providers::Update;
use crate::session::EntryId;
use crate::tools::ToolOutput;

/// Converts a complete message.
pub(super) fn message(entry: &EntryId, message: &AgentMessage) -> OperatorMessage {
    match message {
        AgentMessage::Assistant(answer) => complete_answer(entry, answer),
        AgentMessage::ToolResult(result) => {
            operator_message(entry, vec![tool_result(result).into()], OperatorRole::Tool, result.timestamp)
        }
        AgentMessage::User(user) => {
            operator_message(entry, vec![text(input_text(&user.content))], OperatorRole::User, user.timestamp)
        }
        AgentMessage::Custom(custom) => operator_message(
            entry,
            vec![text(input_text(&custom.content))],
            OperatorRole::User,
            custom.timestamp,
        ),
        // A run emits no other messages.
        _ => OperatorMessage::new(Vec::new(), OperatorRole::User),
    }
}

/// Converts an answer at its start, without contents.
pub(super) fn started_answer(entry: &EntryId, answer: &AssistantMessage) -> OperatorMessage {
    operator_message(entry, Vec::new(), OperatorRole::Assistant, answer.timestamp)
}

/// Converts the text that an update adds to an answer. Returns `None` if the update adds no text.
pub(super) fn piece(entry: &EntryId, answer: &AssistantMessage, update: &Update) -> Option<OperatorMessage> {
    let content = match update {
        Update::TextDelta { delta, .. } => text(delta.clone()),
        Update::ThinkingDelta { delta, .. } => OperatorThinking::new(delta.clone()).into(),
        _ => return None,
    };
    Some(operator_message(entry, vec![content], OperatorRole::Assistant, answer.timestamp))
}

/// Converts a tool call.
pub(super) fn tool_call(call: &ToolCall) -> OperatorToolCall {
    OperatorToolCall::new(call.id.clone(), call.name.clone(), call.arguments.clone())
}

/// Converts the output of a tool call that has just ended.
pub(super) fn tool_output(call: &ToolCall, output: &ToolOutput) -> OperatorToolResult {
    OperatorToolResult::new(call.id.clone(), join_blocks(&content_blocks(&output.content)), output.is_error)
}

/// Converts a tool result that is stored in the session.
pub(super) fn tool_result(result: &ToolResultMessage) -> OperatorToolResult {
    OperatorToolResult::new(result.tool_call_id.clone(), join_blocks(&result.content), result.is_error)
}

fn complete_answer(entry: &EntryId, answer: &AssistantMessage) -> OperatorMessage {
    let contents = answer.content.iter().filter_map(content).collect();
    let mut message = operator_message(entry, contents, OperatorRole::Assistant, answer.timestamp);
    message.usage = Some(usage(&answer.usage)).into();
    message.stop_reason = Some(stop_reason(answer.stop_reason).to_owned()).into();
    // An abort is not an error: the stop reason states it.
    let error = answer.error_message.clone().filter(|_| answer.stop_reason != StopReason::Aborted);
    message.error = error.map(serde_json::Value::from).into();
    message
}

fn content(block: &AssistantBlock) -> Option<OperatorContent> {
    Some(match block {
        AssistantBlock::Text(block) => text(block.text.clone()),
        AssistantBlock::Thinking(block) => {
            let mut thinking = OperatorThinking::new(block.thinking.clone());
            thinking.signature = block.thinking_signature.clone().into();
            thinking.into()
        }
        AssistantBlock::ToolCall(call) => tool_call(call).into(),
        _ => return None,
    })
}

fn operator_message(
    entry: &EntryId,
    contents: Vec<OperatorContent>,
    role: OperatorRole,
    milliseconds: i64,
) -> OperatorMessage {
    let mut message = OperatorMessage::new(contents, role);
    message.id = Some(entry.to_string());
    message.timestamp = Number::from_f64(milliseconds as f64 / 1000.0);
    message
}

fn text(text: String) -> OperatorContent {
    OperatorText::new(text).into()
}

fn input_text(content: &InputContent) -> String {
    match content {
        InputContent::Text(text) => text.clone(),
        InputContent::Blocks(blocks) => join_blocks(blocks),
    }
}

/// Joins the texts of blocks. An image becomes a placeholder, because contents of the dialect cannot hold images.
fn join_blocks(blocks: &[InputBlock]) -> String {
    let lines = blocks.iter().map(|block| match block {
        InputBlock::Text(block) => block.text.clone(),
        InputBlock::Image(image) => format!("[image: {}]", image.mime_type),
        _ => String::new(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn usage(usage: &Usage) -> OperatorUsage {
    let mut operator_usage = OperatorUsage::new();
    operator_usage.input_tokens = Some(usage.input);
    operator_usage.output_tokens = Some(usage.output);
    operator_usage.cache_read_tokens = Some(usage.cache_read);
    operator_usage.cache_write_tokens = Some(usage.cache_write);
    let cost = &usage.cost;
    let kinds = [
        ("input", &cost.input),
        ("output", &cost.output),
        ("cache_read", &cost.cache_read),
        ("cache_write", &cost.cache_write),
        ("total", &cost.total),
    ];
    let cost: BTreeMap<_, _> =
        kinds.into_iter().map(|(kind, dollars)| (kind.to_owned(), dollars.clone())).collect();
    operator_usage.cost = Some(cost).into();
    operator_usage
}

fn stop_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Stop => "stop",
        StopReason::Length => "length",
        StopReason::ToolUse => "tool_calls",
        StopReason::Error => "error",
        StopReason::Aborted => "abort",
        // A complete answer never has these reasons.
        StopReason::Pending | StopReason::Deferred => "stop",
    }
}
