//! Writing of a session file, by the caller or by threads that all sessions of the process share.
//!
//! A thread receives the lines of a session in order, and writes all waiting lines at once. The session and the thread
//! share the texts. [`SessionWriter::wait_written`] waits until the system has the lines. A disk that does not answer
//! blocks only the callers that wait.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::error::StorageError;
use super::file::{FileStatus, SessionFile};
use super::line_text::LineText;
use super::storage::Storage;
use super::thread_pool::ThreadPool;

/// Maximum time for which dropping a session waits for a disk that does not answer.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum time for which a thread that should not block waits for a write.
const BRIEF_WAIT: Duration = Duration::from_millis(50);

/// Maximum time for which [`SessionWriter::is_written`] blocks the caller. A healthy disk writes faster.
const FAST_WRITE: Duration = Duration::from_millis(2);

/// A writer of the file of one session.
pub(super) struct SessionWriter {
    path: PathBuf,
    storage: Arc<dyn Storage>,
    /// Threads that write; `None` if the caller writes.
    pool: Option<Arc<ThreadPool>>,
    state: WriterState,
    progress: Arc<WriteProgress>,
    /// Number of write requests so far.
    request_count: u64,
    /// Number of lines that were passed to the writer.
    submitted: usize,
    /// Number of the last request for which a caller has waited too long.
    late_request: u64,
}

enum WriterState {
    Inline(Box<WriteJob>),
    Queued(Arc<WriteQueue>),
    Ended,
}

/// Queue of write requests. One thread at a time executes them.
struct WriteQueue {
    pool: Arc<ThreadPool>,
    pending: Mutex<PendingWrites>,
}

#[derive(Default)]
struct PendingWrites {
    /// The file and its lines; `None` while a thread uses them, and after the writer has ended.
    job: Option<Box<WriteJob>>,
    /// Number of the last waiting request; `None` if no request waits.
    number: Option<u64>,
    lines: Vec<LineText>,
    is_closing: bool,
}

/// Maximum total length in bytes of the newest written lines that stay in memory. They can be written again if another
/// program truncates the file. Older lines are only in the file.
const MAX_RECENT_LENGTH: usize = 64 << 10;

/// A file and all of its lines. The file is unlocked before the end is reported, so `file` precedes `progress`.
struct WriteJob {
    file: SessionFile,
    lines: Vec<LineText>,
    recent: RecentLines,
    progress: EndGuard,
}

/// Written lines that are still in memory, as number and offset in the file. `length` is their total length.
#[derive(Default)]
struct RecentLines {
    lines: VecDeque<(usize, u64)>,
    length: usize,
}

/// Reports the end of the writer when it is dropped, also during a panic.
struct EndGuard(Arc<WriteProgress>);

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.0.change(|status| {
            status.ended = true;
            if std::thread::panicking() {
                status.file.error = Some("the session cannot be written: internal error".to_owned().into());
            }
        });
    }
}

/// The progress of a writer, for callers that wait.
#[derive(Default)]
struct WriteProgress {
    status: Mutex<WriteStatus>,
    condition: Condvar,
    notify: Notify,
}

#[derive(Clone, Default)]
struct WriteStatus {
    /// Number of write requests that were executed.
    done: u64,
    ended: bool,
    file: FileStatus,
    /// Lines that are no longer in memory, as number and text in the file.
    moved_texts: Vec<(usize, LineText)>,
}

impl WriteProgress {
    fn status(&self) -> MutexGuard<'_, WriteStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut WriteStatus)) {
        change(&mut self.status());
        self.condition.notify_all();
        self.notify.notify_waiters();
    }

    async fn wait(&self, is: impl Fn(&WriteStatus) -> bool) {
        loop {
            let changed = self.notify.notified();
            if is(&self.status()) {
                return;
            }
            changed.await;
        }
    }

    /// Waits as [`WriteProgress::wait`] does, but blocks the thread. Returns false if the time limit has passed.
    fn block(&self, limit: Duration, is: impl Fn(&WriteStatus) -> bool) -> bool {
        let status = self.status();
        let waited = self.condition.wait_timeout_while(status, limit, |status| !is(status));
        waited.map_or(true, |(_, timeout)| !timeout.timed_out())
    }
}

