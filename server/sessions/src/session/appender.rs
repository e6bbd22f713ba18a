//! Appends lines to a session file.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::Holder;
use super::line_text::{LazyFile, LineText};
use super::load::Tail;
use super::storage::{Claim, Identity, Storage, StoredFile, reopen};
use super::sync::{DirectorySync, FileProvider, Syncer};
use super::thread_pool::{OpenFileSlot, OpenFileSlots, ThreadPool};

/// Size in bytes at which a batch of lines is written.
const BATCH: usize = 1 << 23;

/// Position of a written line: its number in the session, and the offset of its first byte in the file.
pub(super) type LinePosition = (usize, u64);

/// A file to which lines are appended. No other process can use it: the open file is locked, and a closed file is
/// claimed.
pub(super) struct Appender {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    /// The open file; `None` between writes if too many files are open.
    file: Option<Arc<dyn StoredFile>>,
    pub identity: Identity,
    /// Length of the file in bytes, without an incomplete last line.
    pub length: u64,
    pub tail: Tail,
    /// Length of the file in bytes, including an incomplete last line.
    pub end: u64,
    pub syncer: Syncer,
    /// Reader of lines whose texts are not in memory.
    lazy_file: Option<Arc<LazyFile>>,
    /// Positions of written lines that [`Appender::take_positions`] has not returned yet.
    positions: Vec<LinePosition>,
    claim: Option<Claim>,
    /// Slot for a file that stays open between writes. Without a slot, the file is closed between writes if possible.
    slot: Option<OpenFileSlot>,
}

impl Appender {
    /// Creates an appender for a file that is open and locked.
    pub fn new(
        storage: Arc<dyn Storage>,
        path: PathBuf,
        file: Arc<dyn StoredFile>,
        length: u64,
        pool: Option<Arc<ThreadPool>>,
    ) -> io::Result<Self> {
        let identity = file.identity()?;
        Ok(Self {
            storage,
            path,
            file: Some(file),
            identity,
            length,
            tail: Tail::Whole,
            end: length,
            syncer: Syncer::new(None, pool),
            lazy_file: None,
            positions: Vec::new(),
            claim: None,
            slot: None,
        })
    }

    /// Creates and locks a file. Fails if another process has locked the file.
    pub fn create(
        storage: &Arc<dyn Storage>,
        path: &Path,
        pool: Option<Arc<ThreadPool>>,
    ) -> io::Result<Self> {
        let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
        storage.create_directory(&directory)?;
        let file = storage.create(path)?;
        if !file.try_lock()? {
            return Err(io::Error::other(format!("it is in use by {}", Holder(file.holder()))));
        }
        let mut appender = Self::new(storage.clone(), path.to_owned(), file, 0, pool.clone())?;
        let storage = storage.clone();
        appender.queue_name_sync(Box::new(move || storage.sync_directory(&directory)), pool);
        Ok(appender)
    }

    /// Makes the next write sync the directory too, because the name of the file is new.
    fn queue_name_sync(&mut self, sync: DirectorySync, pool: Option<Arc<ThreadPool>>) {
        self.syncer = Syncer::new(Some(sync), pool);
    }

    /// Changes the path after the file was renamed, and starts a sync of its directory. `real` is the path without
    /// symbolic links.
    pub fn set_path(&mut self, path: PathBuf, real: PathBuf, pool: Option<Arc<ThreadPool>>) {
        let (storage, directory) = (self.storage.clone(), real.parent().map(Path::to_owned));
        self.path = path;
        self.positions.clear();
        let sync = move || directory.map_or(Ok(()), |directory| storage.sync_directory(&directory));
        self.queue_name_sync(Box::new(sync), pool);
        if let Ok(file) = self.file() {
            self.syncer.record_write(Box::new(move || Ok(file)));
        }
    }

    /// Removes and returns the positions of lines written since the last call, with a reader of their texts.
    pub fn take_positions(&mut self) -> Option<(Vec<LinePosition>, Arc<LazyFile>)> {
        let positions = std::mem::take(&mut self.positions);
        if positions.is_empty() {
            return None;
        }
        if self.lazy_file.is_none() {
            let file = self.file().ok()?;
            self.lazy_file =
                Some(Arc::new(LazyFile::new(self.storage.clone(), self.path.clone(), file).ok()?));
        }
        Some((positions, self.lazy_file.clone()?))
    }

    /// Sets the reader of lines whose texts are not in memory.
    pub fn set_lazy_file(&mut self, lazy_file: Arc<LazyFile>) {
        self.lazy_file = Some(lazy_file);
    }

    /// Returns the file, and opens it if it was closed. Fails if another file has the path now.
    fn file(&mut self) -> io::Result<Arc<dyn StoredFile>> {
        if let Some(file) = &self.file {
            return Ok(file.clone());
        }
        let file = reopen(&*self.storage, &self.path, true, self.identity)?;
        Ok(self.file.insert(file).clone())
    }

