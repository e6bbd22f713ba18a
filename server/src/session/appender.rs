//! The end of a session file.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::error::Holder;
use super::load::Tail;
use super::storage::{Identity, Storage, StoredFile};
use super::sync::Syncer;
use super::text::Text;

/// How much is written at once where many lines wait.
const BATCH: usize = 1 << 23;

/// An open file that is written at its end.
pub(super) struct Appender {
    pub file: Arc<dyn StoredFile>,
    pub identity: Identity,
    /// How long it is, without a torn end.
    pub length: u64,
    pub tail: Tail,
    /// Where a torn end ends.
    pub end: u64,
    pub syncer: Syncer,
}

impl Appender {
    /// Makes a file, and locks it.
    pub fn create(storage: &Arc<dyn Storage>, path: &Path, threaded: bool) -> io::Result<Self> {
        let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
        storage.create_directory(&directory)?;
        let file = storage.create(path)?;
        if !file.try_lock()? {
            return Err(io::Error::other(format!("it is in use by {}", Holder(file.holder()))));
        }
        let identity = file.identity()?;
        let storage = storage.clone();
        let sync = move || storage.sync_directory(&directory);
        let syncer = Syncer::new(file.clone(), Some(Box::new(sync)), threaded);
        Ok(Self { file, identity, length: 0, tail: Tail::Whole, end: 0, syncer })
    }

    /// Writes lines from that number on, in one piece; gives how many.
    pub fn append(&mut self, lines: &[Text], from: usize) -> io::Result<usize> {
        self.mend()?;
        let mut batch = Vec::new();
        if self.tail == Tail::Unterminated {
            batch.push(b'\n');
        }
        let mut next = from;
        while next < lines.len() && (next == from || batch.len() < BATCH) {
            let text = lines[next].get().ok_or_else(|| io::Error::other("a line of it is lost"))?;
            batch.extend_from_slice(text.as_bytes());
            batch.push(b'\n');
            next += 1;
        }
        let mut rest = batch.as_slice();
        while !rest.is_empty() {
            let error = match self.file.append(rest) {
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
                let _ = self.mend();
            }
            return Err(error);
        }
        self.length += batch.len() as u64;
        self.end = self.length;
        self.tail = Tail::Whole;
        self.syncer.wrote();
        Ok(next - from)
    }

    /// How many of the lines are left in a file that somebody has cut; what follows the last whole one is cut off
    /// too. None where nobody has. Fails, and leaves the file as it is, where something else is in it now.
    pub fn left_of(&mut self, lines: &[Text]) -> io::Result<Option<usize>> {
        if self.file.length()? >= self.length {
            return Ok(None);
        }
        let bytes = self.file.read()?;
        let (mut left, mut rest) = (0, bytes.as_slice());
        while left < lines.len() {
            let whole = lines[left].begins(rest).and_then(|length| rest[length..].strip_prefix(b"\n"));
            let Some(behind) = whole else { break };
            (left, rest) = (left + 1, behind);
        }
        let is_ours = left < lines.len() && lines[left].may_begin_with(rest);
        if !rest.is_empty() && !is_ours {
            return Err(io::Error::other("somebody has cut it, and something else is in it now"));
        }
        if lines[left..].iter().any(|line| line.get().is_none()) {
            return Err(io::Error::other("somebody has cut it, and what is missing was nowhere else"));
        }
        let length = (bytes.len() - rest.len()) as u64;
        if !rest.is_empty() {
            self.file.truncate(length)?;
        }
        (self.length, self.end, self.tail) = (length, length, Tail::Whole);
        Ok(Some(left))
    }

    /// Cuts a torn end off. What somebody else wrote behind it stays.
    fn mend(&mut self) -> io::Result<()> {
        let length = self.file.length()?;
        if length != self.end {
            tracing::warn!("somebody else wrote to a session file that is in use");
            let whole = self.file.last_byte()?.is_none_or(|byte| byte == b'\n');
            self.tail = if whole { Tail::Whole } else { Tail::Unterminated };
        } else if let Tail::Torn(at) = self.tail {
            self.file.truncate(at)?;
            self.tail = match self.file.last_byte()? {
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