impl WriteJob {
    fn execute(&mut self, number: u64, lines: Vec<LineText>) {
        if self.lines.is_empty() {
            self.lines = lines;
        } else {
            self.lines.extend(lines);
        }
        self.file.write(&self.lines);
        let mut moved_texts = self.move_old_lines_to_file();
        self.file.close_if_idle();
        let file = self.file.status();
        self.progress.0.change(|status| {
            (status.done, status.file) = (number, file);
            status.moved_texts.append(&mut moved_texts);
        });
    }

    /// Removes older lines from memory. Returns the number of each, with a text that is read from the file.
    fn move_old_lines_to_file(&mut self) -> Vec<(usize, LineText)> {
        let Some((positions, lazy_file)) = self.file.take_positions() else { return Vec::new() };
        if positions
            .first()
            .is_some_and(|(line, _)| self.recent.lines.back().is_some_and(|(last, _)| line <= last))
        {
            // The lines were written again, at other offsets.
            self.recent = RecentLines::default();
        }
        // The header stays in memory: without it, no other line is of use if the file is removed.
        let in_memory =
            positions.into_iter().filter(|(line, _)| *line > 0 && self.lines[*line].in_memory().is_some());
        for position in in_memory {
            self.recent.length += self.lines[position.0].len();
            self.recent.lines.push_back(position);
        }
        let mut moved_texts = Vec::new();
        while self.recent.length > MAX_RECENT_LENGTH
            && let Some((line, at)) = self.recent.lines.pop_front()
        {
            self.recent.length -= self.lines[line].len();
            let text =
                self.lines[line].in_memory().map(|text| LineText::in_file(&lazy_file, at, text.as_str()));
            if let Some(text) = text {
                self.lines[line] = text.clone();
                moved_texts.push((line, text));
            }
        }
        moved_texts
    }

    /// Tries a last time to write the remaining lines. Then drops the file, so that other processes can open it.
    fn end(mut self) {
        let WriteStatus { done, file, .. } = self.progress.0.status().clone();
        if file.error.is_some() {
            self.execute(done, Vec::new());
        }
    }
}

impl WriteQueue {
    fn pending(&self) -> MutexGuard<'_, PendingWrites> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn submit(self: &Arc<Self>, number: u64, mut lines: Vec<LineText>) {
        let mut pending = self.pending();
        pending.number = Some(number);
        pending.lines.append(&mut lines);
        self.schedule(pending);
    }

    fn end(self: &Arc<Self>) {
        let mut pending = self.pending();
        pending.is_closing = true;
        self.schedule(pending);
    }

    /// Makes a thread execute the waiting requests, unless a thread already does so.
    fn schedule(self: &Arc<Self>, mut pending: MutexGuard<'_, PendingWrites>) {
        if let Some(job) = pending.job.take() {
            drop(pending);
            let queue = self.clone();
            self.pool.submit(move || queue.work(job));
        }
    }

    /// Executes all waiting requests at once. Requests that arrive meanwhile are queued behind other sessions.
    fn work(self: Arc<Self>, mut job: Box<WriteJob>) {
        let (number, lines) = {
            let mut pending = self.pending();
            (pending.number.take(), std::mem::take(&mut pending.lines))
        };
        if let Some(number) = number {
            job.execute(number, lines);
        }
        let mut pending = self.pending();
        if pending.number.is_none() && pending.is_closing {
            drop(pending);
            return job.end();
        }
        let has_more = pending.number.is_some();
        pending.job = Some(job);
        if has_more {
            self.schedule(pending);
        }
    }
}

