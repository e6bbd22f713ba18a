//! A conversation between an agent and its user, and its messages, in a form that is independent of the
//! dialect. A message contains the conversations of the subagents that its tools started.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::activity::Run;
use super::message::{MessageState, Role, ToolState, Usage};
use super::panel::{
    Draft, ForkPoint, Model, Notice, OpenQuestion, PendingInput, Session, Shell, SlashCommand, Todo,
};
use super::record::record;

/// A conversation, as far as frames have reported it. The JSON form is the same in every language, and a stored
/// conversation can be continued. A clone is cheap, because messages are shared and only copied when they
/// change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Conversation {
    /// Name of the dialect.
    pub dialect: String,
    /// Messages in the order of their arrival, including messages that are no longer in the model's context.
    #[serde(with = "shared")]
    pub messages: Vec<Arc<Message>>,
    /// `false` if the agent has messages that no frame has reported, because the session is older or was
    /// replaced. The response to the history command contains them.
    pub complete: bool,
    /// Input of the user that is not a message of the conversation yet, such as queued input.
    pub waiting: Vec<PendingInput>,
    /// Activity of the agent.
    pub run: Run,
    /// Tokens and cost of the whole session, as far as reported.
    pub usage: Usage,
    /// Fill level of the model's context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// Questions that have no answer yet.
    pub dialogs: Vec<OpenQuestion>,
    /// Running shell commands of the client.
    pub shells: Vec<Shell>,
    /// The last hundred notices. They are notifications, rejected commands, and failures of extensions.
    pub notices: Vec<Notice>,
    /// Entries of the status line, by key.
    pub status: BTreeMap<String, Value>,
    /// Blocks of lines beside the editor, by key.
    pub widgets: BTreeMap<String, Value>,
    /// The title of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Text for the editor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<Draft>,
    /// The session of the conversation.
    pub session: Session,
    /// The model that the agent uses now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// The current thinking level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
    /// Settings by name, such as `steeringMode` and `autoCompaction`, as far as reported.
    pub settings: Map<String, Value>,
    /// Commands that a prompt can invoke with `/name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<Vec<SlashCommand>>,
    /// The available models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Vec<Model>>,
    /// The user's messages from which a fork can be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork_points: Option<Vec<ForkPoint>>,
    /// The agent's list of tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todos: Option<Vec<Todo>>,
    /// Subagents as objects with `id`, `name`, `state` and further members.
    pub tasks: Vec<Map<String, Value>>,
    /// Internal state of the fold, which only the fold may use.
    pub internal: FoldState,
}

impl Conversation {
    /// Creates an empty conversation.
    #[must_use]
    pub fn new(dialect: &str) -> Self {
        Conversation {
            dialect: dialect.to_owned(),
            messages: Vec::new(),
            complete: true,
            waiting: Vec::new(),
            run: Run::default(),
            usage: Usage::default(),
            context: None,
            dialogs: Vec::new(),
            shells: Vec::new(),
            notices: Vec::new(),
            status: BTreeMap::new(),
            widgets: BTreeMap::new(),
            title: None,
            draft: None,
            session: Session::default(),
            model: None,
            thinking_level: None,
            settings: Map::new(),
            commands: None,
            models: None,
            fork_points: None,
            todos: None,
            tasks: Vec::new(),
            internal: FoldState { next: 1, ..FoldState::default() },
        }
    }

    /// Returns a new unique key.
    pub(super) fn next_key(&mut self) -> String {
        let key = format!("k{}", self.internal.next);
        self.internal.next += 1;
        key
    }
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Block {
    /// A text of the message.
    Text {
        /// Text of this part of the message.
        #[serde(default)]
        text: String,
    },
    /// Reasoning of the model.
    Thinking {
        /// Text of the reasoning.
        #[serde(default)]
        text: String,
        /// `true` if the reasoning is unreadable.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        redacted: Option<bool>,
        /// Opaque data for the provider. It must be returned with the message.
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
        /// The arguments. Until the call is complete, only the part that the agent could parse.
        arguments: Value,
        /// The JSON text of the arguments so far, if the agent sends only pieces of this text.
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
        /// Opaque data for the provider. It must be returned with the call.
        signature: String,
        /// Conversation of the subagent that the tool started.
        child: Box<Conversation>,
    }
}

record! {
    /// A message of the conversation.
    #[derive(Default)]
    Message {
        /// A key of the message that stays the same, for rendering.
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
        /// The dialect's own name for the kind of message, if it is more precise than `role`.
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
        /// Error message of the answer.
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
        /// With the role `shell`: `true` if the command was aborted.
        cancelled: bool,
        /// With the role `shell`: `true` if the output was truncated.
        truncated: bool,
        /// With the role `summary`: number of tokens in the context before the compaction.
        tokens_before: u64,
        /// Structured details for a front end.
        details: Value,
        /// `true` if the message is no longer in the model's context.
        gone: bool,
        /// `true` if the message is not for display.
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

    /// Returns `true` if the message is no longer in the model's context.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.gone == Some(true)
    }

    /// Returns `true` if the message is incomplete.
    #[must_use]
    pub fn is_growing(&self) -> bool {
        self.state == MessageState::Growing
    }
}

/// Serialization of shared messages as a plain list of messages.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::Message;

    pub(super) fn serialize<S: Serializer>(messages: &[Arc<Message>], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(messages.iter().map(|message| &**message))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Arc<Message>>, D::Error> {
        Ok(Vec::<Message>::deserialize(from)?.into_iter().map(Arc::new).collect())
    }
}

record! {
    /// Fill level of the model's context.
    #[derive(Default)]
    Context {} {
        /// Number of tokens in the context.
        tokens: u64,
        /// Capacity of the context in tokens.
        window: u64,
    }
}

record! {
    /// Internal state of the fold.
    #[derive(Default)]
    FoldState {
        /// Number for the next key that is generated.
        next: u64,
        /// Unanswered commands, by their ids as JSON.
        sent: BTreeMap<String, SentCommand>,
        /// Messages of shell commands that ended during a run. They are added to the conversation after the
        /// run.
        held: Vec<Message>,
    } {
        /// Reason why the current run is expected to fail. A later event may replace or clear it.
        failure: String,
    }
}

record! {
    /// A command that has no answer yet.
    SentCommand {
        /// Name of the command.
        command: String,
        /// The parameters of the command, without lists and objects.
        params: Map<String, Value>,
    }
}
