//! The active branch of a session, as compaction sees it.

use agentese::types::{AgentMessage, CompactionResult};
use serde_json::Value;

use super::compaction::{Item, Kind, Previous};
use super::lead::Compacted;
use crate::session::{Body, Compaction, Entry, EntryId, Role, Session};

/// The entries from the root to the leaf.
pub(super) fn items(session: &Session) -> Vec<Item> {
    let item = |entry: &Entry| Item { id: entry.id().to_string(), kind: kind(entry) };
    session.path().into_iter().map(item).collect()
}

fn kind(entry: &Entry) -> Kind {
    match entry.body() {
        Body::Compaction(compaction) => Kind::Compaction(Previous {
            summary: compaction.summary.clone(),
            first_kept: compaction.first_kept_entry_id.to_string(),
            // What an extension wrote there means what it likes.
            details: compaction.details.clone().filter(|_| compaction.from_hook != Some(true)),
        }),
        Body::Message(Role::System) => Kind::Other,
        Body::Message(_) => Kind::Message(entry.stored_message()),
        _ if entry.speaks() => Kind::Note(entry.stored_message()),
        _ => Kind::Other,
    }
}

/// Puts a summary in place of what it stands for.
/// Gives the entry that says so, as it stands in the file. `given`: whether somebody else made it.
pub(super) fn compacted(session: &mut Session, result: &CompactionResult, given: bool) -> Value {
    let id = session.compacted(Compaction {
        summary: result.summary.clone(),
        first_kept_entry_id: EntryId::from(result.first_kept_entry_id.as_str()),
        tokens_before: result.tokens_before,
        details: result.details.as_option().cloned(),
        usage: result.usage.as_ref().and_then(|usage| serde_json::to_value(usage).ok()),
        from_hook: Some(given),
        system_message: session
            .instructions()
            .and_then(|told| serde_json::to_value(AgentMessage::from(told)).ok()),
    });
    session.entry(id.as_str()).map(json).unwrap_or_default()
}

/// The entries from the root to the leaf, as they stand in the file.
pub(super) fn entries(session: &Session) -> Vec<Value> {
    session.path().into_iter().map(json).collect()
}

fn json(entry: &Entry) -> Value {
    serde_json::from_str(entry.json().as_str()).unwrap_or_default()
}

/// Puts a summary in place here; what is told of it names an entry of this session.
pub(super) fn keep_compaction(session: &mut Session, made: Compacted) -> CompactionResult {
    let mut result = made.result;
    let spoken = session.conversation();
    // An id of the other agent's is on no branch here, and keeps nothing.
    if let Some(first) = spoken.len().checked_sub(made.kept).and_then(|at| spoken.get(at)) {
        result.first_kept_entry_id = first.entry.to_string();
    }
    compacted(session, &result, false);
    result
}