impl SessionWriter {
    /// Creates a writer of a file. With a pool, its threads write all lines from the first call of
    /// [`SessionWriter::write`] on.
    pub fn new(file: SessionFile, pool: Option<Arc<ThreadPool>>) -> Self {
        let progress = Arc::new(WriteProgress::default());
        progress.change(|status| status.file = file.status());
        Self {
            path: file.path().to_owned(),
            storage: file.storage().clone(),
            pool,
            state: WriterState::Inline(Box::new(WriteJob {
                file,
                lines: Vec::new(),
                recent: RecentLines::default(),
                progress: EndGuard(progress.clone()),
            })),
            progress,
            request_count: 0,
            submitted: 0,
            late_request: 0,
        }
    }

    /// Returns the path of the file, which need not exist yet.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of lines that were passed to the writer.
    pub fn submitted(&self) -> usize {
        self.submitted
    }

    /// Removes and returns the lines that were moved from memory to the file, as number and text.
    pub fn take_moved_texts(&self) -> Vec<(usize, LineText)> {
        std::mem::take(&mut self.progress.status().moved_texts)
    }

    /// Returns true if the file has lines, or if lines were passed to the writer.
    pub fn is_started(&self) -> bool {
        self.submitted > 0 || self.has_lines()
    }

    /// Returns true if the file has lines.
    pub fn has_lines(&self) -> bool {
        self.progress.status().file.written > 0
    }

    /// Passes the next lines to the writer. It also tries again to write earlier lines that could not be written.
    pub fn write(&mut self, lines: Vec<LineText>) {
        self.start_queue();
        self.submit(lines);
    }

    /// Writes lines on the caller's thread, before the first call of [`SessionWriter::write`]. Then the file can be
    /// closed.
    pub fn write_inline(&mut self, lines: Vec<LineText>) {
        self.submit(lines);
        self.close_if_idle();
    }

    /// Closes the file until the next write, unless a slot for a file that stays open is free.
    pub fn close_if_idle(&mut self) {
        if let WriterState::Inline(job) = &mut self.state {
            job.file.close_if_idle();
        }
    }

    fn submit(&mut self, lines: Vec<LineText>) {
        self.submitted += lines.len();
        self.request_count += 1;
        match &mut self.state {
            WriterState::Inline(job) => job.execute(self.request_count, lines),
            // Failed work has reported its error.
            WriterState::Queued(queue) => queue.submit(self.request_count, lines),
            WriterState::Ended => {}
        }
    }

    /// Passes the file and its lines to the threads.
    fn start_queue(&mut self) {
        let Some(pool) = self.pool.clone().filter(|_| matches!(self.state, WriterState::Inline(_))) else {
            return;
        };
        let queue = Arc::new(WriteQueue { pool, pending: Mutex::default() });
        if let WriterState::Inline(job) =
            std::mem::replace(&mut self.state, WriterState::Queued(queue.clone()))
        {
            queue.pending().job = Some(job);
        }
    }

    /// Tries again to write lines that could not be written.
    pub fn retry(&mut self) {
        if self.progress.status().file.error.is_some() {
            self.submit(Vec::new());
        }
    }

    /// Waits until the system has all lines so far, or until writing has failed.
    pub fn wait_written(&self) -> impl Future<Output = ()> + Send + use<> {
        let (progress, number) = (self.progress.clone(), self.request_count);
        async move { progress.wait(|status| status.done >= number || status.ended).await }
    }

    /// Waits for at most two milliseconds until the system has all lines so far. Returns true if it has them, or if
    /// writing has failed. The caller's thread is blocked, so that the order of events is the same as without a disk.
    pub fn is_written(&self) -> bool {
        let number = self.request_count;
        self.progress.block(FAST_WRITE, |status| status.done >= number || status.ended)
    }

    /// Waits as [`SessionWriter::wait_written`] does, but blocks the caller's thread, and only briefly. Does not wait
    /// if the disk is known not to answer.
    pub fn wait_briefly(&self) {
        let number = self.request_count;
        if !self.is_unresponsive() {
            self.progress.block(BRIEF_WAIT, |status| status.done >= number || status.ended);
        }
    }

    /// Records that a caller has waited too long. [`SessionWriter::error`] reports this until the disk answers.
    pub fn mark_unresponsive(&mut self) {
        self.late_request = self.request_count;
    }

