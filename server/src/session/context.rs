//! What the model gets to see of a branch.

use std::collections::HashSet;
use std::sync::Arc;

use agentese::types::{AgentMessage, ThinkingLevel};

use super::body::{Body, Role};
use super::entry::Entry;

/// What the entries of a branch say about its settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// Provider and id of the model that was named or that answered last.
    pub model: Option<(String, String)>,
    /// The thinking level that was set last; none also where it is not a known one.
    pub thinking: Option<ThinkingLevel>,
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

/// The messages of a path from the root: a summary first where there is a compaction, then what it
/// kept, then what came after it; and how many of them are the summary and what it kept. Entries in
/// `forgotten` are left out.
pub(super) fn messages(
    entries: &[Entry],
    path: &[usize],
    forgotten: &HashSet<usize>,
) -> (Vec<Arc<AgentMessage>>, usize) {
    let compaction =
        path.iter().rposition(|position| matches!(entries[*position].body(), Body::Compaction(_)));
    let mut messages = Vec::new();
    let mut begin = 0;
    if let Some(at) = compaction {
        messages.extend(entries[path[at]].message().cloned());
        begin = match entries[path[at]].body() {
            Body::Compaction(compaction) => path[..at]
                .iter()
                .position(|position| *entries[*position].id() == compaction.first_kept_entry_id)
                .unwrap_or(at),
            _ => at,
        };
    }
    let speaks = |position: &usize| {
        !forgotten.contains(position)
            && matches!(
                entries[*position].body(),
                Body::Message(_) | Body::CustomMessage { .. } | Body::BranchSummary(_)
            )
    };
    let mut compacted = messages.len();
    for (index, position) in path.iter().enumerate().skip(begin).filter(|(_, position)| speaks(position)) {
        messages.extend(entries[*position].message().cloned());
        if compaction.is_some_and(|at| index < at) {
            compacted = messages.len();
        }
    }
    (messages, compacted)
}
