//! Who writes the file of a session: whoever says something, or a thread that writes for all sessions of the process.
//!
//! The thread gets the lines of a session in order and writes what waits in one piece; the texts are those that the session
//! holds anyway. Whoever wants to know that a line is handed to the system waits for it ([`Writer::written`]); a disk that does
//! not answer holds up nobody else.

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

/// How long a session that ends waits for a disk that does not answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long somebody who cannot wait in peace waits.
const MOMENT: Duration = Duration::from_millis(50);

/// How long a healthy disk takes at most: so long the thread of the caller is held up.
const USUAL: Duration = Duration::from_millis(2);

/// Writes the file of one session.
pub(super) struct Writer {
    path: PathBuf,
    storage: Arc<dyn Storage>,
    /// The threads that are to write.
    crew: Option<Arc<Crew>>,
    work: Work,
    progress: Arc<Progress>,
    /// How many orders were given.
    ordered: u64,
    /// How many lines were handed over.
    handed: usize,
    /// The order up to which the disk was too slow for somebody who waited.
    late: u64,
}

enum Work {
    Here(Box<Job>),
    There(Arc<Inbox>),
    Ended,
}

/// Orders for the threads that write. One of them at a time carries them out.
struct Inbox {
    crew: Arc<Crew>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// None while a thread has it, and when it has ended or failed.
    job: Option<Box<Job>>,
    /// The last order that was given, where it was not taken yet.
    number: Option<u64>,
    lines: Vec<Text>,
    ends: bool,
}

/// Maximum total length of the newest written lines that are kept in memory, in bytes. These lines are whole
/// again if another program cuts the file. The texts of older lines stay in the file.
const NEWEST: usize = 64 << 10;

/// A file and all lines that belong into it. The file is unlocked before the end is told.
struct Job {
    file: SessionFile,
    lines: Vec<Text>,
    newest: Newest,
    progress: Ending,
}

/// The lines that were written and are kept in memory: which, where each begins in the file, and how long all are.
#[derive(Default)]
struct Newest {
    lines: VecDeque<(usize, u64)>,
    length: usize,
}

/// Tells that the work has ended, however it did.
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

/// How far the writing has come, for those who wait.
#[derive(Default)]
struct Progress {
    status: Mutex<Status>,
    condition: Condvar,
    notify: Notify,
}

#[derive(Clone, Default)]
struct Status {
    /// How many orders were carried out.
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

    /// As [`Progress::wait`], in the way of the caller's thread; false where it took too long.
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

