//! The content of an entry, by type.

use std::borrow::Cow;

use agentese::scan::{self, MemberSet};
use agentese::types::AgentMessage;
use serde_json::{Value, json};

use super::entry_id::EntryId;
use super::lenient_decode;
use super::members::{LineWriter, Members, decode};

/// Position of the role in a message.
static ROLE: MemberSet<1> = MemberSet::new([scan::member("role")]);

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The user is the author.
    User,
    /// The model is the author.
    Assistant,
    /// The agent is the author; the message contains instructions for the model.
    System,
    /// The author is neither the user, the model nor the agent.
    Other,
}

impl Role {
    /// Returns the author of a message.
    pub(super) fn of(message: &AgentMessage) -> Self {
        match message {
            AgentMessage::User(_) => Self::User,
            AgentMessage::Assistant(_) => Self::Assistant,
            AgentMessage::System(_) => Self::System,
            _ => Self::Other,
        }
    }
}

/// A compaction: a summary in place of earlier messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    /// The summary that replaces the messages.
    pub summary: String,
    /// Id of the first entry whose message is kept. If no entry before the compaction has this id, no message
    /// is kept.
    pub first_kept_entry_id: EntryId,
    /// Number of tokens that the context had before the compaction.
    pub tokens_before: u64,
    /// Data for clients, which the model does not see.
    pub details: Option<Value>,
    /// Tokens and cost of the request that wrote the summary.
    pub usage: Option<Value>,
    /// `true` if an extension wrote the summary.
    pub from_hook: Option<bool>,
    /// The whole system message of the conversation. If present, it becomes the first message after the
    /// compaction.
    pub system_message: Option<Value>,
}

/// The summary of an abandoned branch.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchSummary {
    /// Id of the last entry of the abandoned branch.
    pub from_id: String,
    /// The summary. If it is empty, the model does not see it.
    pub summary: String,
    /// Data for clients, which the model does not see.
    pub details: Option<Value>,
    /// `true` if an extension wrote the summary.
    pub from_hook: Option<bool>,
}

/// The content of an entry, except for messages. [`Entry::message`](super::Entry::message) decodes a message
/// when it is needed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Body {
    /// The entry is a message of the conversation.
    Message(Role),
    /// The entry changes the thinking level.
    ThinkingLevelChange {
        /// The level as written in the file.
        level: String,
    },
    /// The entry changes the model.
    ModelChange {
        /// Provider of the new model.
        provider: String,
        /// The model's id at its provider.
        model_id: String,
    },
    /// The entry is a summary in place of messages.
    Compaction(Compaction),
    /// The entry is a summary of an abandoned branch.
    BranchSummary(BranchSummary),
    /// The entry contains data that an extension stores. The model does not see it.
    Custom {
        /// Type of the data, chosen by the extension.
        custom_type: String,
    },
    /// The entry is a message of an extension.
    CustomMessage {
        /// Type of the message, chosen by the extension.
        custom_type: String,
    },
    /// The entry changes, for the model only, the message of another entry.
    ContextEdit {
        /// Id of the changed entry.
        target: EntryId,
        /// New content of the message; `None` hides the message.
        content: Option<Value>,
    },
    /// The entry labels another entry.
    Label {
        /// Id of the labelled entry.
        target: EntryId,
        /// The label; `None` removes it.
        label: Option<String>,
    },
    /// The entry names the session.
    SessionInfo {
        /// New name of the session.
        name: Option<String>,
    },
    /// The type of the entry is not declared, or the entry lacks members of its declared type. Contains the
    /// name of the type.
    Other(String),
}

impl Body {
    /// Returns the type as written in the file.
    pub fn kind(&self) -> &str {
        match self {
            Body::Message(_) => "message",
            Body::ThinkingLevelChange { .. } => "thinking_level_change",
            Body::ModelChange { .. } => "model_change",
            Body::Compaction(_) => "compaction",
            Body::BranchSummary(_) => "branch_summary",
            Body::Custom { .. } => "custom",
            Body::CustomMessage { .. } => "custom_message",
            Body::ContextEdit { .. } => "context_edit",
            Body::Label { .. } => "label",
            Body::SessionInfo { .. } => "session_info",
            Body::Other(kind) => kind,
        }
    }

    /// Reads the members of a line with that type.
    pub(super) fn read(kind: &str, members: &Members<'_>) -> Self {
        declared(kind, members).unwrap_or_else(|| Body::Other(kind.to_owned()))
    }

