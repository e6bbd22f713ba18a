//! What every session begins with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::crew::{Crew, Crews};
use super::disk::Disk;
use super::file::{FileThreads, LARGE};
use super::storage::Storage;
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
    /// Threads and open files that sessions share.
    pub(super) crews: Crews,
    /// Whether a thread hands lines to the system.
    pub(super) beside: bool,
    /// Whether a thread brings them to the disk.
    pub(super) syncs_beside: bool,
    /// Whether the file may be closed between writes.
    pub(super) rests: bool,
    /// Whether a session is opened only where its directory is there.
    pub(super) needs_directory: bool,
    /// The length from which on files keep the texts of their lines.
    pub(super) large: u64,
}

impl Start {
    /// Begins in that directory, which is absolute.
    pub fn new(cwd: impl Into<PathBuf>, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Self {
        Self {
            cwd: cwd.into(),
            parent: None,
            id: None,
            clock,
            ids,
            storage: Arc::new(Disk),
            crews: Crews::of_process(),
            beside: false,
            syncs_beside: true,
            rests: false,
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
        (self.beside, self.rests) = (true, true);
        self
    }

    /// The threads that write its file; none where whoever says something does.
    pub(super) fn writers(&self) -> Option<Arc<Crew>> {
        self.beside.then(|| self.crews.writers.clone())
    }

    /// The threads and places that the file of a session shares with others.
    pub(super) fn file_threads(&self) -> FileThreads {
        FileThreads {
            syncers: self.syncs_beside.then(|| self.crews.syncers.clone()),
            places: self.rests.then(|| self.crews.files.clone()),
        }
    }

    /// Other files than those of this machine, written and synced by whoever says something.
    #[cfg(any(test, feature = "testing"))]
    pub fn on(mut self, storage: Arc<dyn Storage>) -> Self {
        self.storage = storage;
        self.crews = Crews::new(usize::MAX);
        self.syncs_beside = false;
        self
    }

    /// No file stays open between writes.
    #[cfg(any(test, feature = "testing"))]
    pub fn closing(mut self) -> Self {
        self.crews = Crews::new(0);
        self.rests = true;
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
