//! The file operations of a session, as a trait. Tests implement the trait to make each operation fail.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::Holder;

/// The identity of a file. It stays the same if the file is renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
}

impl Identity {
    /// Creates the identity of the file with that inode on that device.
    pub fn new(device: u64, inode: u64) -> Self {
        Self { device, inode }
    }
}

/// A reservation of a file for this process. Dropping it ends the reservation.
pub type Claim = Box<dyn Send + Sync>;

/// Access to files and directories.
pub trait Storage: Send + Sync {
    /// Creates a directory and its parents, accessible only by the user. Existing directories stay unchanged.
    fn create_directory(&self, directory: &Path) -> io::Result<()>;

    /// Creates a file that only the user can access. Fails if the path exists.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>>;

    /// Opens a regular file for reading and, with `write`, for writing at its end.
    fn open(&self, path: &Path, write: bool) -> io::Result<Arc<dyn StoredFile>>;

    /// Returns the identity of the file at `path`.
    fn identity(&self, path: &Path) -> io::Result<Identity>;

    /// Returns the path without symbolic links.
    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf>;

    /// Gives a file a second name. Fails if this name exists.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Renames a file atomically. Replaces an existing file with the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a name of a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Waits until changes of names in a directory are synced to the disk.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;

    /// Reserves a file for this process, for the time in which it is closed and so has no lock. The caller must hold
    /// the lock of the file during the call.
    fn claim(&self, path: &Path, identity: Identity) -> io::Result<Claim>;

    /// Returns the process that has reserved a file, or `None`. The caller must hold the lock of the file during the
    /// call.
    fn claim_holder(&self, path: &Path, identity: Identity) -> io::Result<Option<Holder>>;
}

/// An open file.
pub trait StoredFile: Send + Sync {
    /// Reads the whole file.
    fn read(&self) -> io::Result<Vec<u8>>;

    /// Reads bytes at an offset with one call. Returns the number of bytes read, which is 0 at the end.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize>;

    /// Returns the length of the file in bytes.
    fn length(&self) -> io::Result<u64>;

    /// Returns the last byte, or `None` if the file is empty.
    fn last_byte(&self) -> io::Result<Option<u8>>;

    /// Writes at the end with one call. Returns the number of bytes written.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts the file to that length in bytes.
    fn truncate(&self, length: u64) -> io::Result<()>;

    /// Waits until the content of the file is on the disk.
    fn sync(&self) -> io::Result<()>;

    /// Locks the file until `unlock` or the end of the process. Returns false if the file is locked already. If the
    /// system has no locks, every call succeeds.
    fn try_lock(&self) -> io::Result<bool>;

    /// Unlocks the file.
    fn unlock(&self);

    /// Returns the process that has locked the file, if the system reports it.
    fn holder(&self) -> Option<u32>;

    /// Returns the identity of the file.
    fn identity(&self) -> io::Result<Identity>;
}

/// Opens a file again. Fails if another file has the path now.
pub(super) fn reopen(
    storage: &dyn Storage,
    path: &Path,
    write: bool,
    identity: Identity,
) -> io::Result<Arc<dyn StoredFile>> {
    let file = storage.open(path, write)?;
    match file.identity()? == identity {
        true => Ok(file),
        false => Err(io::Error::other("another file has replaced it")),
    }
}

/// Locks a file for the current process. If another process holds the lock, returns that process.
pub(super) fn lock(
    storage: &dyn Storage,
    path: &Path,
    file: &dyn StoredFile,
) -> io::Result<Result<(), Holder>> {
    if !file.try_lock()? {
        return Ok(Err(Holder(file.holder())));
    }
    match storage.claim_holder(path, file.identity()?) {
        Ok(None) => Ok(Ok(())),
        other => {
            file.unlock();
            other.map(|holder| Err(holder.unwrap_or(Holder(None))))
        }
    }
}
