//! The entries of a branch, as far as compaction cares.

use serde_json::Value;

use crate::session::StoredMessage;

/// An entry of the active branch, as far as compaction cares.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// Its id.
    pub id: String,
    /// What it is.
    pub kind: Kind,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// A message.
    Message(StoredMessage),
    /// Something else that the model gets to see as a message: of an extension, of another branch.
    Note(StoredMessage),
    /// An earlier compaction.
    Compaction(Previous),
    /// A setting, a name, and the like.
    Other,
}

/// What matters of an earlier compaction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Previous {
    /// Its summary.
    pub summary: String,
    /// Its details, where the agent itself made them.
    pub details: Option<Value>,
    /// The first entry that it kept; there may be no such entry.
    pub first_kept: String,
}
