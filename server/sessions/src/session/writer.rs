//! Writing of a session file, by the caller or by a thread for all sessions of the process.
//!
//! The thread receives the lines of a session in order and writes waiting lines in one piece. Their texts are shared
//! with the session. [`Writer::written`] waits until the system has the lines. A disk that does not answer blocks only
//! the callers that wait.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::crew::Crew;
use super::error::StorageTrouble;
use super::file::{FileStatus, SessionFile};
use super::storage::Storage;
use super::text::Text;

/// Maximum time that an ending session waits for a disk that does not answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum time that a caller waits on a thread that should not block.
const MOMENT: Duration = Duration::from_millis(50);

/// Maximum time of a write on a healthy disk. The thread of the caller is blocked for that long.
const USUAL: Duration = Duration::from_millis(2);

/// A writer of the file of one session.
pub(super) struct Writer {
    path: PathBuf,
    storage: Arc<dyn Storage>,
    /// Threads that write.
    crew: Option<Arc<Crew>>,
    work: Work,
    progress: Arc<Progress>,
    /// Number of orders so far.
    ordered: u64,
    /// Number of lines that were handed over.
    handed: usize,
    /// Number of the last order for which the disk was too slow.
    late: u64,
}

enum Work {
    Here(Box<Job>),
    There(Arc<Inbox>),
    Ended,
}

/// Orders for the threads that write. One thread at a time executes them.
struct Inbox {
    crew: Arc<Crew>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// The job; `None` while a thread has it, and after its end or failure.
    job: Option<Box<Job>>,
    /// Number of the last order that is still waiting.
    number: Option<u64>,
    lines: Vec<Text>,
    ends: bool,
}

/// Maximum total length of the newest written lines that are kept in memory, in bytes. These lines are whole
/// again if another program cuts the file. The texts of older lines stay in the file.
const NEWEST: usize = 64 << 10;

/// A file and all of its lines. The file is unlocked before the end is reported.
struct Job {
    file: SessionFile,
    lines: Vec<Text>,
    newest: Newest,
    progress: Ending,
}

/// Written lines that are kept in memory: their numbers and offsets in the file, and their total length.
#[derive(Default)]
struct Newest {
    lines: VecDeque<(usize, u64)>,
    length: usize,
}

/// A guard that reports the end of the work, also after a panic.
struct Ending(Arc<Progress>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.change(|status| {
            status.ended = true;
            if std::thread::panicking() {
                status.file.trouble = Some("the session cannot be written: internal error".to_owned().into());
            }
        });
    }
}

/// The progress of the writing, for callers that wait.
#[derive(Default)]
struct Progress {
    status: Mutex<Status>,
    condition: Condvar,
    notify: Notify,
}

#[derive(Clone, Default)]
struct Status {
    /// Number of orders that were executed.
    done: u64,
    ended: bool,
    file: FileStatus,
    /// Lines whose texts stay in the file now.
    left: Vec<(usize, Text)>,
}

impl Progress {
    fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.status());
        self.condition.notify_all();
        self.notify.notify_waiters();
    }

    async fn wait(&self, is: impl Fn(&Status) -> bool) {
        loop {
            let changed = self.notify.notified();
            if is(&self.status()) {
                return;
            }
            changed.await;
        }
    }

    /// Waits as [`Progress::wait`] does, but blocks the thread. Returns false after the time limit.
    fn block(&self, limit: Duration, is: impl Fn(&Status) -> bool) -> bool {
        let status = self.status();
        let waited = self.condition.wait_timeout_while(status, limit, |status| !is(status));
        waited.map_or(true, |(_, timeout)| !timeout.timed_out())
    }
}

impl Job {
    fn carry_out(&mut self, number: u64, lines: Vec<Text>) {
        if self.lines.is_empty() {
            self.lines = lines;
        } else {
            self.lines.extend(lines);
        }
        self.file.write(&self.lines);
        let mut left = self.leave_old_ones();
        self.file.rest();
        let file = self.file.status();
        self.progress.0.change(|status| {
            (status.done, status.file) = (number, file);
            status.left.append(&mut left);
        });
    }

    /// Replaces lines that are no longer among the newest by their texts in the file. Returns these texts with the
    /// numbers of the lines.
    fn leave_old_ones(&mut self) -> Vec<(usize, Text)> {
        let Some((placed, shelf)) = self.file.take_placed() else { return Vec::new() };
        if placed
            .first()
            .is_some_and(|(line, _)| self.newest.lines.back().is_some_and(|(last, _)| line <= last))
        {
            // The lines were written again, at other offsets.
            self.newest = Newest::default();
        }
        // The header stays in memory: without it, no other line is of use if the file is removed.
        let in_memory =
            placed.into_iter().filter(|(line, _)| *line > 0 && self.lines[*line].here().is_some());
        for place in in_memory {
            self.newest.length += self.lines[place.0].len();
            self.newest.lines.push_back(place);
        }
        let mut left = Vec::new();
        while self.newest.length > NEWEST
            && let Some((line, at)) = self.newest.lines.pop_front()
        {
            self.newest.length -= self.lines[line].len();
            let text = self.lines[line].here().map(|text| Text::there(&shelf, at, text.as_str()));
            if let Some(text) = text {
                self.lines[line] = text.clone();
                left.push((line, text));
            }
        }
        left
    }