    /// Writes the members of the content, except those of a message. `data` is for [`Body::Custom`].
    pub(super) fn write(&self, line: &mut LineWriter, data: Option<&Value>) {
        match self {
            Body::ThinkingLevelChange { level } => {
                line.member("thinkingLevel", level);
            }
            Body::ModelChange { provider, model_id } => {
                line.member("provider", provider).member("modelId", model_id);
            }
            Body::Compaction(compaction) => {
                line.member("summary", &compaction.summary)
                    .member("firstKeptEntryId", compaction.first_kept_entry_id.as_str())
                    .member("tokensBefore", &compaction.tokens_before)
                    .optional("details", compaction.details.as_ref())
                    .optional("usage", compaction.usage.as_ref())
                    .optional("fromHook", compaction.from_hook.as_ref())
                    .optional("systemMessage", compaction.system_message.as_ref());
            }
            Body::BranchSummary(summary) => {
                line.member("fromId", &summary.from_id)
                    .member("summary", &summary.summary)
                    .optional("details", summary.details.as_ref())
                    .optional("fromHook", summary.from_hook.as_ref());
            }
            Body::Custom { custom_type } => {
                line.member("customType", custom_type).optional("data", data);
            }
            Body::ContextEdit { target, content } => {
                let replacement = content.as_ref().map(|content| json!({"content": content}));
                line.member("targetId", target.as_str()).member("replacement", &replacement);
            }
            Body::Label { target, label } => {
                line.member("targetId", target.as_str()).optional("label", label.as_ref());
            }
            Body::SessionInfo { name } => {
                line.optional("name", name.as_ref());
            }
            Body::Message(_) | Body::CustomMessage { .. } | Body::Other(_) => {}
        }
    }
}

/// Reads the members of a declared type. Returns `None` for other types and if members are missing.
fn declared(kind: &str, members: &Members<'_>) -> Option<Body> {
    let text = |name: &str| members.get::<String>(name).or_else(|| members.scalar_text(name));
    Some(match kind {
        "message" => {
            let message = members.raw("message")?;
            let found = scan::scan(message, &ROLE).ok();
            let role = found.and_then(|found| found.string(0));
            let lenient_role = || -> Cow<'_, str> {
                lenient_decode::role(&decode(message).unwrap_or_default()).to_owned().into()
            };
            Body::Message(match &*role.unwrap_or_else(lenient_role) {
                "user" => Role::User,
                "assistant" => Role::Assistant,
                "system" => Role::System,
                _ => Role::Other,
            })
        }
        "thinking_level_change" => Body::ThinkingLevelChange { level: text("thinkingLevel")? },
        "model_change" => Body::ModelChange { provider: text("provider")?, model_id: text("modelId")? },
        "compaction" => Body::Compaction(Compaction {
            summary: text("summary")?,
            first_kept_entry_id: text("firstKeptEntryId").unwrap_or_default().into(),
            tokens_before: members.get("tokensBefore").map_or(0, |tokens| lenient_decode::count(&tokens)),
            details: members.get("details"),
            usage: members.get("usage"),
            from_hook: members.get("fromHook"),
            system_message: members.get("systemMessage"),
        }),
        "branch_summary" => Body::BranchSummary(BranchSummary {
            from_id: text("fromId").unwrap_or_default(),
            summary: text("summary")?,
            details: members.get("details"),
            from_hook: members.get("fromHook"),
        }),
        "custom" => Body::Custom { custom_type: text("customType")? },
        "custom_message" => Body::CustomMessage { custom_type: text("customType").unwrap_or_default() },
        "context_edit" => Body::ContextEdit {
            target: text("targetId")?.into(),
            content: members.get::<Value>("replacement").and_then(|it| it.get("content").cloned()),
        },
        "label" => Body::Label { target: text("targetId")?.into(), label: text("label") },
        "session_info" => Body::SessionInfo { name: text("name") },
        _ => return None,
    })
}

/// The content of an entry in less memory. Most entries are messages, and need no allocation here.
#[derive(Clone)]
pub(super) enum PackedBody {
    Message(Role),
    Other(Box<Body>),
}

impl PackedBody {
    pub fn body(&self) -> &Body {
        match self {
            Self::Message(Role::User) => &Body::Message(Role::User),
            Self::Message(Role::Assistant) => &Body::Message(Role::Assistant),
            Self::Message(Role::System) => &Body::Message(Role::System),
            Self::Message(Role::Other) => &Body::Message(Role::Other),
            Self::Other(body) => body,
        }
    }
}

impl From<Body> for PackedBody {
    fn from(body: Body) -> Self {
        match body {
            Body::Message(role) => Self::Message(role),
            other => Self::Other(other.into()),
        }
    }
}
