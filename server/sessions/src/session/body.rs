//! What an entry says, by its type.

use std::borrow::Cow;

use agentese::scan::{self, Wanted};
use agentese::types::AgentMessage;
use serde_json::{Value, json};

use super::entry_id::EntryId;
use super::foreign;
use super::members::{Line, Members, decode};

/// Where a message says who speaks.
static ROLE: Wanted<1> = Wanted::new([scan::member("role")]);

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The agent: what the model is told beforehand.
    System,
    /// Somebody else.
    Other,
}

impl Role {
    /// Returns who speaks in a message.
    pub(super) fn of(message: &AgentMessage) -> Self {
        match message {
            AgentMessage::User(_) => Self::User,
            AgentMessage::Assistant(_) => Self::Assistant,
            AgentMessage::System(_) => Self::System,
            _ => Self::Other,
        }
    }
}

/// What stands in place of messages from here on.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    /// The summary.
    pub summary: String,
    /// The entry from which on messages are kept; one that is not on the branch keeps none.
    pub first_kept_entry_id: EntryId,
    /// Tokens in the context before.
    pub tokens_before: u64,
    /// Facts for a front end.
    pub details: Option<Value>,
    /// What the summary took.
    pub usage: Option<Value>,
    /// Whether an extension wrote the summary.
    pub from_hook: Option<bool>,
    /// The message of what the model is told beforehand, where the conversation has one: it goes on to stand first.
    pub system_message: Option<Value>,
}

/// What was said on a branch that was left.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchSummary {
    /// Where the branch was left.
    pub from_id: String,
    /// The summary; an empty one is not shown to the model.
    pub summary: String,
    /// Facts for a front end.
    pub details: Option<Value>,
    /// Whether an extension wrote the summary.
    pub from_hook: Option<bool>,
}

/// What an entry says. A message is decoded by [`Entry::message`](super::Entry::message), when somebody asks.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Body {
    /// A message of the conversation.
    Message(Role),
    /// Another thinking level.
    ThinkingLevelChange {
        /// The level, as it stands there.
        level: String,
    },
    /// Another model.
    ModelChange {
        /// The provider.
        provider: String,
        /// The model's id at its provider.
        model_id: String,
    },
    /// A summary in place of messages.
    Compaction(Compaction),
    /// A summary of a branch that was left.
    BranchSummary(BranchSummary),
    /// State of an extension; the model does not see it.
    Custom {
        /// The extension's name for it.
        custom_type: String,
    },
    /// A message of an extension.
    CustomMessage {
        /// The extension's name for it.
        custom_type: String,
    },
    /// The model sees another entry otherwise, or not any more.
    ContextEdit {
        /// That entry.
        target: EntryId,
        /// What it sees in place of that entry's content; none where it sees nothing of it.
        content: Option<Value>,
    },
    /// A name for another entry.
    Label {
        /// The entry that it names.
        target: EntryId,
        /// The name; none takes it away.
        label: Option<String>,
    },
    /// A name for the session.
    SessionInfo {
        /// The name.
        name: Option<String>,
    },
    /// Anything else, by its type; also a declared type without its members.
    Other(String),
}

impl Body {
    /// The type, as the file has it.
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

    /// Writes its members, but for a message, which an entry has. `data` is the state of an
    /// extension.
    pub(super) fn write(&self, line: &mut Line, data: Option<&Value>) {
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

/// A declared type with its members.
fn declared(kind: &str, members: &Members<'_>) -> Option<Body> {
    let text = |name: &str| members.get::<String>(name).or_else(|| members.word(name));
    Some(match kind {
        "message" => {
            let message = members.raw("message")?;
            let found = scan::scan(message, &ROLE).ok();
            let role = found.and_then(|found| found.string(0));
            let told =
                || -> Cow<'_, str> { foreign::role(&decode(message).unwrap_or_default()).to_owned().into() };
            Body::Message(match &*role.unwrap_or_else(told) {
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
            tokens_before: members.get("tokensBefore").map_or(0, |tokens| foreign::count(&tokens)),
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

/// What an entry says: mostly a message, of which this is small.
#[derive(Clone)]
pub(super) enum Says {
    Message(Role),
    Else(Box<Body>),
}

impl Says {
    pub fn body(&self) -> &Body {
        match self {
            Self::Message(Role::User) => &Body::Message(Role::User),
            Self::Message(Role::Assistant) => &Body::Message(Role::Assistant),
            Self::Message(Role::System) => &Body::Message(Role::System),
            Self::Message(Role::Other) => &Body::Message(Role::Other),
            Self::Else(body) => body,
        }
    }
}

impl From<Body> for Says {
    fn from(body: Body) -> Self {
        match body {
            Body::Message(role) => Self::Message(role),
            other => Self::Else(other.into()),
        }
    }
}
