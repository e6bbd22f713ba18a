//! Entries that are read from their file when they are needed.

use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::FileExt;

use serde_json::Value;

use super::entries::Entries;

/// The entries of a session file, of which only the positions of the lines are in memory.
#[derive(Debug)]
pub struct StoredEntries {
    file: File,
    /// Offset and length of each line, in bytes.
    lines: Vec<(u64, usize)>,
}

impl StoredEntries {
    pub(super) fn new(file: File, lines: Vec<(u64, usize)>) -> Self {
        Self { file, lines }
    }

    fn read(&self, at: usize) -> Option<Value> {
        let (begin, length) = *self.lines.get(at)?;
        let mut line = vec![0; length];
        self.file.read_exact_at(&mut line, begin).ok()?;
        serde_json::from_slice(&line).ok()
    }
}

impl Entries for StoredEntries {
    fn count(&self) -> usize {
        self.lines.len()
    }

    fn entry(&self, at: usize) -> Cow<'_, Value> {
        Cow::Owned(self.read(at).unwrap_or_default())
    }
}