    /// Leaves the texts of lines in the file that are not among the newest any more. Gives them as they are now, with the
    /// number of each.
    fn leave_old_ones(&mut self) -> Vec<(usize, Text)> {
        let Some((placed, shelf)) = self.file.take_placed() else { return Vec::new() };
        if placed
            .first()
            .is_some_and(|(line, _)| self.newest.lines.back().is_some_and(|(last, _)| line <= last))
        {
            // Written anew, elsewhere in the file.
            self.newest = Newest::default();
        }
        // The header is kept: without it no other line is of use if the file is removed.
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

    /// A last chance for what could not be written when it was said; then the file is anybody's.
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

    /// Has a thread do what waits, unless one is at it.
    fn go_on(self: &Arc<Self>, mut waiting: MutexGuard<'_, Waiting>) {
        if let Some(job) = waiting.job.take() {
            drop(waiting);
            let inbox = self.clone();
            self.crew.submit(move || inbox.work(job));
        }
    }

    /// Carries out what waits, in one piece. What comes meanwhile waits behind other sessions.
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
    /// Of that file; with a crew its threads write from the first lines on.
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

    /// The file's path, also before it is there.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many lines were handed over.
    pub fn handed(&self) -> usize {
        self.handed
    }

    /// Gives the lines whose texts stay in the file since the last time, with the number of each.
    pub fn take_left(&self) -> Vec<(usize, Text)> {
        std::mem::take(&mut self.progress.status().left)
    }

    /// Whether anything is in the file, or on its way there.
    pub fn is_begun(&self) -> bool {
        self.handed > 0 || self.is_there()
    }

    /// Whether anything is in the file.
    pub fn is_there(&self) -> bool {
        self.progress.status().file.written > 0
    }

    /// Hands over the lines that follow those which it has. What could not be written before is tried again.
    pub fn write(&mut self, lines: Vec<Text>) {
        self.start();
        self.order(lines);
    }

    /// As [`Writer::write`], by the caller's thread, while there is no other. The file need not stay open then.
    pub fn write_here(&mut self, lines: Vec<Text>) {
        self.order(lines);
        self.rest();
    }

    /// Its file need not stay open while nobody writes.
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
            // Work that has failed has said so.
            Work::There(inbox) => inbox.order(self.ordered, lines),
            Work::Ended => {}
        }
    }

    /// Gives the work to the threads that are to do it.
    fn start(&mut self) {
        let Some(crew) = self.crew.clone().filter(|_| matches!(self.work, Work::Here(_))) else { return };
        let inbox = Arc::new(Inbox { crew, waiting: Mutex::default() });
        if let Work::Here(job) = std::mem::replace(&mut self.work, Work::There(inbox.clone())) {
            inbox.waiting().job = Some(job);
        }
    }

    /// Tries once more what could not be written.
    pub fn retry(&mut self) {
        if self.progress.status().file.trouble.is_some() {
            self.order(Vec::new());
        }
    }

    /// Waits until all lines that were handed over so far are handed to the system, or could not be.
    pub fn written(&self) -> impl Future<Output = ()> + Send + use<> {
        let (progress, number) = (self.progress.clone(), self.ordered);
        async move { progress.wait(|status| status.done >= number || status.ended).await }
    }

    /// Whether all lines that were handed over so far are handed to the system, or are so within two milliseconds. Nothing
    /// else of the caller's thread happens meanwhile: what follows stands in the order in which it would without a disk.
    pub fn is_written(&self) -> bool {
        let number = self.ordered;
        self.progress.block(USUAL, |status| status.done >= number || status.ended)
    }

    /// As [`Writer::written`], for those who cannot wait in peace: for a moment, and not while the disk does not answer.
    pub fn linger(&self) {
        let number = self.ordered;
        if !self.is_late() {
            self.progress.block(MOMENT, |status| status.done >= number || status.ended);
        }
    }

    /// Somebody has waited too long: until the disk answers it counts as trouble.
    pub fn note_late(&mut self) {
        self.late = self.ordered;
    }

    /// Whether the disk has not answered since somebody waited too long.
    pub fn is_late(&self) -> bool {
        self.progress.status().done < self.late
    }

    /// Why it cannot be written now, where that is so.
    pub fn trouble(&self) -> Option<StorageTrouble> {
        if self.is_late() {
            let path = self.path.display();
            return Some(format!("{path} cannot be written: the disk does not answer").into());
        }
        trouble(&self.path, &self.progress.status().file)
    }

    /// Why a session of that many lines is not safe in it, where that is so. A file that cannot be written and lacks
    /// nothing is none of that.
    pub fn unsaved(&self, lines: usize) -> Option<StorageTrouble> {
        let trouble = self.trouble()?;
        let status = self.progress.status();
        (status.file.refused.is_none() || status.file.written < lines).then_some(trouble)
    }

    /// Why it will never be written, where that is so.
    pub fn refused(&self) -> Option<StorageTrouble> {
        self.progress.status().file.refused.clone()
    }

    /// Looks whether a path leads to this very file. Blocks.
    pub fn is(&self, path: PathBuf) -> impl FnOnce() -> bool + Send + use<> {
        let identity = self.progress.status().file.identity;
        let (storage, own) = (self.storage.clone(), self.path.clone());
        move || match identity {
            Some(own) => storage.identity(&path).is_ok_and(|identity| identity == own),
            None => path == own,
        }
    }

    /// Waits until everything that was handed over is on the disk. Fails where something was not written.
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

    /// Ends the work. Gives what waits until the file is anybody's, and says what is not safe in it of a session of that
    /// many lines.
    pub fn close(mut self, lines: usize) -> impl Future<Output = Option<StorageTrouble>> + Send + use<> {
        self.abandon();
        async move {
            self.progress.wait(|status| status.ended).await;
            self.unsaved(lines)
        }
    }

    /// Ends the work; nobody waits for it.
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
        // On the thread of a runtime nobody waits long for a disk, and not at all for one that has not answered.
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
