//! The kinds of entries for a reader.

use serde_json::Value;

use super::fields::{plain_content, role, text};

/// The kind of an entry for a reader, which determines its style and its visibility in the views of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    User,
    Assistant,
    /// An answer that only calls tools.
    Step,
    Tool,
    /// A command of the user.
    Shell,
    /// A message of an extension, or a summary.
    Note,
    /// A setting, a name or stored data: not part of the conversation.
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
