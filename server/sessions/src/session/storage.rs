//! The few things that a session does with files, so that a test can let each of them fail.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::Holder;

/// Tells a file from every other one, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
}

impl Identity {
    /// The file with that number on that device.
    pub fn new(device: u64, inode: u64) -> Self {
        Self { device, inode }
    }
}

/// Something that this process alone has, until it is dropped.
pub type Claim = Box<dyn Send + Sync>;

/// Files and directories.
pub trait Storage: Send + Sync {
    /// Makes a directory and those above it, for the user alone. Existing ones stay as they are.
    fn create_directory(&self, directory: &Path) -> io::Result<()>;

    /// Makes a file for the user alone. Fails where something has that name.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>>;

    /// Opens a regular file to read it and, where `write` says so, to write at its end.
    fn open(&self, path: &Path, write: bool) -> io::Result<Arc<dyn StoredFile>>;

    /// Which file has that name now.
    fn identity(&self, path: &Path) -> io::Result<Identity>;

    /// The path without symbolic links.
    fn real(&self, path: &Path) -> io::Result<PathBuf>;

    /// Gives a file a second name. Fails where something has that name.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file another name, at once and in place of what has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Takes a name away.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Waits until the names in a directory are on the disk.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;

    /// Keeps a file for this process without a lock on it. The caller has it locked, and gives it free afterwards.
    fn claim(&self, path: &Path, identity: Identity) -> io::Result<Claim>;

    /// The process that has claimed a file; none where nobody has. The caller has it locked.
    fn claimed(&self, path: &Path, identity: Identity) -> io::Result<Option<Holder>>;
}

/// An open file.
pub trait StoredFile: Send + Sync {
    /// All of it.
    fn read(&self) -> io::Result<Vec<u8>>;

    /// What stands at a place, once; gives how many bytes were read, none at the end.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize>;

    /// How long it is.
    fn length(&self) -> io::Result<u64>;

    /// The last byte; none where it is empty.
    fn last_byte(&self) -> io::Result<Option<u8>>;

    /// Writes at the end, once; gives how many bytes were written.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts it.
    fn truncate(&self, length: u64) -> io::Result<()>;

    /// Waits until its content is on the disk.
    fn sync(&self) -> io::Result<()>;

    /// Takes it for this opener alone, until `unlock` or the end of the process; false where another
    /// has it. Files whose system has no locks are anybody's.
    fn try_lock(&self) -> io::Result<bool>;

    /// Gives it free.
    fn unlock(&self);

    /// The process that has it, where the system says so.
    fn holder(&self) -> Option<u32>;

    /// Which file it is.
    fn identity(&self) -> io::Result<Identity>;
}

/// Opens a file again. Fails where another one has its name now.
pub(super) fn reopen(
    storage: &dyn Storage,
    path: &Path,
    write: bool,
    identity: Identity,
) -> io::Result<Arc<dyn StoredFile>> {
    let file = storage.open(path, write)?;
    match file.identity()? == identity {
        true => Ok(file),
        false => Err(io::Error::other("another file has taken its place")),
    }
}

/// Takes a file for this process alone, or says who has it.
pub(super) fn lock(
    storage: &dyn Storage,
    path: &Path,
    file: &dyn StoredFile,
) -> io::Result<Result<(), Holder>> {
    if !file.try_lock()? {
        return Ok(Err(Holder(file.holder())));
    }
    match storage.claimed(path, file.identity()?) {
        Ok(None) => Ok(Ok(())),
        other => {
            file.unlock();
            other.map(|holder| Err(holder.unwrap_or(Holder(None))))
        }
    }
}
