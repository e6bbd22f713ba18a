//! The active branch of a session, as compaction sees it.

use agentese::types::CompactionResult;

use super::compaction::{Item, Kind, Previous};
use crate::session::{Compaction, EntryKind, Session};

/// The entries from the root to the leaf.
pub(super) fn items(session: &Session) -> Vec<Item> {
    let kind = |kind: &EntryKind| match kind {
        EntryKind::Message(message) => Kind::Message(message.clone()),
        EntryKind::Compaction(compaction) => Kind::Compaction(Previous {
            summary: compaction.summary.clone(),
            details: compaction.details.clone().filter(|_| !compaction.from_hook),
        }),
        other => other.as_message().map_or(Kind::Other, Kind::Note),
    };
    session.path().into_iter().map(|entry| Item { id: entry.id().to_string(), kind: kind(entry.kind()) }).collect()
}
