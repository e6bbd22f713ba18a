//! Messages of a conversation, and their blocks.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::conversation::Conversation;
use super::record::record;

/// Author of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The result of a call, which the block of the call contains too.
    Tool,
    /// The agent itself, to the model.
    System,
    /// A summary of earlier messages.
    Summary,
    /// A shell command of the client.
    Shell,
    /// Anything else, such as a message of an extension.
    #[default]
    #[serde(other)]
    Note,
}

/// State of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum MessageState {
    /// The message is incomplete.
    Growing,
    /// The message is complete.
    #[default]
    Done,
    /// The message ended with an error.
    Failed,
    /// The message was aborted.
    Aborted,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Block {
    /// Text.
    Text {
        /// The text.
        #[serde(default)]
        text: String,
    },
    /// Reasoning.
    Thinking {
        /// The reasoning.
        #[serde(default)]
        text: String,
        /// True if the reasoning is unreadable.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        redacted: Option<bool>,
        /// Opaque data for the provider, to be returned with the message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// An image.
    Image {
        /// The MIME type.
        #[serde(default, rename = "mimeType")]
        mime_type: String,
        /// The bytes in base64.
        #[serde(default)]
        data: String,
    },
    /// Data without a block type of its own.
    Data {
        /// The data as the agent sent it.
        #[serde(default)]
        value: Value,
    },
    /// A tool call.
    Tool(Box<ToolBlock>),
}

/// State of a tool call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ToolState {
    /// The model is writing the call, or the tool has not started.
    #[default]
    Coming,
    /// The tool is running.
    Running,
    /// The tool ended successfully.
    Done,
    /// The tool failed.
    Failed,
    /// The run ended before the tool started.
    Skipped,
}

impl ToolState {
    /// Returns true for a final state.
    pub(crate) fn is_over(self) -> bool {
        !matches!(self, ToolState::Coming | ToolState::Running)
    }
}

record! {
    /// A tool call of the model, with the output and the result of the tool.
    #[derive(Default)]
    ToolBlock {
        /// The call's id.
        call_id: String,
        /// The tool's name.
        name: String,
        /// State of the call.
        state: ToolState,
    } {
        /// The arguments: complete, or as far as the agent could parse them.
        arguments: Value,
        /// The incomplete JSON text of the arguments, if the agent only sends pieces.
        arguments_text: String,
        /// Output of the tool so far.
        output: Vec<Block>,
        /// Result of the tool.
        result: Vec<Block>,
        /// Structured details for a front end, in a form of the tool's own.
        details: Value,
        /// Running time in milliseconds.
        duration_ms: f64,
        /// A one-line description for users.
        label: String,
        /// Opaque data for the provider, to be returned with the call.
        signature: String,
        /// Conversation of the subagent that the tool started.
        child: Box<Conversation>,
    }
}

record! {
    /// A message of the conversation.
    #[derive(Default)]
    Message {
        /// A stable key, for rendering.
        key: String,
        /// Author of the message.
        role: Role,
        /// State of the message.
        state: MessageState,
        /// Parts of the message.
        blocks: Vec<Block>,
    } {
        /// The agent's own id, if present.
        id: String,
        /// The dialect's own name of the kind, if `role` is less precise.
        kind: String,
        /// The model's id.
        model: String,
        /// The model's provider.
        provider: String,
        /// The wire format of the model's API, as named by the agent.
        api: String,
        /// Tokens and cost.
        usage: Usage,
        /// Stop reason of the model, as named by the dialect.
        stop_reason: String,
        /// The error message.
        error: Value,
        /// Time reported by the agent, in milliseconds since the epoch.
        time: f64,
        /// With the role `tool`: the id of the call.
        call_id: String,
        /// With the role `tool`: the tool's name.
        name: String,
        /// With the role `shell`: the command line; `blocks` contains its output.
        command: String,
        /// With the role `shell`: the exit code.
        exit_code: i64,
        /// With the role `shell`: true if the command was aborted.
        cancelled: bool,
        /// With the role `shell`: true if the output was truncated.
        truncated: bool,
        /// With the role `summary`: number of tokens in the context before the compaction.
        tokens_before: u64,
        /// Structured details for a front end.
        details: Value,
        /// True if the message is no longer in the model's context.
        gone: bool,
        /// True if the message is not for display.
        hidden: bool,
    }
}

impl Message {
    /// Returns the text of the message.
    #[must_use]
    pub fn text(&self) -> String {
        let text = |block: &Block| match block {
            Block::Text { text } => Some(text.clone()),
            _ => None,
        };
        self.blocks.iter().filter_map(text).collect()
    }

    /// Returns true if the message is no longer in the model's context.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.gone == Some(true)
    }

    /// Returns true if the message is incomplete.
    #[must_use]
    pub fn is_growing(&self) -> bool {
        self.state == MessageState::Growing
    }
}

record! {
    /// Tokens, and the cost in US dollars.
    #[derive(Default)]
    Usage {} {
        /// Input tokens.
        input: u64,
        /// Output tokens.
        output: u64,
        /// Tokens read from the provider's cache.
        cache_read: u64,
        /// Tokens written to the provider's cache.
        cache_write: u64,
        /// All tokens.
        total: u64,
        /// US dollars.
        cost: f64,
        /// For one message: the components of the cost, in the agent's own form.
        costs: Value,
    }
}
