//! Parameters and results of the neutral commands.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::view::{Context, ForkPoint, Message, Model, Session, SlashCommand, Todo, Usage};

/// Input of the user: text and images.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UserInput {
    /// Text of the input.
    pub text: String,
    /// Images of the input, for dialects that support images.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// For a prompt that is sent during a run, the time of its delivery: `steer` or `followUp`. Used only in
    /// dialects with this choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when_busy: Option<String>,
}

impl UserInput {
    /// Returns the input with an additional image.
    #[must_use]
    pub fn image(mut self, mime_type: impl Into<String>, data: impl Into<String>) -> Self {
        self.images.push(Image { kind: "image", mime_type: mime_type.into(), data: data.into() });
        self
    }
}

impl<T: Into<String>> From<T> for UserInput {
    fn from(text: T) -> Self {
        UserInput { text: text.into(), ..UserInput::default() }
    }
}

/// An image of the user's input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Image {
    #[serde(rename = "type")]
    kind: &'static str,
    /// MIME type of the image.
    pub mime_type: String,
    /// The bytes in base64.
    pub data: String,
}

/// Activity and settings of an agent. Values that its dialect does not report are `None` or empty.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct State {
    /// The model that the agent uses now.
    pub model: Option<Model>,
    /// The current thinking level.
    pub thinking_level: Option<String>,
    /// `true` during a run.
    pub working: Option<bool>,
    /// `true` during a compaction.
    pub compacting: Option<bool>,
    /// Number of messages in the conversation.
    pub messages: Option<u64>,
    /// Number of queued messages.
    pub waiting: Option<u64>,
    /// The agent's session.
    pub session: Session,
    /// Settings by name, such as `steeringMode` and `autoCompaction`.
    pub settings: Map<String, Value>,
    /// Tokens and cost of the session.
    pub usage: Usage,
    /// Fill level of the model's context.
    pub context: Context,
}

/// Tokens and cost of a session.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Stats {
    /// Tokens and cost.
    pub usage: Usage,
    /// Number of messages in the session.
    pub messages: Option<u64>,
    /// Fill level of the model's context.
    pub context: Context,
}

/// A stored session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct StoredSession {
    /// Path or id of the session, the argument for [`Agent::open_session`](super::Agent::open_session).
    pub session: String,
    /// Name of the session.
    pub name: Option<String>,
    /// Time of the last change, in the agent's own format.
    pub modified: Option<String>,
}

/// Result of a fork.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ForkResult {
    /// `true` if an extension of the agent prevented the fork.
    pub cancelled: bool,
    /// The text of the user message at which the session was forked.
    pub text: Option<String>,
}

/// Result of a shell command of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ShellResult {
    /// Output of the command.
    pub output: String,
    /// Exit code; `None` if the command was aborted.
    pub exit_code: Option<i64>,
    /// `true` if the command was aborted.
    pub cancelled: bool,
    /// `true` if the output was truncated.
    pub truncated: bool,
}

/// The input removed from the queues.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ClearedQueue {
    /// The messages in the steering queue.
    pub steering: Vec<String>,
    /// The follow-ups.
    pub follow_up: Vec<String>,
}

/// Results of any command. Each command sets only some of the members.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CommandResults {
    pub outcome: Option<String>,
    pub cancelled: bool,
    pub sessions: Vec<StoredSession>,
    pub points: Vec<ForkPoint>,
    pub messages: Vec<Message>,
    pub message: Option<Message>,
    pub text: Option<String>,
    pub models: Vec<Model>,
    pub model: Option<Model>,
    pub levels: Vec<String>,
    pub thinking_level: Option<String>,
    pub path: Option<String>,
    pub commands: Vec<SlashCommand>,
    pub todos: Vec<Todo>,
}
