//! The active branch of a session, in the form that compaction uses.

use agentese::types::{AgentMessage, CompactionResult};
use serde_json::Value;

use super::{BranchEntry, EntryKind, PreviousCompaction};
use crate::engine::remote::agent::RemoteCompaction;
use crate::session::{Body, Compaction, Entry, EntryId, Role, Session};

/// Returns the entries from the root to the leaf.
pub(in crate::engine) fn branch_entries(session: &Session) -> Vec<BranchEntry> {
    let item = |entry: &Entry| BranchEntry { id: entry.id().to_string(), kind: entry_kind(entry) };
    session.path().into_iter().map(item).collect()
}

fn entry_kind(entry: &Entry) -> EntryKind {
    match entry.body() {
        Body::Compaction(compaction) => EntryKind::Compaction(PreviousCompaction {
            summary: compaction.summary.clone(),
            first_kept: compaction.first_kept_entry_id.to_string(),
            // Details of an extension have no defined format.
            details: compaction.details.clone().filter(|_| compaction.from_hook != Some(true)),
        }),
        Body::Message(Role::System) => EntryKind::Other,
        Body::Message(_) => EntryKind::Message(entry.stored_message()),
        _ if entry.has_model_message() => EntryKind::Note(entry.stored_message()),
        _ => EntryKind::Other,
    }
}

/// Replaces the summarised entries with a summary. Returns the compaction entry as written to the file.
/// `from_extension` is `true` if an extension supplied the summary.
pub(in crate::engine) fn apply_compaction(
    session: &mut Session,
    result: &CompactionResult,
    from_extension: bool,
) -> Value {
    let id = session.add_compaction(Compaction {
        summary: result.summary.clone(),
        first_kept_entry_id: EntryId::from(result.first_kept_entry_id.as_str()),
        tokens_before: result.tokens_before,
        details: result.details.as_option().cloned(),
        usage: result.usage.as_ref().and_then(|usage| serde_json::to_value(usage).ok()),
        from_hook: Some(from_extension),
        system_message: session
            .instructions()
            .and_then(|message| serde_json::to_value(AgentMessage::from(message)).ok()),
    });
    session.entry(id.as_str()).map(entry_json).unwrap_or_default()
}

/// Returns the entries from the root to the leaf, as written to the file.
pub(in crate::engine) fn branch_json(session: &Session) -> Vec<Value> {
    session.path().into_iter().map(entry_json).collect()
}

fn entry_json(entry: &Entry) -> Value {
    serde_json::from_str(entry.json().as_str()).unwrap_or_default()
}

/// Applies a compaction that the remote agent made to this session. The first kept entry in the result is an entry
/// of this session, not of the remote agent.
pub(in crate::engine) fn apply_remote_compaction(
    session: &mut Session,
    made: RemoteCompaction,
) -> CompactionResult {
    let mut result = made.result;
    let conversation = session.conversation();
    // The remote agent's entry ids are on no branch of this session and keep no entry.
    if let Some(first) =
        conversation.len().checked_sub(made.kept_messages).and_then(|at| conversation.get(at))
    {
        result.first_kept_entry_id = first.entry.to_string();
    }
    apply_compaction(session, &result, false);
    result
}