    /// Returns true if a caller has waited too long and the disk has not answered since.
    pub fn is_unresponsive(&self) -> bool {
        self.progress.status().done < self.late_request
    }

    /// Returns the reason why lines cannot be written or synced, or `None` if they can.
    pub fn error(&self) -> Option<StorageError> {
        if self.is_unresponsive() {
            let path = self.path.display();
            return Some(format!("{path} cannot be written: the disk does not respond").into());
        }
        file_error(&self.path, &self.progress.status().file)
    }

    /// Returns the reason why some of the first `lines` lines are possibly missing in the file, or `None` if
    /// the file has all of them. A read-only file that has all lines is no reason.
    pub fn unsaved_error(&self, lines: usize) -> Option<StorageError> {
        let error = self.error()?;
        let status = self.progress.status();
        (status.file.read_only_reason.is_none() || status.file.written < lines).then_some(error)
    }

    /// Returns the reason why the file can never be written, or `None` if it can.
    pub fn read_only_reason(&self) -> Option<StorageError> {
        self.progress.status().file.read_only_reason.clone()
    }

    /// Returns a function that checks if a path refers to this file. The function blocks.
    pub fn same_file_check(&self, path: PathBuf) -> impl FnOnce() -> bool + Send + use<> {
        let identity = self.progress.status().file.identity;
        let (storage, own) = (self.storage.clone(), self.path.clone());
        move || match identity {
            Some(own) => storage.identity(&path).is_ok_and(|identity| identity == own),
            None => path == own,
        }
    }

    /// Waits until all lines so far are synced to the disk. Fails if a line was not written or synced.
    pub fn wait_synced(&self) -> impl Future<Output = Result<(), StorageError>> + Send + use<> {
        let (written, progress, path) = (self.wait_written(), self.progress.clone(), self.path.clone());
        async move {
            written.await;
            let file = progress.status().file.clone();
            if let Some(error) = file_error(&path, &file) {
                return Err(error);
            }
            let Some(sync_progress) = file.sync_progress else { return Ok(()) };
            sync_progress.wait().await.map_err(|reason| sync_error(&path, &reason))
        }
    }

    /// Ends the writer. The future waits until other processes can open the file. It returns the reason why
    /// some of the first `lines` lines are possibly missing in the file; `None` if the file has all.
    pub fn close(mut self, lines: usize) -> impl Future<Output = Option<StorageError>> + Send + use<> {
        self.abandon();
        async move {
            self.progress.wait(|status| status.ended).await;
            self.unsaved_error(lines)
        }
    }

    /// Ends the writer without waiting for the remaining writes.
    pub fn abandon(&mut self) {
        match std::mem::replace(&mut self.state, WriterState::Ended) {
            WriterState::Inline(job) => job.end(),
            WriterState::Queued(queue) => queue.end(),
            WriterState::Ended => {}
        }
    }
}

impl Drop for SessionWriter {
    fn drop(&mut self) {
        let waits = !matches!(self.state, WriterState::Ended);
        self.abandon();
        // On a thread of a runtime, the drop waits only briefly, and not at all for a disk that has not answered.
        let timeout = match tokio::runtime::Handle::try_current() {
            Ok(_) if self.is_unresponsive() => return,
            Ok(_) => BRIEF_WAIT,
            Err(_) => CLOSE_TIMEOUT,
        };
        if waits && !self.progress.block(timeout, |status| status.ended) {
            tracing::error!(file = %self.path.display(), "the disk does not respond");
        }
    }
}

impl std::fmt::Debug for SessionWriter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SessionWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

fn file_error(path: &Path, file: &FileStatus) -> Option<StorageError> {
    let sync_failure = || Some(sync_error(path, &file.sync_progress.as_ref()?.failed()?));
    file.error.clone().or_else(sync_failure)
}

fn sync_error(path: &Path, reason: &str) -> StorageError {
    format!("{} could not be synced to disk: {reason}", path.display()).into()
}
