//! What every session begins with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::storage::{Disk, Storage};
use crate::world::{Clock, Ids};

/// What a session takes from around it.
#[derive(Clone)]
pub struct Start {
    pub(super) cwd: PathBuf,
    pub(super) parent: Option<String>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn Ids>,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) inline: bool,
}

impl Start {
    /// Begins in that directory, which is absolute.
    pub fn new(cwd: impl Into<PathBuf>, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Self {
        Self { cwd: cwd.into(), parent: None, clock, ids, storage: Arc::new(Disk), inline: false }
    }

    /// The session that a new one comes from, in the words of whoever says so. Means nothing for one
    /// that is opened.
    pub fn parent(mut self, parent: Option<String>) -> Self {
        self.parent = parent;
        self
    }

    /// Other files than those of this machine, synced where they are written.
    #[cfg(test)]
    pub(super) fn on(mut self, storage: Arc<dyn Storage>) -> Self {
        self.storage = storage;
        self.inline = true;
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
