//! The plan of a compaction: the part to summarise and the part to keep.

use std::sync::Arc;

use agentese::types::{CompactionPlan, CompactionPlanBuilder};
use serde_json::Value;

use super::cut::{self, Keep};
use super::files::Files;
use super::item::{Item, Kind, Previous};
use super::written::written;
use crate::session::Transcript;

/// Reason for the absence of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NothingToDo {
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
    pub history: Transcript,
    /// The beginning of the turn that the cut splits.
    pub turn: Option<Transcript>,
    /// The previous summary, which the new one updates.
    pub previous: Option<String>,
    files: Files,
}

/// Summary of an empty history, as in pi 0.55.
const NO_HISTORY: &str = "No prior history.";
/// Separator between the summary of the history and the summary of the turn's beginning; pi's user interfaces parse it.
const TURN: &str = "\n\n---\n\n**Turn Context (split turn):**\n\n";

/// Plans the compaction of a branch, root to leaf. The plan begins at the first entry that an earlier compaction kept,
/// so no message is lost between the two. `tokens_before` returns the number of tokens in the model's context. Fails if
/// there is nothing to summarise.
pub(crate) fn plan(
    items: &[Item],
    tokens_before: impl FnOnce() -> u64,
    keep: Keep,
) -> Result<Plan, NothingToDo> {
    let last = items.last().ok_or(NothingToDo::Empty)?;
    if matches!(last.kind, Kind::Compaction(_)) {
        return Err(NothingToDo::AlreadyCompacted);
    }
    let before = items.iter().rposition(|item| matches!(item.kind, Kind::Compaction(_)));
    let previous = before.map(|index| match &items[index].kind {
        Kind::Compaction(previous) => previous.clone(),
        _ => Previous::default(),
    });
    let start = before.map_or(0, |index| {
        let kept = previous.as_ref().map_or("", |previous| &previous.first_kept);
        items[..index].iter().position(|item| item.id == kept).unwrap_or(index + 1)
    });
    let cut = cut::find(items, start, keep);
    let history = messages(&items[start..cut.turn.unwrap_or(cut.kept)]);
    let turn = cut.turn.map(|turn| messages(&items[turn..cut.kept]));
    // A model without input invents a summary, which would replace the existing messages.
    if is_wordless(&history) && turn.as_ref().is_none_or(is_wordless) {
        return Err(NothingToDo::Empty);
    }
    let details = previous.as_ref().and_then(|previous| previous.details.as_ref());
    let mut files = details.map(Files::from_details).unwrap_or_default();
    for message in history.iter().chain(turn.iter().flat_map(Transcript::iter)) {
        files.add(&message);
    }
    Ok(Plan {
        first_kept: items[cut.kept].id.clone(),
        tokens_before: tokens_before(),
        history,
        turn,
        previous: previous.map(|previous| previous.summary),
        files,
    })
}

fn is_wordless(messages: &Transcript) -> bool {
    written(messages).next().is_none()
}

fn messages(items: &[Item]) -> Transcript {
    let message = |item: &Item| match &item.kind {
        Kind::Message(message) | Kind::Note(message) => Some(message.clone()),
        Kind::Compaction(_) | Kind::Other => None,
    };
    items.iter().filter_map(message).collect()
}

impl Plan {
    /// Returns the plan in the form for hooks. Decodes all of its messages.
    pub fn public(&self) -> CompactionPlan {
        let messages = |messages: &Transcript| messages.iter().map(Arc::unwrap_or_clone).collect();
        let mut plan = CompactionPlanBuilder {
            first_kept_entry_id: self.first_kept.clone(),
            tokens_before: self.tokens_before,
            messages_to_summarize: messages(&self.history),
            turn_prefix_messages: self.turn.as_ref().map(messages).unwrap_or_default(),
            is_split_turn: self.turn.is_some(),
        }
        .build();
        plan.previous_summary.clone_from(&self.previous);
        plan
    }

    /// Returns `true` if the model summarises the history. Returns `false` if there is only the beginning of a turn.
    pub fn asks_for_history(&self) -> bool {
        self.turn.is_none() || !is_wordless(&self.history)
    }

