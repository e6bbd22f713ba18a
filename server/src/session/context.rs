//! What the model gets to see of a branch.

use std::collections::HashSet;
use std::sync::Arc;

use agentese::types::{AgentMessage, ThinkingLevel};
use serde_json::Value;

use super::body::{Body, Role};
use super::entry::{Entry, EntryId};

/// What the entries of a branch say about its settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// Provider and id of the model that was named or that answered last.
    pub model: Option<(String, String)>,
    /// The thinking level that was set last; none also where it is not a known one.
    pub thinking: Option<ThinkingLevel>,
}

/// A message of the conversation, and the entry that it stands in.
#[derive(Debug, Clone)]
pub struct Spoken {
    /// The entry.
    pub entry: EntryId,
    /// The message.
    pub message: Arc<AgentMessage>,
    /// What a compaction says about the messages that it stands for.
    pub details: Option<Value>,
}

impl Restored {
    /// Of a path from the root.
    pub(super) fn of<'a>(path: impl DoubleEndedIterator<Item = &'a Entry> + Clone) -> Self {
        let model = path.clone().rev().find_map(|entry| match entry.body() {
            Body::ModelChange { provider, model_id } => Some((provider.clone(), model_id.clone())),
            Body::Message(Role::Assistant) => match &**entry.message()? {
                AgentMessage::Assistant(answer) => Some((answer.provider.clone(), answer.model.clone())),
                _ => None,
            },
            _ => None,
        });
        let level = path.rev().find_map(|entry| match entry.body() {
            Body::ThinkingLevelChange { level } => Some(level),
            _ => None,
        });
        Self { model, thinking: level.and_then(|level| level.parse().ok()) }
    }
}

/// What of a path from the root the model gets to see, as indices into the path: a compaction first where there is one
/// (behind what the model is told beforehand), then what it kept, then what came after it; and the index of that
/// compaction. Entries in `forgotten` are left out.
pub(super) fn spoken(
    entries: &[Entry],
    path: &[usize],
    forgotten: &HashSet<usize>,
) -> (Vec<usize>, Option<usize>) {
    let compaction =
        path.iter().rposition(|position| matches!(entries[*position].body(), Body::Compaction(_)));
    let begin = compaction.map_or(0, |at| match entries[path[at]].body() {
        Body::Compaction(compaction) => path[..at]
            .iter()
            .position(|position| *entries[*position].id() == compaction.first_kept_entry_id)
            .unwrap_or(at),
        _ => at,
    });
    let edit = |position: &usize| match entries[*position].body() {
        Body::ContextEdit { target } => Some(target),
        _ => None,
    };
    let edited: HashSet<&EntryId> = path.iter().filter_map(edit).collect();
    let speaks = |index: &usize| {
        let entry = &entries[path[*index]];
        !forgotten.contains(&path[*index])
            && !edited.contains(entry.id())
            && entry.speaks()
            && !matches!(entry.body(), Body::Compaction(_))
    };
    let is_told = |index: &usize| matches!(entries[path[*index]].body(), Body::Message(Role::System));
    let told = compaction.and_then(|_| (0..begin).rfind(is_told));
    let spoken = told.into_iter().chain(compaction).chain((begin..path.len()).filter(speaks));
    (spoken.collect(), compaction)
}
