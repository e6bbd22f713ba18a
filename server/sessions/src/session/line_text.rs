//! The text of a line: in memory, or in its file.
//!
//! For a large file, only the positions of its lines are in memory. Each text that is read later is checked against a
//! checksum of its first reading. So a change by another program is detected, and the line counts as lost.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use agentese::framing::FrameText;

use super::storage::{Identity, Storage, StoredFile, reopen};

/// The text of a line, in memory or in a file.
#[derive(Clone)]
pub(super) struct LineText(TextLocation);

#[derive(Clone)]
enum TextLocation {
    Memory(FrameText),
    File {
        lazy_file: Arc<LazyFile>,
        at: u64,
        length: u32,
        /// Checksum of the text. It detects a change of the file by another program.
        checksum: u32,
    },
}

/// Reader of the texts in a file. If the file is closed, it is opened for each reading.
pub(super) struct LazyFile {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    identity: Identity,
    open: Mutex<Option<Arc<dyn StoredFile>>>,
    /// The file as opened by [`LazyFile::file`], while a caller holds it.
    shared: Mutex<Option<Weak<dyn StoredFile>>>,
}

impl LazyFile {
    /// Creates a reader of a file, which stays open until [`LazyFile::close`].
    pub fn new(storage: Arc<dyn Storage>, path: PathBuf, file: Arc<dyn StoredFile>) -> io::Result<Self> {
        let identity = file.identity()?;
        Ok(Self { storage, path, identity, open: Mutex::new(Some(file)), shared: Mutex::default() })
    }

    /// Returns the file, and opens it if necessary. It stays open while a caller holds it. Fails if another file has
    /// the path now.
    pub fn file(&self) -> io::Result<Arc<dyn StoredFile>> {
        if let Some(file) = &*self.open() {
            return Ok(file.clone());
        }
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = shared.as_ref().and_then(Weak::upgrade) {
            return Ok(file);
        }
        let file = reopen(&*self.storage, &self.path, false, self.identity)?;
        *shared = Some(Arc::downgrade(&file));
        Ok(file)
    }

    /// Closes the file; later reads open it again.
    pub fn close(&self) {
        *self.open() = None;
    }

    fn open(&self) -> MutexGuard<'_, Option<Arc<dyn StoredFile>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LineText {
    /// Creates a text that is stored in the file at offset `at`.
    pub fn in_file(lazy_file: &Arc<LazyFile>, at: u64, text: &str) -> Self {
        match u32::try_from(text.len()) {
            Ok(length) => {
                let check = checksum(text.as_bytes());
                Self(TextLocation::File { lazy_file: lazy_file.clone(), at, length, checksum: check })
            }
            Err(_) => FrameText::from(text).into(),
        }
    }

    /// Returns the text. Returns `None` if another program has changed or removed it.
    pub fn get(&self) -> Option<FrameText> {
        let (lazy_file, at, length, check) = match &self.0 {
            TextLocation::Memory(text) => return Some(text.clone()),
            TextLocation::File { lazy_file, at, length, checksum: check } => {
                (lazy_file, *at, *length, *check)
            }
        };
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        let mut read = 0;
        let file = match lazy_file.file() {
            Ok(file) => file,
            Err(error) => {
                tracing::warn!(%error, "a line of a session cannot be read");
                return None;
            }
        };
        while read < bytes.len() {
            match file.read_at(&mut bytes[read..], at + read as u64) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    tracing::warn!(%error, "a line of a session cannot be read");
                    break;
                }
            }
        }
        let is_same = read == bytes.len() && checksum(&bytes) == check;
        let text = is_same.then(|| String::from_utf8(bytes).ok()).flatten();
        if text.is_none() {
            tracing::warn!("another program has changed a session file: one of its lines is lost");
        }
        text.map(FrameText::from)
    }

    /// Returns true if the file of the text was removed. Returns false for a text in memory.
    pub fn is_file_missing(&self) -> bool {
        match &self.0 {
            TextLocation::Memory(_) => false,
            TextLocation::File { lazy_file, .. } => {
                lazy_file.file().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
            }
        }
    }

    /// Opens the file of the text and returns it, so that it stays open while many texts are read.
    pub fn open(&self) -> Option<Arc<dyn StoredFile>> {
        match &self.0 {
            TextLocation::Memory(_) => None,
            TextLocation::File { lazy_file, .. } => lazy_file.file().ok(),
        }
    }

    /// Returns the length of the text in bytes.
    pub fn len(&self) -> usize {
        match &self.0 {
            TextLocation::Memory(text) => text.len(),
            TextLocation::File { length, .. } => *length as usize,
        }
    }

    /// Returns the text if it is in memory.
    pub fn in_memory(&self) -> Option<&FrameText> {
        match &self.0 {
            TextLocation::Memory(text) => Some(text),
            TextLocation::File { .. } => None,
        }
    }

    /// Returns true if this text equals `other`.
    pub fn equals(&self, other: &FrameText) -> bool {
        self.match_prefix(other.as_bytes()) == Some(other.len())
    }

    /// Returns the length of this text if `bytes` begin with this text.
    pub fn match_prefix(&self, bytes: &[u8]) -> Option<usize> {
        match &self.0 {
            TextLocation::Memory(text) => bytes.starts_with(text.as_bytes()).then(|| text.len()),
            TextLocation::File { length, checksum: check, .. } => {
                let length = usize::try_from(*length).ok()?;
                bytes.get(..length).filter(|bytes| checksum(bytes) == *check).map(<[u8]>::len)
            }
        }
    }

    /// Returns true if this text begins with `bytes`. For a text in a file this is unknown, so the result is false
    /// unless `bytes` is empty.
    pub fn may_begin_with(&self, bytes: &[u8]) -> bool {
        match &self.0 {
            TextLocation::Memory(text) => text.as_bytes().starts_with(bytes),
            TextLocation::File { .. } => bytes.is_empty(),
        }
    }
}

impl From<FrameText> for LineText {
    fn from(text: FrameText) -> Self {
        Self(TextLocation::Memory(text))
    }
}

/// Computes a checksum that detects accidental changes, but not deliberate ones.
fn checksum(bytes: &[u8]) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
    let sum = words.fold(bytes.len() as u64, |sum, word| (sum.rotate_left(23) ^ word).wrapping_mul(FACTOR));
    (sum >> 32) as u32
}
