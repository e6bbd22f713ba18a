//! Parameters that all sessions share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::crew::{Crew, Crews};
use super::disk::Disk;
use super::file::{FileThreads, LARGE};
use super::storage::Storage;
use crate::world::{Clock, Ids};

/// The environment of a session.
#[derive(Clone)]
pub struct Start {
    pub(super) cwd: PathBuf,
    pub(super) parent: Option<String>,
    pub(super) id: Option<String>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn Ids>,
    pub(super) storage: Arc<dyn Storage>,
    /// Threads and open files shared with other sessions.
    pub(super) crews: Crews,
    /// `true` if a thread hands lines to the system.
    pub(super) beside: bool,
    /// `true` if a thread brings lines to the disk.
    pub(super) syncs_beside: bool,
    /// `true` if the file may be closed between writes.
    pub(super) rests: bool,
    /// `true` if a session without its working directory is rejected.
    pub(super) needs_directory: bool,
    /// Length in bytes from which on files keep the texts of their lines.
    pub(super) large: u64,
}

impl Start {
    /// Creates an environment with that working directory, which must be absolute.
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

    /// Sets the parent of a new session, usually a path. Has no effect on an opened session.
    pub fn parent(mut self, parent: Option<String>) -> Self {
        self.parent = parent;
        self
    }

    /// Sets the identifier of a new session; one from `ids` by default. Has no effect on an opened session.
    pub fn id(mut self, id: Option<String>) -> Self {
        self.id = id;
        self
    }

    /// Sets whether a session is rejected if its working directory does not exist. Has no effect on a new session.
    pub fn needing_directory(mut self, needed: bool) -> Self {
        self.needs_directory = needed;
        self
    }

    /// Lets a thread write the file, so a disk that does not answer blocks only callers that wait for it
    /// ([`Session::written`](super::Session::written)). By default, the caller that adds an entry writes it.
    pub fn beside(mut self) -> Self {
        (self.beside, self.rests) = (true, true);
        self
    }

    /// Returns the threads that write the file, or `None` if the callers do.
    pub(super) fn writers(&self) -> Option<Arc<Crew>> {
        self.beside.then(|| self.crews.writers.clone())
    }

    /// Returns the threads and places that the file shares with others.
    pub(super) fn file_threads(&self) -> FileThreads {
        FileThreads {
            syncers: self.syncs_beside.then(|| self.crews.syncers.clone()),
            places: self.rests.then(|| self.crews.files.clone()),
        }
    }

    /// Uses another storage, written and synced by the callers.
    #[cfg(any(test, feature = "testing"))]
    pub fn on(mut self, storage: Arc<dyn Storage>) -> Self {
        self.storage = storage;
        self.crews = Crews::new(usize::MAX);
        self.syncs_beside = false;
        self
    }

    /// Closes every file between writes.
    #[cfg(any(test, feature = "testing"))]
    pub fn closing(mut self) -> Self {
        self.crews = Crews::new(0);
        self.rests = true;
        self
    }

    /// Treats every file as large.
    #[cfg(test)]
    pub(crate) fn all_large(mut self) -> Self {
        self.large = 0;
        self
    }

    /// Makes a path of the user absolute.
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