    /// Tries a last time to write the remaining lines; then other processes can open the file.
    fn end(mut self) {
        let Status { done, file, .. } = self.progress.0.status().clone();
        if file.trouble.is_some() {
            self.carry_out(done, Vec::new());
        }
    }
}

impl Inbox {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn order(self: &Arc<Self>, number: u64, mut lines: Vec<Text>) {
        let mut waiting = self.waiting();
        waiting.number = Some(number);
        waiting.lines.append(&mut lines);
        self.go_on(waiting);
    }

    fn end(self: &Arc<Self>) {
        let mut waiting = self.waiting();
        waiting.ends = true;
        self.go_on(waiting);
    }

    /// Lets a thread execute the waiting orders, unless one does already.
    fn go_on(self: &Arc<Self>, mut waiting: MutexGuard<'_, Waiting>) {
        if let Some(job) = waiting.job.take() {
            drop(waiting);
            let inbox = self.clone();
            self.crew.submit(move || inbox.work(job));
        }
    }

    /// Executes the waiting orders in one piece. Later orders wait behind other sessions.
    fn work(self: Arc<Self>, mut job: Box<Job>) {
        let (number, lines) = {
            let mut waiting = self.waiting();
            (waiting.number.take(), std::mem::take(&mut waiting.lines))
        };
        if let Some(number) = number {
            job.carry_out(number, lines);
        }
        let mut waiting = self.waiting();
        if waiting.number.is_none() && waiting.ends {
            drop(waiting);
            return job.end();
        }
        let has_more = waiting.number.is_some();
        waiting.job = Some(job);
        if has_more {
            self.go_on(waiting);
        }
    }
}

impl Writer {
    /// Creates a writer of that file. With a crew, its threads write from the first lines on.
    pub fn new(file: SessionFile, crew: Option<Arc<Crew>>) -> Self {
        let progress = Arc::new(Progress::default());
        progress.change(|status| status.file = file.status());
        Self {
            path: file.path().to_owned(),
            storage: file.storage().clone(),
            crew,
            work: Work::Here(Box::new(Job {
                file,
                lines: Vec::new(),
                newest: Newest::default(),
                progress: Ending(progress.clone()),
            })),
            progress,
            ordered: 0,
            handed: 0,
            late: 0,
        }
    }

    /// Returns the path of the file, which need not exist yet.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of lines that were handed over.
    pub fn handed(&self) -> usize {
        self.handed
    }

    /// Returns the lines whose texts are in the file since the last call, with their numbers.
    pub fn take_left(&self) -> Vec<(usize, Text)> {
        std::mem::take(&mut self.progress.status().left)
    }

    /// Returns true if the file has lines, or will have some.
    pub fn is_begun(&self) -> bool {
        self.handed > 0 || self.is_there()
    }

    /// Returns true if the file has lines.
    pub fn is_there(&self) -> bool {
        self.progress.status().file.written > 0
    }

    /// Hands over the next lines. Lines that could not be written before are tried again.
    pub fn write(&mut self, lines: Vec<Text>) {
        self.start();
        self.order(lines);
    }

    /// Writes lines as [`Writer::write`] does, but on the caller's thread, before a thread has the work. The file need
    /// not stay open afterwards.
    pub fn write_here(&mut self, lines: Vec<Text>) {
        self.order(lines);
        self.rest();
    }

    /// Closes the file between writes, if it need not stay open.
    pub fn rest(&mut self) {
        if let Work::Here(job) = &mut self.work {
            job.file.rest();
        }
    }

    fn order(&mut self, lines: Vec<Text>) {
        self.handed += lines.len();
        self.ordered += 1;
        match &mut self.work {
            Work::Here(job) => job.carry_out(self.ordered, lines),
            // Failed work has reported its error.
            Work::There(inbox) => inbox.order(self.ordered, lines),
            Work::Ended => {}
        }
    }

    /// Hands the work to the threads.
    fn start(&mut self) {
        let Some(crew) = self.crew.clone().filter(|_| matches!(self.work, Work::Here(_))) else { return };
        let inbox = Arc::new(Inbox { crew, waiting: Mutex::default() });
        if let Work::Here(job) = std::mem::replace(&mut self.work, Work::There(inbox.clone())) {
            inbox.waiting().job = Some(job);
        }
    }

