//! What the neutral commands take and give.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::view::{Context, ForkPoint, Message, Model, Session, SlashCommand, Todo, Usage};

/// Words of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Words {
    /// The text.
    pub text: String,
    /// Images that go with it, in dialects that take them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// `steer` or `followUp`: what becomes of a prompt where a run is going on, in dialects that ask for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when_busy: Option<String>,
}

impl Words {
    /// The words, with an image more.
    #[must_use]
    pub fn image(mut self, mime_type: impl Into<String>, data: impl Into<String>) -> Self {
        self.images.push(Image { kind: "image", mime_type: mime_type.into(), data: data.into() });
        self
    }
}

impl<T: Into<String>> From<T> for Words {
    fn from(text: T) -> Self {
        Words { text: text.into(), ..Words::default() }
    }
}

/// An image that goes with words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Image {
    #[serde(rename = "type")]
    kind: &'static str,
    /// The MIME type.
    pub mime_type: String,
    /// The bytes in base64.
    pub data: String,
}

/// What an agent is doing, and with which settings, as far as its dialect tells.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct State {
    /// The model in use.
    pub model: Option<Model>,
    /// How hard it thinks.
    pub thinking_level: Option<String>,
    /// Whether a run is going on.
    pub working: Option<bool>,
    /// Whether a summary is being made.
    pub compacting: Option<bool>,
    /// How many messages the conversation has.
    pub messages: Option<u64>,
    /// How many words wait in the queues.
    pub waiting: Option<u64>,
    /// The session.
    pub session: Session,
    /// Settings by name, such as `steeringMode` and `autoCompaction`.
    pub settings: Map<String, Value>,
    /// Tokens and cost of the session.
    pub usage: Usage,
    /// How full the model's context is.
    pub context: Context,
}

/// Tokens and cost of a session.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Stats {
    /// Tokens and cost.
    pub usage: Usage,
    /// How many messages the session has.
    pub messages: Option<u64>,
    /// How full the model's context is.
    pub context: Context,
}

/// A session that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct KeptSession {
    /// What opens it.
    pub session: String,
    /// Its name.
    pub name: Option<String>,
    /// When it changed last, as the agent says.
    pub modified: Option<String>,
}

/// What came of another place in the conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Forked {
    /// True where an extension of the agent prevented it.
    pub cancelled: bool,
    /// The words that stood there.
    pub text: Option<String>,
}

/// What a shell command of the user did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ShellResult {
    /// What it wrote.
    pub output: String,
    /// Its exit code; none where it was stopped.
    pub exit_code: Option<i64>,
    /// Whether it was stopped.
    pub cancelled: bool,
    /// Whether the output was cut.
    pub truncated: bool,
}

/// The words that were taken back from the queues.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ClearedQueue {
    /// The steering words.
    pub steering: Vec<String>,
    /// The follow-up words.
    pub follow_up: Vec<String>,
}

/// What any of the commands may give.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Given {
    pub outcome: Option<String>,
    pub cancelled: bool,
    pub sessions: Vec<KeptSession>,
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
