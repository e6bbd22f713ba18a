//! The title that an entry has in the tree.

use serde_json::Value;

use super::fields::{calls, message, optional_text, plain_content, text};
use super::format::preview;
use super::markdown;
use super::stats::model_name;

/// The maximum length of a title in characters. It exceeds the width of the tree, so that the style sheet can
/// cut the text.
pub(super) const LONGEST: usize = 90;

/// Returns the title of an entry on one line. The title of a tool result is the name of its tool and the
/// start of its text.
pub(super) fn title(entry: &Value) -> String {
    let Some(message) = message(entry) else {
        return match text(entry, "type") {
            "compaction" => "Compaction".to_owned(),
            "branch_summary" => "Branch summary".to_owned(),
            "custom_message" => non_empty_or(message_preview(entry), || text(entry, "customType").into()),
            _ => preview(&setting_text(entry), LONGEST),
        };
    };
    let excerpt = || message_preview(message);
    match text(message, "role") {
        "user" => non_empty_or(excerpt(), || "Picture".to_owned()),
        "assistant" => non_empty_or(excerpt(), || step_title(entry)),
        "toolResult" => format!("{} {}", text(message, "toolName"), excerpt()),
        "bashExecution" => format!("$ {}", preview(text(message, "command"), LONGEST)),
        "compactionSummary" => "Compaction".to_owned(),
        "branchSummary" => "Branch summary".to_owned(),
        role => non_empty_or(excerpt(), || role.to_owned()),
    }
}

fn step_title(entry: &Value) -> String {
    let message = &entry["message"];
    if let Some(error) = optional_text(message, "errorMessage") {
        return preview(error, LONGEST);
    }
    let names: Vec<&str> = calls(entry).map(|(_, call)| text(call, "name")).collect();
    if names.is_empty() { "No text".to_owned() } else { format!("→ {}", names.join(", ")) }
}

/// Returns the start of a message as plain text.
fn message_preview(message: &Value) -> String {
    markdown::preview(&plain_content(message), LONGEST)
}

/// Returns `text`, or the result of `other` if `text` is empty.
pub(super) fn non_empty_or(text: String, other: impl FnOnce() -> String) -> String {
    if text.is_empty() { other() } else { text }
}

/// Returns the title of a setting, such as `Thinking level high`.
pub(super) fn setting_text(entry: &Value) -> String {
    match text(entry, "type") {
        "model_change" => format!("Model {}", model_name(text(entry, "provider"), text(entry, "modelId"))),
        "thinking_level_change" => format!("Thinking level {}", text(entry, "thinkingLevel")),
        "session_info" => match text(entry, "name") {
            "" => "Session without a name".to_owned(),
            name => format!("Session named “{name}”"),
        },
        "label" => match text(entry, "label") {
            "" => "Label removed".to_owned(),
            label => format!("Label “{label}”"),
        },
        "custom" => format!("State of {}", text(entry, "customType")),
        "" => "Entry without a type".to_owned(),
        kind => format!("Entry {kind}"),
    }
}
