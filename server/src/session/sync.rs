//! A thread that brings a file to the disk while its session goes on.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use tokio::sync::watch;

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

/// Counts writes and brings them to the disk. The thread ends with this value, after a last look.
#[derive(Debug)]
pub(super) struct Syncer {
    written: u64,
    progress: watch::Receiver<Progress>,
    work: Work,
}

enum Work {
    Thread(Sender<u64>),
    /// In the caller's thread, for tests and where there is no thread to be had.
    Inline(Job),
}

impl std::fmt::Debug for Work {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(if matches!(self, Work::Thread(_)) { "Thread" } else { "Inline" })
    }
}

/// What is to be done after writes.
pub(super) struct Job {
    file: Arc<dyn StoredFile>,
    /// Once, for the name of a file that is new.
    directory: Option<Box<dyn FnOnce() -> io::Result<()> + Send>>,
    progress: watch::Sender<Progress>,
}

impl Job {
    fn run(&mut self, number: u64) {
        let name = self.directory.take().map_or(Ok(()), |sync| sync());
        let result = name.and_then(|()| self.file.sync());
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

impl Syncer {
    /// For a file; `directory` syncs the directory that its name is in, where the name is new.
    pub fn new(
        file: Arc<dyn StoredFile>,
        directory: Option<Box<dyn FnOnce() -> io::Result<()> + Send>>,
        threaded: bool,
    ) -> Self {
        let (sender, progress) = watch::channel(Progress::default());
        let job = Job { file, directory, progress: sender };
        if !threaded {
            return Self { written: 0, progress, work: Work::Inline(job) };
        }
        let (work, numbers): (_, Receiver<u64>) = channel();
        let (give, given) = channel::<Job>();
        let thread = std::thread::Builder::new().name("session-sync".to_owned()).spawn(move || {
            let Ok(mut job) = given.recv() else { return };
            while let Ok(mut number) = numbers.recv() {
                // One sync serves all writes before it.
                number = numbers.try_iter().last().unwrap_or(number);
                job.run(number);
            }
        });
        let work = match thread {
            Ok(_) => {
                drop(give.send(job));
                Work::Thread(work)
            }
            Err(error) => {
                tracing::error!(%error, "no thread for the session file");
                Work::Inline(job)
            }
        };
        Self { written: 0, progress, work }
    }

    /// Something was written.
    pub fn wrote(&mut self) {
        self.written += 1;
        match &mut self.work {
            // Where the thread is gone the progress says so.
            Work::Thread(work) => drop(work.send(self.written)),
            Work::Inline(job) => job.run(self.written),
        }
    }

    /// How far it has come with what was written so far.
    pub fn settling(&self) -> Settling {
        Settling { progress: self.progress.clone(), written: self.written }
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