    /// Tries again to write the remaining lines.
    pub fn retry(&mut self) {
        if self.progress.status().file.trouble.is_some() {
            self.order(Vec::new());
        }
    }

    /// Waits until the system has all lines handed over so far, or writing them has failed.
    pub fn written(&self) -> impl Future<Output = ()> + Send + use<> {
        let (progress, number) = (self.progress.clone(), self.ordered);
        async move { progress.wait(|status| status.done >= number || status.ended).await }
    }

    /// Returns true if the system has all lines handed over so far, within two milliseconds. The caller's thread is
    /// blocked meanwhile, so the order of events is the same as without a disk.
    pub fn is_written(&self) -> bool {
        let number = self.ordered;
        self.progress.block(USUAL, |status| status.done >= number || status.ended)
    }

    /// Waits as [`Writer::written`] does, but briefly and on the caller's thread. Does not wait while the disk does not
    /// answer.
    pub fn linger(&self) {
        let number = self.ordered;
        if !self.is_late() {
            self.progress.block(MOMENT, |status| status.done >= number || status.ended);
        }
    }

    /// Notes that a caller has waited too long: [`Writer::trouble`] reports this until the disk answers.
    pub fn note_late(&mut self) {
        self.late = self.ordered;
    }

    /// Returns true if the disk has not answered since a caller waited too long.
    pub fn is_late(&self) -> bool {
        self.progress.status().done < self.late
    }

    /// Returns the reason why the file cannot be written now, if there is one.
    pub fn trouble(&self) -> Option<StorageTrouble> {
        if self.is_late() {
            let path = self.path.display();
            return Some(format!("{path} cannot be written: the disk does not answer").into());
        }
        trouble(&self.path, &self.progress.status().file)
    }

    /// Returns the reason why a session of that many lines is not safe in the file, if there is one. A file that cannot
    /// be written, but has all lines, is safe.
    pub fn unsaved(&self, lines: usize) -> Option<StorageTrouble> {
        let trouble = self.trouble()?;
        let status = self.progress.status();
        (status.file.refused.is_none() || status.file.written < lines).then_some(trouble)
    }

    /// Returns the reason why the file is never written, if there is one.
    pub fn refused(&self) -> Option<StorageTrouble> {
        self.progress.status().file.refused.clone()
    }

    /// Returns a function that checks if a path leads to this file. The function blocks.
    pub fn is(&self, path: PathBuf) -> impl FnOnce() -> bool + Send + use<> {
        let identity = self.progress.status().file.identity;
        let (storage, own) = (self.storage.clone(), self.path.clone());
        move || match identity {
            Some(own) => storage.identity(&path).is_ok_and(|identity| identity == own),
            None => path == own,
        }
    }

    /// Waits until all lines handed over are on the disk. Fails if a line was not written.
    pub fn settled(&self) -> impl Future<Output = Result<(), StorageTrouble>> + Send + use<> {
        let (written, progress, path) = (self.written(), self.progress.clone(), self.path.clone());
        async move {
            written.await;
            let file = progress.status().file.clone();
            if let Some(trouble) = trouble(&path, &file) {
                return Err(trouble);
            }
            let Some(settling) = file.settling else { return Ok(()) };
            settling.settled().await.map_err(|reason| not_brought(&path, &reason))
        }
    }

    /// Ends the work. The returned future waits until other processes can open the file. It returns the reason why a
    /// session of that many lines is not safe in the file.
    pub fn close(mut self, lines: usize) -> impl Future<Output = Option<StorageTrouble>> + Send + use<> {
        self.abandon();
        async move {
            self.progress.wait(|status| status.ended).await;
            self.unsaved(lines)
        }
    }

    /// Ends the work without waiting for it.
    pub fn abandon(&mut self) {
        match std::mem::replace(&mut self.work, Work::Ended) {
            Work::Here(job) => job.end(),
            Work::There(inbox) => inbox.end(),
            Work::Ended => {}
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let waits = !matches!(self.work, Work::Ended);
        self.abandon();
        // On a thread of a runtime, the drop waits only briefly, and not at all for a disk that has not answered.
        let patience = match tokio::runtime::Handle::try_current() {
            Ok(_) if self.is_late() => return,
            Ok(_) => MOMENT,
            Err(_) => PATIENCE,
        };
        if waits && !self.progress.block(patience, |status| status.ended) {
            tracing::error!(file = %self.path.display(), "the disk does not answer");
        }
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Writer").field("path", &self.path).finish_non_exhaustive()
    }
}

fn trouble(path: &Path, file: &FileStatus) -> Option<StorageTrouble> {
    let not_brought = || Some(not_brought(path, &file.settling.as_ref()?.failed()?));
    file.trouble.clone().or_else(not_brought)
}

fn not_brought(path: &Path, reason: &str) -> StorageTrouble {
    format!("{} could not be brought to the disk: {reason}", path.display()).into()
}
