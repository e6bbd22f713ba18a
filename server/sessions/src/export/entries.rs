//! Access to the entries of a session, one at a time.

use std::borrow::Cow;

use serde_json::Value;

use super::redact::{Secrets, redacted};

/// The entries of a session, in the order of the file. An export reads each entry twice and does not keep it, so that a
/// long session need not fit into memory.
pub trait Entries {
    /// Returns the number of entries.
    fn count(&self) -> usize;

    /// Returns the entry at an index. Returns null if the entry cannot be read any more.
    fn entry(&self, at: usize) -> Cow<'_, Value>;
}

impl<T: AsRef<[Value]> + ?Sized> Entries for T {
    fn count(&self) -> usize {
        self.as_ref().len()
    }

    fn entry(&self, at: usize) -> Cow<'_, Value> {
        self.as_ref().get(at).map_or(Cow::Owned(Value::Null), Cow::Borrowed)
    }
}

/// The entries, with secrets replaced when an entry is read.
pub(super) struct RedactedEntries<'a> {
    pub entries: &'a dyn Entries,
    pub secrets: &'a Secrets,
}

impl<'a> RedactedEntries<'a> {
    pub fn count(&self) -> usize {
        self.entries.count()
    }

    pub fn entry(&self, at: usize) -> Cow<'a, Value> {
        match self.entries.entry(at) {
            Cow::Borrowed(entry) => redacted(entry, self.secrets),
            Cow::Owned(entry) => match redacted(&entry, self.secrets) {
                Cow::Borrowed(_) => Cow::Owned(entry),
                Cow::Owned(clean) => Cow::Owned(clean),
            },
        }
    }
}
