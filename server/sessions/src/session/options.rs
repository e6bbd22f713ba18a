//! The options of a session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::Disk;
use super::file::{FileResources, LARGE};
use super::storage::Storage;
use super::thread_pool::{SharedResources, ThreadPool};
use crate::runtime::{Clock, Ids};

/// Options of a session: clock, storage, threads, and values for a new session.
#[derive(Clone)]
pub struct SessionOptions {
    pub(super) cwd: PathBuf,
    pub(super) parent: Option<String>,
    pub(super) id: Option<String>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn Ids>,
    pub(super) storage: Arc<dyn Storage>,
    /// Threads and open files shared with other sessions.
    pub(super) shared: SharedResources,
    /// `true` if a thread writes the lines instead of the caller.
    pub(super) writes_in_background: bool,
    /// `true` if a thread syncs the lines to the disk instead of the caller.
    pub(super) syncs_in_background: bool,
    /// `true` if the file need not stay open between writes.
    pub(super) closes_between_writes: bool,
    /// `true` if opening fails for a session whose working directory does not exist.
    pub(super) needs_directory: bool,
    /// Length in bytes of a file from which on the texts of its lines are not kept in memory.
    pub(super) large_threshold: u64,
}

impl SessionOptions {
    /// Creates options for a working directory, which must be an absolute path.
    pub fn new(cwd: impl Into<PathBuf>, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Self {
        Self {
            cwd: cwd.into(),
            parent: None,
            id: None,
            clock,
            ids,
            storage: Arc::new(Disk),
            shared: SharedResources::of_process(),
            writes_in_background: false,
            syncs_in_background: true,
            closes_between_writes: false,
            needs_directory: false,
            large_threshold: LARGE,
        }
    }

    /// Sets the parent of a new session, usually a path. Has no effect if a session is opened.
    pub fn parent(mut self, parent: Option<String>) -> Self {
        self.parent = parent;
        self
    }

    /// Sets the identifier of a new session. By default, `ids` generates it. Has no effect if a session is opened.
    pub fn id(mut self, id: Option<String>) -> Self {
        self.id = id;
        self
    }

    /// Makes opening fail for a session whose working directory does not exist, if `needed` is true. Has no effect on a
    /// new session.
    pub fn require_directory(mut self, needed: bool) -> Self {
        self.needs_directory = needed;
        self
    }

    /// Writes the file on a thread. So a disk that does not answer blocks only callers of
    /// [`Session::wait_written`](super::Session::wait_written). By default, the caller that adds an entry writes it.
    pub fn write_in_background(mut self) -> Self {
        (self.writes_in_background, self.closes_between_writes) = (true, true);
        self
    }

    /// Returns the threads that write the file. Returns `None` if the callers write it.
    pub(super) fn writer_pool(&self) -> Option<Arc<ThreadPool>> {
        self.writes_in_background.then(|| self.shared.writers.clone())
    }

    /// Returns the threads and slots that the files of all sessions share.
    pub(super) fn file_resources(&self) -> FileResources {
        FileResources {
            syncers: self.syncs_in_background.then(|| self.shared.syncers.clone()),
            slots: self.closes_between_writes.then(|| self.shared.file_slots.clone()),
        }
    }

    /// Sets another storage, which the callers write and sync without threads.
    #[cfg(any(test, feature = "testing"))]
    pub fn with_storage(mut self, storage: Arc<dyn Storage>) -> Self {
        self.storage = storage;
        self.shared = SharedResources::new(usize::MAX);
        self.syncs_in_background = false;
        self
    }

    /// Closes every file between writes.
    #[cfg(any(test, feature = "testing"))]
    pub fn close_between_writes(mut self) -> Self {
        self.shared = SharedResources::new(0);
        self.closes_between_writes = true;
        self
    }

    /// Treats every file as large.
    #[cfg(test)]
    pub(crate) fn treat_all_as_large(mut self) -> Self {
        self.large_threshold = 0;
        self
    }

    /// Returns the absolute path for a path from the user.
    pub(super) fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd.join(path).components().collect()
    }
}

impl std::fmt::Debug for SessionOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SessionOptions")
            .field("cwd", &self.cwd)
            .field("parent", &self.parent)
            .finish_non_exhaustive()
    }
}
