//! The messages of a loaded session, as updates for the client.

use std::collections::BTreeMap;
use std::path::Path;

use agentese::acp::{
    AcpAgentMessageChunk, AcpAgentThoughtChunk, AcpCallContent, AcpText, AcpToolCall, AcpToolStatus,
    AcpUpdate, AcpUserMessageChunk,
};
use agentese::types::{AgentMessage, AssistantBlock, InputBlock, InputContent, ToolCall, ToolResultMessage};
use serde_json::Value;

use super::{event_translator, tool_calls};
use crate::session::EntryMessage;
use crate::tools::TodoTool;

/// Converts a conversation in order. A call includes its result, if there is one.
pub(super) fn history_updates(cwd: &Path, conversation: &[EntryMessage]) -> Vec<AcpUpdate> {
    let results: BTreeMap<&str, &ToolResultMessage> = conversation
        .iter()
        .filter_map(|entry_message| match &*entry_message.message {
            AgentMessage::ToolResult(result) => Some((result.tool_call_id.as_str(), result)),
            _ => None,
        })
        .collect();
    let mut updates = Vec::new();
    for entry_message in conversation {
        let id = entry_message.entry.to_string();
        match &*entry_message.message {
            AgentMessage::User(user) => push_user_message(&user.content, &id, &mut updates),
            AgentMessage::Assistant(answer) => {
                for block in &answer.content {
                    updates.extend(answer_update(cwd, block, &id, &results));
                }
            }
            AgentMessage::CompactionSummary(summary) => updates.push(thought_update(&summary.summary, &id)),
            AgentMessage::BranchSummary(summary) => updates.push(thought_update(&summary.summary, &id)),
            _ => {}
        }
    }
    let newest = conversation.iter().rev().find_map(|entry_message| match &*entry_message.message {
        AgentMessage::ToolResult(result) if result.tool_name == TodoTool::NAME && !result.is_error => {
            Some(result)
        }
        _ => None,
    });
    updates.extend(newest.map(|result| event_translator::plan(result.details.as_option()).into()));
    updates
}

fn push_user_message(content: &InputContent, id: &str, updates: &mut Vec<AcpUpdate>) {
    let blocks = match content {
        InputContent::Text(text) => vec![AcpText::new(text.as_str()).into()],
        InputContent::Blocks(blocks) => blocks.iter().filter_map(tool_calls::block).collect(),
    };
    for block in blocks {
        let mut chunk = AcpUserMessageChunk::new(block);
        chunk.message_id = id.to_owned().into();
        updates.push(chunk.into());
    }
}

fn thought_update(text: &str, id: &str) -> AcpUpdate {
    let mut chunk = AcpAgentThoughtChunk::new(AcpText::new(text));
    chunk.message_id = id.to_owned().into();
    chunk.into()
}

fn answer_update(
    cwd: &Path,
    block: &AssistantBlock,
    id: &str,
    results: &BTreeMap<&str, &ToolResultMessage>,
) -> Option<AcpUpdate> {
    match block {
        AssistantBlock::Text(text) if !text.text.is_empty() => {
            let mut chunk = AcpAgentMessageChunk::new(AcpText::new(text.text.as_str()));
            chunk.message_id = id.to_owned().into();
            Some(chunk.into())
        }
        AssistantBlock::Thinking(thinking) if !thinking.thinking.is_empty() => {
            Some(thought_update(&thinking.thinking, id))
        }
        AssistantBlock::ToolCall(call) => {
            Some(tool_call_update(cwd, call, results.get(call.id.as_str()).copied()))
        }
        _ => None,
    }
}

fn tool_call_update(cwd: &Path, call: &ToolCall, result: Option<&ToolResultMessage>) -> AcpUpdate {
    let mut tool_call = AcpToolCall::new(call.id.as_str(), tool_calls::title(call));
    tool_call.name = call.name.clone().into();
    tool_call.kind = tool_calls::kind(&call.name).into();
    tool_call.raw_input = Value::from(call.arguments.clone()).into();
    tool_call.locations = event_translator::non_empty(tool_calls::locations(cwd, call));
    let is_error = result.is_none_or(|result| result.is_error);
    let mut content: Vec<_> = tool_calls::diffs(cwd, call, None).into_iter().filter(|_| !is_error).collect();
    // A call without a result was never executed.
    tool_call.status =
        result.map_or(AcpToolStatus::Failed, |result| event_translator::status(result.is_error)).into();
    if let Some(result) = result {
        content.extend(
            result
                .content
                .iter()
                .filter_map(tool_calls::block)
                .map(|block| AcpCallContent::new(block).into()),
        );
        let texts = result.content.iter().filter_map(|block| match block {
            InputBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        tool_call.raw_output = event_translator::raw_output(&text, result.details.as_option()).into();
    }
    tool_call.content = event_translator::non_empty(content);
    tool_call.into()
}
