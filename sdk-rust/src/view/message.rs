//! Messages of a conversation, and their blocks.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::conversation::Conversation;
use super::record::record;

/// Who a message is from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The result of a call; the block of the call has it too.
    Tool,
    /// The agent itself, to the model.
    System,
    /// A summary of what was said.
    Summary,
    /// A shell command of the client.
    Shell,
    /// Anything else, such as a message of an extension.
    #[default]
    #[serde(other)]
    Note,
}

/// How a message stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum MessageState {
    /// More of it will come.
    Growing,
    /// It is whole.
    #[default]
    Done,
    /// It broke off with an error.
    Failed,
    /// Somebody stopped it.
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
        /// True where it cannot be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        redacted: Option<bool>,
        /// What the provider wants back with it; of no meaning to others.
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
    /// Something without a form of its own.
    Data {
        /// It, as the agent sent it.
        #[serde(default)]
        value: Value,
    },
    /// A tool call.
    Tool(Box<ToolBlock>),
}

/// How a tool call stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ToolState {
    /// The model is writing it, or it has not begun.
    #[default]
    Coming,
    /// The tool runs.
    Running,
    /// The tool is done.
    Done,
    /// The tool failed.
    Failed,
    /// The run was over before it began.
    Skipped,
}

impl ToolState {
    /// Whether nothing follows any more.
    pub(crate) fn is_over(self) -> bool {
        !matches!(self, ToolState::Coming | ToolState::Running)
    }
}

record! {
    /// A tool call of the model, with what the tool has done.
    #[derive(Default)]
    ToolBlock {
        /// The call's id.
        call_id: String,
        /// The tool's name.
        name: String,
        /// How it stands.
        state: ToolState,
    } {
        /// Complete, or as far as the agent could read them.
        arguments: Value,
        /// Their JSON text as it comes, where the agent sends pieces only.
        arguments_text: String,
        /// What the tool has shown so far.
        output: Vec<Block>,
        /// What came of it.
        result: Vec<Block>,
        /// Facts for a front end; their shape is the tool's own.
        details: Value,
        /// How long it ran, in milliseconds.
        duration_ms: f64,
        /// A description for people, in one line.
        label: String,
        /// What the provider wants back with it; of no meaning to others.
        signature: String,
        /// What a subagent said that the tool set to work.
        child: Box<Conversation>,
    }
}

record! {
    /// A message of the conversation.
    #[derive(Default)]
    Message {
        /// A name that stays the same, for rendering.
        key: String,
        /// Who it is from.
        role: Role,
        /// How it stands.
        state: MessageState,
        /// Its parts.
        blocks: Vec<Block>,
    } {
        /// The agent's own id, where it has one.
        id: String,
        /// The dialect's own word, where `role` is coarser.
        kind: String,
        /// The model's id.
        model: String,
        /// The model's provider.
        provider: String,
        /// The wire format of the model's API, in the agent's word.
        api: String,
        /// Tokens and cost.
        usage: Usage,
        /// Why the model stopped, in the dialect's word.
        stop_reason: String,
        /// The error message.
        error: Value,
        /// When, in milliseconds since the epoch, as the agent says.
        time: f64,
        /// With the role `tool`: the call that this is the result of.
        call_id: String,
        /// With the role `tool`: the tool's name.
        name: String,
        /// With the role `shell`: the command line; what it wrote is in `blocks`.
        command: String,
        /// With the role `shell`: its exit code.
        exit_code: i64,
        /// With the role `shell`: whether it was stopped.
        cancelled: bool,
        /// With the role `shell`: whether its output was cut.
        truncated: bool,
        /// With the role `summary`: tokens in the context before.
        tokens_before: u64,
        /// Facts for a front end.
        details: Value,
        /// True where it is no longer in the model's context.
        gone: bool,
        /// Whether it is not meant to be shown.
        hidden: bool,
    }
}

impl Message {
    /// The text of the message.
    #[must_use]
    pub fn text(&self) -> String {
        let text = |block: &Block| match block {
            Block::Text { text } => Some(text.clone()),
            _ => None,
        };
        self.blocks.iter().filter_map(text).collect()
    }

    /// Whether it is no longer in the model's context.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.gone == Some(true)
    }

    /// Whether more of it will come.
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
        /// Of one message: what the cost is made of, as the agent writes it.
        costs: Value,
    }
}
