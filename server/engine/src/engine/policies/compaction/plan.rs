//! The plan of a compaction: the part to summarise and the part to keep.

use std::sync::Arc;

use agentese::types::{CompactionPlan, CompactionPlanBuilder};
use serde_json::Value;

use super::branch_entry::{BranchEntry, EntryKind, PreviousCompaction};
use super::cut_point::{self, KeptAmount};
use super::file_operations::FileOperations;
use super::transcript_text::transcript_paragraphs;
use crate::session::MessageSnapshot;

/// Reason why there is nothing to compact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NothingToCompactError {
    // The texts are pi's.
    #[error("Already compacted")]
    AlreadyCompacted,
    #[error("Nothing to compact (session too small)")]
    Empty,
}

/// The plan of a compaction.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Id of the first entry that is kept.
    pub first_kept: String,
    /// Number of tokens in the context before the compaction.
    pub tokens_before: u64,
    /// The messages that the summary replaces; may be empty.
    pub history: MessageSnapshot,
    /// The beginning of the turn that the cut divides; `None` if the cut is between two turns.
    pub turn_prefix: Option<MessageSnapshot>,
    /// The previous summary, which the new one updates.
    pub previous: Option<String>,
    files: FileOperations,
}

/// Summary of an empty history, as in pi 0.55.
const EMPTY_HISTORY_SUMMARY: &str = "No prior history.";
/// Separator between the summary of the history and the summary of the turn's beginning; pi's user interfaces parse it.
const TURN_SEPARATOR: &str = "\n\n---\n\n**Turn Context (split turn):**\n\n";

/// Plans the compaction of a branch, whose entries are in order from the root to the leaf. The plan begins at
/// the first entry that the previous compaction kept. So each message is either in the previous summary or in
/// the plan. `tokens_before` returns the number of tokens in the model's context. Fails if there is nothing
/// to summarise.
pub(crate) fn plan(
    items: &[BranchEntry],
    tokens_before: impl FnOnce() -> u64,
    keep: KeptAmount,
) -> Result<Plan, NothingToCompactError> {
    let last = items.last().ok_or(NothingToCompactError::Empty)?;
    if matches!(last.kind, EntryKind::Compaction(_)) {
        return Err(NothingToCompactError::AlreadyCompacted);
    }
    let before = items.iter().rposition(|item| matches!(item.kind, EntryKind::Compaction(_)));
    let previous = before.map(|index| match &items[index].kind {
        EntryKind::Compaction(previous) => previous.clone(),
        _ => PreviousCompaction::default(),
    });
    let start = before.map_or(0, |index| {
        let kept = previous.as_ref().map_or("", |previous| &previous.first_kept);
        items[..index].iter().position(|item| item.id == kept).unwrap_or(index + 1)
    });
    let cut = cut_point::find(items, start, keep);
    let history = messages(&items[start..cut.split_turn.unwrap_or(cut.first_kept)]);
    let turn = cut.split_turn.map(|turn| messages(&items[turn..cut.first_kept]));
    // A model without input invents a summary, which would replace the existing messages.
    if has_no_text(&history) && turn.as_ref().is_none_or(has_no_text) {
        return Err(NothingToCompactError::Empty);
    }
    let details = previous.as_ref().and_then(|previous| previous.details.as_ref());
    let mut files = details.map(FileOperations::from_details).unwrap_or_default();
    for message in history.iter().chain(turn.iter().flat_map(MessageSnapshot::iter)) {
        files.add(&message);
    }
    Ok(Plan {
        first_kept: items[cut.first_kept].id.clone(),
        tokens_before: tokens_before(),
        history,
        turn_prefix: turn,
        previous: previous.map(|previous| previous.summary),
        files,
    })
}

fn has_no_text(messages: &MessageSnapshot) -> bool {
    transcript_paragraphs(messages).next().is_none()
}

fn messages(items: &[BranchEntry]) -> MessageSnapshot {
    let message = |item: &BranchEntry| match &item.kind {
        EntryKind::Message(message) | EntryKind::Note(message) => Some(message.clone()),
        EntryKind::Compaction(_) | EntryKind::Other => None,
    };
    items.iter().filter_map(message).collect()
}

impl Plan {
    /// Returns the plan in the form that hooks receive. Decodes all messages of the plan.
    pub fn to_public(&self) -> CompactionPlan {
        let messages = |messages: &MessageSnapshot| messages.iter().map(Arc::unwrap_or_clone).collect();
        let mut plan = CompactionPlanBuilder {
            first_kept_entry_id: self.first_kept.clone(),
            tokens_before: self.tokens_before,
            messages_to_summarize: messages(&self.history),
            turn_prefix_messages: self.turn_prefix.as_ref().map(messages).unwrap_or_default(),
            is_split_turn: self.turn_prefix.is_some(),
        }
        .build();
        plan.previous_summary.clone_from(&self.previous);
        plan
    }

    /// Returns `true` if the plan has a history to summarise, `false` if it has only the beginning of a turn.
    pub fn summarizes_history(&self) -> bool {
        self.turn_prefix.is_none() || !has_no_text(&self.history)
    }

