//! Synchronization of a file to the disk while its session goes on.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::storage::StoredFile;
use super::thread_pool::ThreadPool;

/// The progress of a file to the disk.
#[derive(Debug, Clone, Default)]
pub(super) struct SyncState {
    /// Number of writes on the disk.
    pub synced: u64,
    /// Reason why no further write gets there. After one failed sync of a file, later reports of the system about it
    /// are not reliable.
    pub failed: Option<String>,
}

/// A function that brings the name of a new file to the disk, called once.
pub(super) type DirectorySync = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// A function that returns the file to sync.
pub(super) type FileProvider = Box<dyn FnOnce() -> io::Result<Arc<dyn StoredFile>> + Send>;

/// A counter of writes that brings them to the disk. The last writes get there even if this value is dropped.
pub(super) struct Syncer {
    written: u64,
    job: Arc<SyncJob>,
    /// Threads that sync; without them each write syncs.
    pool: Option<Arc<ThreadPool>>,
}

struct SyncJob {
    pending: Mutex<PendingSync>,
    progress: watch::Sender<SyncState>,
}

/// The queued work.
struct PendingSync {
    number: u64,
    file: Option<FileProvider>,
    name: Option<DirectorySync>,
    /// `true` if a thread does the work, or will.
    is_scheduled: bool,
}

impl SyncJob {
    fn pending(&self) -> MutexGuard<'_, PendingSync> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        loop {
            let (number, file, name) = {
                let mut waiting = self.pending();
                let Some(file) = waiting.file.take() else {
                    waiting.is_scheduled = false;
                    return;
                };
                (waiting.number, file, waiting.name.take())
            };
            let sync = || {
                name.map_or(Ok(()), |sync| sync())?;
                file()?.sync()
            };
            let result = catch_unwind(AssertUnwindSafe(sync));
            let result = result.unwrap_or_else(|_| Err(io::Error::other("internal error")));
            self.progress.send_modify(|progress| match result {
                Ok(()) if progress.failed.is_none() => progress.synced = number,
                Ok(()) => {}
                Err(error) => {
                    tracing::error!(%error, "a session could not be synced to disk");
                    progress.failed = Some(error.to_string());
                }
            });
        }
    }
}

impl Syncer {
    /// Creates a syncer for a file. If the name of the file is new, `name` syncs its directory.
    pub fn new(name: Option<DirectorySync>, pool: Option<Arc<ThreadPool>>) -> Self {
        let waiting = PendingSync { number: 0, file: None, name, is_scheduled: false };
        let progress = watch::Sender::new(SyncState::default());
        Self { written: 0, job: Arc::new(SyncJob { pending: Mutex::new(waiting), progress }), pool }
    }

    /// Notes a write to that file, and starts a sync.
    pub fn record_write(&mut self, file: FileProvider) {
        self.written += 1;
        let mut waiting = self.job.pending();
        // One sync covers all earlier writes.
        (waiting.number, waiting.file) = (self.written, Some(file));
        if std::mem::replace(&mut waiting.is_scheduled, true) {
            return;
        }
        drop(waiting);
        match &self.pool {
            Some(pool) => {
                let job = self.job.clone();
                pool.submit(move || job.run());
            }
            None => self.job.run(),
        }
    }

    /// Returns the progress of the writes so far.
    pub fn progress(&self) -> SyncProgress {
        SyncProgress { progress: self.job.progress.subscribe(), written: self.written }
    }
}

/// The progress of the writes up to one moment.
#[derive(Debug, Clone)]
pub(super) struct SyncProgress {
    progress: watch::Receiver<SyncState>,
    written: u64,
}

impl SyncProgress {
    /// Returns the reason why the sync failed.
    pub fn failed(&self) -> Option<String> {
        self.progress.borrow().failed.clone()
    }

    /// Waits until the writes are on the disk. Fails with the reason if they cannot be synced.
    pub async fn wait(mut self) -> Result<(), String> {
        let written = self.written;
        let done = self.progress.wait_for(|progress| progress.synced >= written || progress.failed.is_some());
        match done.await {
            Ok(progress) => progress.failed.clone().map_or(Ok(()), Err),
            Err(_) => Err("its writer thread has ended".to_owned()),
        }
    }
}
