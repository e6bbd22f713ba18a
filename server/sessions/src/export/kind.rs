//! The kinds of entries that an export distinguishes.

use serde_json::Value;

use super::fields::{plain_content, role, text};

/// The kind of an entry in an export. It determines the style of the entry, and the views of the tree that
/// show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    User,
    Assistant,
    /// The entry is an answer without text or error, so with tool calls only.
    Step,
    Tool,
    /// The entry is a shell command of the user.
    Shell,
    /// The entry is a message of an extension, or a summary.
    Note,
    /// The entry is a setting, a name, or the state of an extension. It is not a part of the conversation.
    Setting,
}

impl Kind {
    pub fn of(entry: &Value) -> Self {
        match (text(entry, "type"), role(entry)) {
            (_, "user") => Self::User,
            (_, "assistant") => {
                let message = &entry["message"];
                let has_text =
                    !plain_content(message).trim().is_empty() || message.get("errorMessage").is_some();
                if has_text { Self::Assistant } else { Self::Step }
            }
            (_, "toolResult") => Self::Tool,
            (_, "bashExecution") => Self::Shell,
            ("message" | "compaction" | "branch_summary" | "custom_message", _) => Self::Note,
            _ => Self::Setting,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Step => "step",
            Self::Tool => "tool",
            Self::Shell => "shell",
            Self::Note => "note",
            Self::Setting => "setting",
        }
    }
}
