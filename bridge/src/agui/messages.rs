//! The conversation as AG-UI messages, without I/O.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use agentese::types::{
    AguiAssistantMessage, AguiCall, AguiContent, AguiData, AguiFunction, AguiImagePart, AguiMessage,
    AguiMessagesSnapshot, AguiPart, AguiReasoningMessage, AguiSystemMessage, AguiTextPart, AguiTokenUsage,
    AguiToolMessage, AguiUserMessage,
};
use agentese::view::{Block, Message, Role, ToolBlock, ToolState};
use serde_json::Value;

/// The ids of messages, from the agent and from the client.
pub(super) struct MessageIds {
    /// The prefix of the ids that this program gives to messages. Each agent process has its own prefix, so that ids of
    /// a replaced agent do not occur again.
    prefix: String,
    /// The client's ids of user messages, by the message keys of the agent's conversation.
    pub client_ids: HashMap<String, String>,
    /// All ids that were sent or received.
    pub known: HashSet<String>,
}

impl MessageIds {
    pub fn new(prefix: String) -> Self {
        Self { prefix, client_ids: HashMap::new(), known: HashSet::new() }
    }

    /// Returns the id of a message: the client's id if it has one, else the prefix and the key.
    pub fn message(&mut self, key: &str) -> String {
        let name = self.client_ids.get(key).cloned().unwrap_or_else(|| format!("{}-{key}", self.prefix));
        self.remember(name)
    }

    /// Returns the id for a thought, which AG-UI treats as a message of its own. `block` is its index in the message.
    pub fn thought(&mut self, key: &str, block: usize) -> String {
        self.remember(format!("{}-{key}-thought-{block}", self.prefix))
    }

    /// Returns the id of the message that contains the result of a tool call.
    pub fn result(&mut self, call: &str) -> String {
        self.remember(format!("{}-result-{call}", self.prefix))
    }

    fn remember(&mut self, name: String) -> String {
        if !self.known.contains(&name) {
            self.known.insert(name.clone());
        }
        name
    }
}

/// Returns the conversation as a snapshot. Hidden messages and messages that the model no longer sees are left out.
pub(super) fn snapshot(ids: &mut MessageIds, conversation: &[Arc<Message>]) -> AguiMessagesSnapshot {
    let shown = |message: &&Arc<Message>| !message.is_gone() && message.hidden != Some(true);
    let mut messages = Vec::new();
    let mut called = HashSet::new();
    for message in conversation.iter().filter(shown) {
        let id = ids.message(&message.key);
        match message.role {
            Role::User => messages.push(AguiUserMessage::new(id, content(&message.blocks)).into()),
            Role::Assistant => push_answer(ids, message, id, &mut called, &mut messages),
            // The block of the call contains the result, too.
            Role::Tool => {
                let call = message.call_id.as_deref().filter(|call| !called.contains(*call));
                messages.extend(call.map(|call| {
                    AguiToolMessage::new(ids.result(call), call, content(&message.blocks)).into()
                }));
            }
            _ if message.text().is_empty() => {}
            _ => messages.push(AguiSystemMessage::new(id, message.text()).into()),
        }
    }
    AguiMessagesSnapshot::new(messages)
}

/// Converts an answer of the model to messages: its thoughts, texts, tool calls and their results.
fn push_answer(
    ids: &mut MessageIds,
    message: &Message,
    id: String,
    called: &mut HashSet<String>,
    messages: &mut Vec<AguiMessage>,
) {
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for (place, block) in message.blocks.iter().enumerate() {
        match block {
            Block::Thinking { text, .. } if !text.is_empty() => {
                messages.push(AguiReasoningMessage::new(ids.thought(&message.key, place), text).into());
            }
            Block::Tool(tool) if !tool.call_id.is_empty() => {
                called.insert(tool.call_id.clone());
                calls.push(call(tool));
                results.extend(result(ids, tool).map(AguiMessage::from));
            }
            _ => {}
        }
    }
    let mut answer = AguiAssistantMessage::new(id);
    answer.content = Some(message.text()).filter(|text| !text.is_empty());
    answer.tool_calls = (!calls.is_empty()).then_some(calls);
    if answer.content.is_some() || answer.tool_calls.is_some() {
        messages.push(answer.into());
    }
    messages.append(&mut results);
}

fn call(tool: &ToolBlock) -> AguiCall {
    let arguments = tool.arguments.as_ref().map(Value::to_string).or_else(|| tool.arguments_text.clone());
    AguiCall::new(&tool.call_id, AguiFunction::new(&tool.name, arguments.unwrap_or_else(|| "{}".to_owned())))
}

/// Returns the result of a tool call as a message. Returns `None` if the call has no result yet.
fn result(ids: &mut MessageIds, tool: &ToolBlock) -> Option<AguiToolMessage> {
    if matches!(tool.state, ToolState::Coming | ToolState::Running) {
        return None;
    }
    let output = content(tool.result.as_deref().unwrap_or_default());
    let mut result = AguiToolMessage::new(ids.result(&tool.call_id), &tool.call_id, output);
    if tool.state != ToolState::Done {
        let text = text(tool.result.as_deref().unwrap_or_default());
        result.error = Some(if text.is_empty() { "the tool did not run".to_owned() } else { text });
    }
    Some(result)
}

/// Converts blocks to AG-UI content: a single text, or a list of parts if there are images.
pub(super) fn content(blocks: &[Block]) -> AguiContent {
    if !blocks.iter().any(|block| matches!(block, Block::Image { .. })) {
        return AguiContent::Text(text(blocks));
    }
    let part = |block: &Block| -> Option<AguiPart> {
        match block {
            Block::Image { mime_type, data } => {
                Some(AguiImagePart::new(AguiData::new(data, mime_type)).into())
            }
            block => block_text(block).map(|text| AguiTextPart::new(text).into()),
        }
    };
    AguiContent::Parts(blocks.iter().filter_map(part).collect())
}

fn text(blocks: &[Block]) -> String {
    blocks.iter().filter_map(block_text).collect::<Vec<_>>().join("\n")
}

/// Returns the text of a block. Returns `None` if the block has no text to display.
fn block_text(block: &Block) -> Option<String> {
    match block {
        Block::Text { text } => Some(text.clone()),
        Block::Data { value } => Some(value.to_string()),
        _ => None,
    }
}

/// Returns the text of an agent's error.
pub(super) fn error_text(error: &Value) -> String {
    error.as_str().map_or_else(|| error.to_string(), str::to_owned)
}

/// Returns the token usage of an answer as AG-UI counts it: input tokens include cached tokens.
pub(super) fn usage(message: &Message) -> Option<AguiTokenUsage> {
    let usage = message.usage.as_ref()?;
    let (read, written) = (usage.cache_read, usage.cache_write);
    let input = usage.input.map(|input| input + read.unwrap_or_default() + written.unwrap_or_default());
    let mut tokens = AguiTokenUsage::new();
    tokens.provider.clone_from(&message.provider);
    tokens.model.clone_from(&message.model);
    tokens.input_tokens = input;
    tokens.output_tokens = usage.output;
    tokens.total_tokens = input.zip(usage.output).map(|(input, output)| input + output);
    tokens.cached_input_tokens = read;
    tokens.cache_write_input_tokens = written;
    // An agent that counts no tokens has zeros in dialects that require numbers.
    (input.unwrap_or_default() + usage.output.unwrap_or_default() > 0).then_some(tokens)
}
