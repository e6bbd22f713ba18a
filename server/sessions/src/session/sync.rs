//! Synchronization of a file to the disk while its session goes on.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::crew::Crew;
use super::storage::StoredFile;

/// The progress of a file to the disk.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    /// Number of writes on the disk.
    pub synced: u64,
    /// Reason why no further write gets there. After one failed sync of a file, later reports of the system about it
    /// are not reliable.
    pub failed: Option<String>,
}

/// A function that brings the name of a new file to the disk, called once.
pub(super) type SyncName = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// A function that returns the file to sync.
pub(super) type GetFile = Box<dyn FnOnce() -> io::Result<Arc<dyn StoredFile>> + Send>;

/// A counter of writes that brings them to the disk. The last writes get there even if this value is dropped.
pub(super) struct Syncer {
    written: u64,
    job: Arc<Job>,
    /// Threads that sync; without them each write syncs.
    crew: Option<Arc<Crew>>,
}

struct Job {
    waiting: Mutex<Waiting>,
    progress: watch::Sender<Progress>,
}

/// The queued work.
struct Waiting {
    number: u64,
    file: Option<GetFile>,
    name: Option<SyncName>,
    /// `true` if a thread does the work, or will.
    is_begun: bool,
}

impl Job {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        loop {
            let (number, file, name) = {
                let mut waiting = self.waiting();
                let Some(file) = waiting.file.take() else {
                    waiting.is_begun = false;
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
                    tracing::error!(%error, "a session could not be brought to the disk");
                    progress.failed = Some(error.to_string());
                }
            });
        }
    }
}

impl Syncer {
    /// Creates a syncer for a file. If the name of the file is new, `name` syncs its directory.
    pub fn new(name: Option<SyncName>, crew: Option<Arc<Crew>>) -> Self {
        let waiting = Waiting { number: 0, file: None, name, is_begun: false };
        let progress = watch::Sender::new(Progress::default());
        Self { written: 0, job: Arc::new(Job { waiting: Mutex::new(waiting), progress }), crew }
    }

    /// Notes a write to that file, and starts a sync.
    pub fn wrote(&mut self, file: GetFile) {
        self.written += 1;
        let mut waiting = self.job.waiting();
        // One sync covers all earlier writes.
        (waiting.number, waiting.file) = (self.written, Some(file));
        if std::mem::replace(&mut waiting.is_begun, true) {
            return;
        }
        drop(waiting);
        match &self.crew {
            Some(crew) => {
                let job = self.job.clone();
                crew.submit(move || job.run());
            }
            None => self.job.run(),
        }
    }

    /// Returns the progress of the writes so far.
    pub fn settling(&self) -> Settling {
        Settling { progress: self.job.progress.subscribe(), written: self.written }
    }
}

/// The progress of the writes up to one moment.
#[derive(Debug, Clone)]
pub(super) struct Settling {
    progress: watch::Receiver<Progress>,
    written: u64,
}

impl Settling {
    /// Returns the reason why the sync failed.
    pub fn failed(&self) -> Option<String> {
        self.progress.borrow().failed.clone()
    }

    /// Waits until the writes are on the disk. Fails with the reason if they cannot be synced.
    pub async fn settled(mut self) -> Result<(), String> {
        let written = self.written;
        let done = self.progress.wait_for(|progress| progress.synced >= written || progress.failed.is_some());
        match done.await {
            Ok(progress) => progress.failed.clone().map_or(Ok(()), Err),
            Err(_) => Err("the thread that writes it is gone".to_owned()),
        }
    }
}
