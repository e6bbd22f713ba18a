//! What every session begins with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::LARGE;
use super::storage::{Disk, Storage};
use crate::world::{Clock, Ids};

/// What a session takes from around it.
#[derive(Clone)]
pub struct Start {
    pub(super) cwd: PathBuf,
    pub(super) parent: Option<String>,
    pub(super) id: Option<String>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn Ids>,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) threads: Threads,
    /// Whether a session is opened only where its directory is there.
    pub(super) needs_directory: bool,
    /// The length from which on files keep the texts of their lines.
    pub(super) large: u64,
}

/// What is done on threads of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Threads {
    /// Handing lines to the system.
    pub write: bool,
    /// Bringing them to the disk.
    pub sync: bool,
}

impl Start {
    /// Begins in that directory, which is absolute.
    pub fn new(cwd: impl Into<PathBuf>, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Self {
        let threads = Threads { write: false, sync: true };
        Self {
            cwd: cwd.into(),
            parent: None,
            id: None,
            clock,
            ids,
            storage: Arc::new(Disk),
            threads,
            needs_directory: false,
            large: LARGE,
        }
    }

    /// The session that a new one comes from, in the words of whoever says so. Means nothing for one
    /// that is opened.
    pub fn parent(mut self, parent: Option<String>) -> Self {
        self.parent = parent;
        self
    }

    /// The identifier of a session that is not kept; a fresh one by default. Means nothing for one that is.
    pub fn id(mut self, id: Option<String>) -> Self {
        self.id = id;
        self
    }

    /// Whether a session whose directory is gone is refused. Means nothing for a new one.
    pub fn needing_directory(mut self, needed: bool) -> Self {
        self.needs_directory = needed;
        self
    }

    /// A thread writes the file, so that a disk that does not answer holds up nobody who does not wait for it
    /// ([`Session::written`](super::Session::written)). By default whoever says something writes it.
    pub fn beside(mut self) -> Self {
        self.threads.write = true;
        self
    }

    /// Other files than those of this machine, written and synced by whoever says something.
    #[cfg(test)]
    pub(crate) fn on(mut self, storage: Arc<dyn Storage>) -> Self {
        self.storage = storage;
        self.threads = Threads { write: false, sync: false };
        self
    }

    /// Every file counts as large.
    #[cfg(test)]
    pub(crate) fn all_large(mut self) -> Self {
        self.large = 0;
        self
    }

    /// A path as the user says it, made absolute.
    pub(super) fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd.join(path).components().collect()
    }
}

impl std::fmt::Debug for Start {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Start")
            .field("cwd", &self.cwd)
            .field("parent", &self.parent)
            .finish_non_exhaustive()
    }
}