    /// Closes the file until the next write, unless a slot for a file that stays open is free. A file that cannot be
    /// claimed stays open, so that no other process can use it.
    pub fn close_if_idle(&mut self, slots: &Arc<OpenFileSlots>) {
        if self.slot.is_some() || self.file.is_none() {
            return;
        }
        self.slot = slots.take();
        if self.slot.is_some() {
            return;
        }
        if self.claim.is_none() {
            match self.storage.claim(&self.path, self.identity) {
                Ok(claim) => self.claim = Some(claim),
                Err(error) => {
                    tracing::debug!(%error, file = %self.path.display(), "a session file stays open");
                    return;
                }
            }
        }
        if let Some(lazy_file) = &self.lazy_file {
            lazy_file.close();
        }
        self.release();
    }

    fn release(&mut self) {
        if let Some(file) = self.file.take() {
            // The thread that syncs may keep the file a little longer.
            file.unlock();
        }
    }

    /// Returns a function with which the sync thread gets the file. If the file can be closed, the function opens it
    /// again.
    fn sync_handle(&self, file: Arc<dyn StoredFile>) -> FileProvider {
        if self.claim.is_none() {
            return Box::new(move || Ok(file));
        }
        let (storage, path, identity) = (self.storage.clone(), self.path.clone(), self.identity);
        Box::new(move || reopen(&*storage, &path, true, identity))
    }
    /// Writes a batch of lines, beginning with line number `from`. Skips the lines in `lost`. Returns the number of
    /// lines that were written or skipped.
    pub fn append(&mut self, lines: &[LineText], from: usize, lost: &BTreeSet<usize>) -> io::Result<usize> {
        let file = self.file()?;
        self.repair_tail(&*file)?;
        let (mut batch, mut positions) = (Vec::new(), Vec::new());
        if self.tail == Tail::Unterminated {
            batch.push(b'\n');
        }
        let mut next = from;
        while next < lines.len() && (next == from || batch.len() < BATCH) {
            if lost.contains(&next) {
                next += 1;
                continue;
            }
            let text = lines[next].get().ok_or_else(|| io::Error::other("one of its lines is lost"))?;
            positions.push((next, self.length + batch.len() as u64));
            batch.extend_from_slice(text.as_bytes());
            batch.push(b'\n');
            next += 1;
        }
        let mut rest = batch.as_slice();
        while !rest.is_empty() {
            let error = match file.append(rest) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(count) => {
                    rest = &rest[count..];
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            if rest.len() < batch.len() {
                self.end = self.length + (batch.len() - rest.len()) as u64;
                self.tail = Tail::Torn(self.length);
                let _ = self.repair_tail(&*file);
            }
            return Err(error);
        }
        self.positions.append(&mut positions);
        self.length += batch.len() as u64;
        self.end = self.length;
        self.tail = Tail::Whole;
        let file = self.sync_handle(file);
        self.syncer.record_write(file);
        Ok(next - from)
    }

    /// Checks if another program has truncated the file. Returns the number of leading lines that need no rewrite, or
    /// `None` if the file is not shorter. These are the lines still in the file, and those in `lost`, whose absence is
    /// known. Removes an incomplete line at the end. Fails without a change if the file has other content, or if the
    /// text of a missing line is no longer in memory.
    pub fn surviving_lines(
        &mut self,
        lines: &[LineText],
        lost: &BTreeSet<usize>,
    ) -> io::Result<Option<usize>> {
        let file = self.file()?;
        if file.length()? >= self.length {
            return Ok(None);
        }
        let bytes = file.read()?;
        let (mut left, mut rest) = (0, bytes.as_slice());
        while left < lines.len() {
            if lost.contains(&left) {
                left += 1;
                continue;
            }
            let whole = lines[left].match_prefix(rest).and_then(|length| rest[length..].strip_prefix(b"\n"));
            let Some(behind) = whole else { break };
            (left, rest) = (left + 1, behind);
        }
        let is_ours = left < lines.len() && lines[left].may_begin_with(rest);
        if !rest.is_empty() && !is_ours {
            return Err(io::Error::other("another program has truncated it and written something else"));
        }
        let is_missing = |number: usize| !lost.contains(&number) && lines[number].get().is_none();
        if (left..lines.len()).any(is_missing) {
            return Err(io::Error::other("another program has truncated it, and the missing lines are lost"));
        }
        let length = (bytes.len() - rest.len()) as u64;
        if !rest.is_empty() {
            file.truncate(length)?;
        }
        (self.length, self.end, self.tail) = (length, length, Tail::Whole);
        Ok(Some(left))
    }

    /// Removes an incomplete last line, unless another program has written after it.
    fn repair_tail(&mut self, file: &dyn StoredFile) -> io::Result<()> {
        let length = file.length()?;
        if length != self.end {
            tracing::warn!("another program wrote to a session file that is in use");
            let whole = file.last_byte()?.is_none_or(|byte| byte == b'\n');
            self.tail = if whole { Tail::Whole } else { Tail::Unterminated };
        } else if let Tail::Torn(at) = self.tail {
            file.truncate(at)?;
            self.tail = match file.last_byte()? {
                None | Some(b'\n') => Tail::Whole,
                Some(_) => Tail::Unterminated,
            };
            (self.length, self.end) = (at, at);
            return Ok(());
        }
        (self.length, self.end) = (length, length);
        Ok(())
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        self.release();
    }
}
