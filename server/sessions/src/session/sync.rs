//! Brings a file to the disk while its session goes on.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::crew::Crew;
use super::storage::StoredFile;

/// How far a file has come.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    /// How many writes are on the disk.
    pub synced: u64,
    /// Why no more will be: what the system says about a file that it could not bring to the disk
    /// once is worth nothing afterwards.
    pub failed: Option<String>,
}

/// Done once, for the name of a file that is new.
pub(super) type SyncName = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// Gives the file that is to be brought to the disk.
pub(super) type GetFile = Box<dyn FnOnce() -> io::Result<Arc<dyn StoredFile>> + Send>;

/// Counts writes and brings them to the disk. What was written last is brought there also where this value is gone.
pub(super) struct Syncer {
    written: u64,
    job: Arc<Job>,
    /// Threads that sync; whoever writes does it where there are none.
    crew: Option<Arc<Crew>>,
}

struct Job {
    waiting: Mutex<Waiting>,
    progress: watch::Sender<Progress>,
}

/// The work that waits.
struct Waiting {
    number: u64,
    file: Option<GetFile>,
    name: Option<SyncName>,
    /// A thread is at it, or will be.
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
    /// For a file; `name` syncs the directory that its name is in, where the name is new.
    pub fn new(name: Option<SyncName>, crew: Option<Arc<Crew>>) -> Self {
        let waiting = Waiting { number: 0, file: None, name, is_begun: false };
        let progress = watch::Sender::new(Progress::default());
        Self { written: 0, job: Arc::new(Job { waiting: Mutex::new(waiting), progress }), crew }
    }

    /// Something was written to that file.
    pub fn wrote(&mut self, file: GetFile) {
        self.written += 1;
        let mut waiting = self.job.waiting();
        // One sync serves all writes before it.
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

    /// How far it has come with what was written so far.
    pub fn settling(&self) -> Settling {
        Settling { progress: self.job.progress.subscribe(), written: self.written }
    }
}

/// What was written up to some moment, on its way to the disk.
#[derive(Debug, Clone)]
pub(super) struct Settling {
    progress: watch::Receiver<Progress>,
    written: u64,
}

impl Settling {
    /// Why it could not be brought to the disk.
    pub fn failed(&self) -> Option<String> {
        self.progress.borrow().failed.clone()
    }

    /// Waits until it is on the disk. Fails with the reason.
    pub async fn settled(mut self) -> Result<(), String> {
        let written = self.written;
        let done = self.progress.wait_for(|progress| progress.synced >= written || progress.failed.is_some());
        match done.await {
            Ok(progress) => progress.failed.clone().map_or(Ok(()), Err),
            Err(_) => Err("the thread that writes it is gone".to_owned()),
        }
    }
}