    /// Returns the whole summary, composed from the answers of the model.
    pub fn summary(&self, history: Option<String>, turn: Option<String>) -> String {
        let mut summary = history.unwrap_or_else(|| EMPTY_HISTORY_SUMMARY.to_owned());
        if let Some(turn) = turn {
            summary.push_str(TURN_SEPARATOR);
            summary.push_str(&turn);
        }
        summary.push_str(&self.files.summary_suffix());
        summary
    }

    /// Returns the files that were read and changed, as the `details` of the compaction.
    pub fn details(&self) -> Value {
        self.files.details()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use agentese::types::AgentMessage;
    use serde_json::json;

    use super::*;
    use crate::session::StoredMessage;

    /// Returns one entry for each letter; see the tests of `cut_point`. `c` is a compaction.
    pub(in super::super) fn items(letters: &str) -> Vec<BranchEntry> {
        let text = "x".repeat(40);
        let usage = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}});
        let blocks = json!([{"type": "text", "text": text}]);
        let message = |value: Value| {
            StoredMessage::from(Arc::new(serde_json::from_value::<AgentMessage>(value).unwrap()))
        };
        let user = || message(json!({"role": "user", "content": text, "timestamp": 1}));
        let kind = |letter: char| match letter {
            'u' => EntryKind::Message(user()),
            'n' => EntryKind::Note(user()),
            'a' => EntryKind::Message(message(json!({
                "role": "assistant", "content": blocks, "api": "a", "provider": "p", "model": "m",
                "usage": usage, "stopReason": "stop", "timestamp": 1,
            }))),
            'r' => EntryKind::Message(message(json!({
                "role": "toolResult", "toolCallId": "c", "toolName": "read", "content": blocks,
                "isError": false, "timestamp": 1,
            }))),
            'b' => EntryKind::Message(message(json!({
                "role": "bashExecution", "command": "", "output": text, "cancelled": false,
                "truncated": false, "timestamp": 1,
            }))),
            'c' => EntryKind::Compaction(PreviousCompaction {
                summary: "before".to_owned(),
                details: Some(json!({"readFiles": ["r"], "modifiedFiles": []})),
                first_kept: String::new(),
            }),
            // A compaction that kept the entry before it.
            'C' => EntryKind::Compaction(PreviousCompaction {
                summary: "before".to_owned(),
                ..PreviousCompaction::default()
            }),
            _ => EntryKind::Other,
        };
        letters
            .chars()
            .enumerate()
            .map(|(index, letter)| {
                let mut kind = kind(letter);
                if let (EntryKind::Compaction(previous), 'C') = (&mut kind, letter) {
                    previous.first_kept = (index - 1).to_string();
                }
                BranchEntry { id: index.to_string(), kind }
            })
            .collect()
    }

    fn outline(
        letters: &str,
        keep: u64,
    ) -> Result<(String, usize, Option<usize>, bool), NothingToCompactError> {
        let plan = plan(&items(letters), || 0, KeptAmount::AtLeast(keep))?;
        Ok((
            plan.first_kept,
            plan.history.len(),
            plan.turn_prefix.map(|turn| turn.len()),
            plan.previous.is_some(),
        ))
    }

    #[test]
    fn plan_separates_summarised_and_kept_entries() {
        assert_eq!(outline("uauaua", 20), Ok(("4".into(), 4, None, false)));
        assert_eq!(outline("uauaua", 10), Ok(("5".into(), 4, Some(1), false)));
        assert_eq!(outline("uaucuaua", 20), Ok(("6".into(), 2, None, true)));
    }

    #[test]
    fn second_compaction_starts_with_entries_kept_by_the_first() {
        // The second compaction summarises the answer that the first one kept.
        assert_eq!(outline("uaCuaua", 20), Ok(("5".into(), 3, None, true)));
        assert_eq!(outline("uaCuaua", 40), Ok(("3".into(), 1, None, true)));
        // Or both keep it.
        assert_eq!(outline("uauauaC-", 1000).unwrap_err(), NothingToCompactError::Empty);
    }

    #[test]
    fn empty_history_is_rejected() {
        for letters in ["--", "-", "--cua", "uaC-", "uaCn"] {
            assert_eq!(outline(letters, 200).unwrap_err(), NothingToCompactError::Empty, "{letters}");
        }
    }

    #[test]
    fn a_compaction_is_not_compacted() {
        assert_eq!(outline("", 20).unwrap_err(), NothingToCompactError::Empty);
        assert_eq!(outline("uac", 20).unwrap_err(), NothingToCompactError::AlreadyCompacted);
    }

    #[test]
    fn summary_is_composed_of_its_parts() {
        let split = plan(&items("cuara"), || 0, KeptAmount::AtLeast(10)).unwrap();
        assert!(!split.summarizes_history());
        assert_eq!(
            split.summary(None, Some("turn".into())),
            "No prior history.\n\n---\n\n**Turn Context (split turn):**\n\nturn\n\n<read-files>\nr\n</read-files>"
        );
        assert_eq!(split.details(), json!({"readFiles": ["r"], "modifiedFiles": []}));
        let whole = plan(&items("uaua"), || 0, KeptAmount::AtLeast(20)).unwrap();
        assert!(whole.summarizes_history());
        assert_eq!(whole.summary(Some("history".into()), None), "history");
    }
}
