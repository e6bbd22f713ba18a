//! The active branch of a session, in the form for compaction.

use agentese::types::{AgentMessage, CompactionResult};
use serde_json::Value;

use super::compaction::{Item, Kind, Previous};
use super::lead::Compacted;
use crate::session::{Body, Compaction, Entry, EntryId, Role, Session};

/// Returns the entries from the root to the leaf.
pub(super) fn items(session: &Session) -> Vec<Item> {
    let item = |entry: &Entry| Item { id: entry.id().to_string(), kind: kind(entry) };
    session.path().into_iter().map(item).collect()
}

fn kind(entry: &Entry) -> Kind {
    match entry.body() {
        Body::Compaction(compaction) => Kind::Compaction(Previous {
            summary: compaction.summary.clone(),
            first_kept: compaction.first_kept_entry_id.to_string(),
            // Details of an extension have no defined format.
            details: compaction.details.clone().filter(|_| compaction.from_hook != Some(true)),
        }),
        Body::Message(Role::System) => Kind::Other,
        Body::Message(_) => Kind::Message(entry.stored_message()),
        _ if entry.speaks() => Kind::Note(entry.stored_message()),
        _ => Kind::Other,
    }
}

/// Replaces the summarised entries with a summary. Returns the compaction entry as written to the file. `given` is
/// `true` if an extension supplied the summary.
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

/// Returns the entries from the root to the leaf, as written to the file.
pub(super) fn entries(session: &Session) -> Vec<Value> {
    session.path().into_iter().map(json).collect()
}

fn json(entry: &Entry) -> Value {
    serde_json::from_str(entry.json().as_str()).unwrap_or_default()
}

/// Applies the compaction of the remote agent to this session. The result names an entry of this session.
pub(super) fn keep_compaction(session: &mut Session, made: Compacted) -> CompactionResult {
    let mut result = made.result;
    let spoken = session.conversation();
    // The remote agent's entry ids are on no branch of this session and keep no entry.
    if let Some(first) = spoken.len().checked_sub(made.kept).and_then(|at| spoken.get(at)) {
        result.first_kept_entry_id = first.entry.to_string();
    }
    compacted(session, &result, false);
    result
}
