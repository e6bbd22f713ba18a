//! The entries of a branch, in the form that compaction uses.

use serde_json::Value;

use crate::session::StoredMessage;

/// An entry of the active branch, in the form that compaction uses.
#[derive(Debug, Clone)]
pub(crate) struct BranchEntry {
    /// Id of the entry.
    pub id: String,
    /// Kind of the entry.
    pub kind: EntryKind,
}

#[derive(Debug, Clone)]
pub(crate) enum EntryKind {
    /// The entry is a message.
    Message(StoredMessage),
    /// The entry is another one that the model receives as a message: of an extension, or of another branch.
    Note(StoredMessage),
    /// The entry is an earlier compaction.
    Compaction(PreviousCompaction),
    /// The entry is a setting, a name, or similar.
    Other,
}

/// The relevant members of an earlier compaction.
#[derive(Debug, Clone, Default)]
pub(crate) struct PreviousCompaction {
    /// The summary of the earlier compaction.
    pub summary: String,
    /// The details, if the agent made the summary itself.
    pub details: Option<Value>,
    /// Id of the first entry that the compaction kept; the entry may not exist.
    pub first_kept: String,
}