    /// Returns the whole summary, composed from the answers of the model.
    pub fn summary(&self, history: Option<String>, turn: Option<String>) -> String {
        let mut summary = history.unwrap_or_else(|| NO_HISTORY.to_owned());
        if let Some(turn) = turn {
            summary.push_str(TURN);
            summary.push_str(&turn);
        }
        summary.push_str(&self.files.written());
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

    /// Returns entries by letter; see the tests of `cut`. `c` is a compaction.
    pub(in super::super) fn items(letters: &str) -> Vec<Item> {
        let text = "x".repeat(40);
        let usage = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}});
        let blocks = json!([{"type": "text", "text": text}]);
        let message = |value: Value| {
            StoredMessage::from(Arc::new(serde_json::from_value::<AgentMessage>(value).unwrap()))
        };
        let user = || message(json!({"role": "user", "content": text, "timestamp": 1}));
        let kind = |letter: char| match letter {
            'u' => Kind::Message(user()),
            'n' => Kind::Note(user()),
            'a' => Kind::Message(message(json!({
                "role": "assistant", "content": blocks, "api": "a", "provider": "p", "model": "m",
                "usage": usage, "stopReason": "stop", "timestamp": 1,
            }))),
            'r' => Kind::Message(message(json!({
                "role": "toolResult", "toolCallId": "c", "toolName": "read", "content": blocks,
                "isError": false, "timestamp": 1,
            }))),
            'b' => Kind::Message(message(json!({
                "role": "bashExecution", "command": "", "output": text, "cancelled": false,
                "truncated": false, "timestamp": 1,
            }))),
            'c' => Kind::Compaction(Previous {
                summary: "before".to_owned(),
                details: Some(json!({"readFiles": ["r"], "modifiedFiles": []})),
                first_kept: String::new(),
            }),
            // A compaction that kept the entry before it.
            'C' => Kind::Compaction(Previous { summary: "before".to_owned(), ..Previous::default() }),
            _ => Kind::Other,
        };
        letters
            .chars()
            .enumerate()
            .map(|(index, letter)| {
                let mut kind = kind(letter);
                if let (Kind::Compaction(previous), 'C') = (&mut kind, letter) {
                    previous.first_kept = (index - 1).to_string();
                }
                Item { id: index.to_string(), kind }
            })
            .collect()
    }

    fn outline(letters: &str, keep: u64) -> Result<(String, usize, Option<usize>, bool), NothingToDo> {
        let plan = plan(&items(letters), || 0, Keep::Around(keep))?;
        Ok((plan.first_kept, plan.history.len(), plan.turn.map(|turn| turn.len()), plan.previous.is_some()))
    }

    #[test]
    fn what_is_summarised_and_what_is_kept() {
        assert_eq!(outline("uauaua", 20), Ok(("4".into(), 4, None, false)));
        assert_eq!(outline("uauaua", 10), Ok(("5".into(), 4, Some(1), false)));
        assert_eq!(outline("uaucuaua", 20), Ok(("6".into(), 2, None, true)));
    }

    #[test]
    fn a_second_compaction_begins_with_what_the_first_one_kept() {
        // The second compaction summarises the answer that the first one kept.
        assert_eq!(outline("uaCuaua", 20), Ok(("5".into(), 3, None, true)));
        assert_eq!(outline("uaCuaua", 40), Ok(("3".into(), 1, None, true)));
        // Or both keep it.
        assert_eq!(outline("uauauaC-", 1000).unwrap_err(), NothingToDo::Empty);
    }

    #[test]
    fn a_history_of_nothing_is_refused() {
        for letters in ["--", "-", "--cua", "uaC-", "uaCn"] {
            assert_eq!(outline(letters, 200).unwrap_err(), NothingToDo::Empty, "{letters}");
        }
    }

    #[test]
    fn a_compaction_is_not_compacted() {
        assert_eq!(outline("", 20).unwrap_err(), NothingToDo::Empty);
        assert_eq!(outline("uac", 20).unwrap_err(), NothingToDo::AlreadyCompacted);
    }

    #[test]
    fn the_summary_is_made_of_its_parts() {
        let split = plan(&items("cuara"), || 0, Keep::Around(10)).unwrap();
        assert!(!split.asks_for_history());
        assert_eq!(
            split.summary(None, Some("turn".into())),
            "No prior history.\n\n---\n\n**Turn Context (split turn):**\n\nturn\n\n<read-files>\nr\n</read-files>"
        );
        assert_eq!(split.details(), json!({"readFiles": ["r"], "modifiedFiles": []}));
        let whole = plan(&items("uaua"), || 0, Keep::Around(20)).unwrap();
        assert!(whole.asks_for_history());
        assert_eq!(whole.summary(Some("history".into()), None), "history");
    }
}
