//! Syncing a file to the disk, while its session continues.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::storage::StoredFile;
use super::thread_pool::ThreadPool;

/// The progress of syncing a file to the disk.
#[derive(Debug, Clone, Default)]
pub(super) struct SyncState {
    /// Number of writes that are synced to the disk.
    pub synced: u64,
    /// Reason why syncing has failed. No further write counts as synced, because the system's reports about the file
    /// are not reliable after a failure.
    pub failed: Option<String>,
}

/// A function that syncs the directory of a new file. It is called once.
pub(super) type DirectorySync = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// A function that returns the file to sync, and opens it if necessary.
pub(super) type FileProvider = Box<dyn FnOnce() -> io::Result<Arc<dyn StoredFile>> + Send>;

/// Counts the writes to a file and syncs them to the disk. Dropping the syncer does not stop a sync that has been
/// requested.
pub(super) struct Syncer {
    written: u64,
    job: Arc<SyncJob>,
    /// Threads that sync. Without them, each write syncs the file itself.
    pool: Option<Arc<ThreadPool>>,
}

struct SyncJob {
    pending: Mutex<PendingSync>,
    progress: watch::Sender<SyncState>,
}

/// A sync that was requested and has not ended.
struct PendingSync {
    number: u64,
    file: Option<FileProvider>,
    name: Option<DirectorySync>,
    /// `true` if a thread performs the sync, or will do so.
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
    /// Creates a syncer for a file. For a file with a new name, `name` syncs its directory.
    pub fn new(name: Option<DirectorySync>, pool: Option<Arc<ThreadPool>>) -> Self {
        let waiting = PendingSync { number: 0, file: None, name, is_scheduled: false };
        let progress = watch::Sender::new(SyncState::default());
        Self { written: 0, job: Arc::new(SyncJob { pending: Mutex::new(waiting), progress }), pool }
    }

    /// Counts a write and requests a sync. `file` returns the file that was written.
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

    /// Returns a value that reports the progress of the writes so far.
    pub fn progress(&self) -> SyncProgress {
        SyncProgress { progress: self.job.progress.subscribe(), written: self.written }
    }
}

/// The progress of all writes up to one time.
#[derive(Debug, Clone)]
pub(super) struct SyncProgress {
    progress: watch::Receiver<SyncState>,
    written: u64,
}

impl SyncProgress {
    /// Returns the reason why syncing has failed, if it has.
    pub fn failed(&self) -> Option<String> {
        self.progress.borrow().failed.clone()
    }

    /// Waits until the writes are synced to the disk. Fails with the reason if this is not possible.
    pub async fn wait(mut self) -> Result<(), String> {
        let written = self.written;
        let done = self.progress.wait_for(|progress| progress.synced >= written || progress.failed.is_some());
        match done.await {
            Ok(progress) => progress.failed.clone().map_or(Ok(()), Err),
            Err(_) => Err("its writer thread has ended".to_owned()),
        }
    }
}
