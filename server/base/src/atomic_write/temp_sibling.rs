//! The file that takes the target's name.
//!
//! If the system permits, the file has no name until it is complete, so a killed program leaves nothing.
//! Otherwise the file has a recognizable name and is locked while it is in use. The first write in a
//! directory by this process removes the abandoned files there.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

/// The minimum age of an abandoned file. A younger file can belong to a program that has not locked it yet.
const MIN_ABANDONED_AGE: Duration = Duration::from_secs(60);

const PREFIX: &str = ".agentese-";
const SUFFIX: &str = ".tmp";

/// The file with the new content, before it takes the name of the target. If it is dropped earlier, it is
/// deleted.
pub(super) struct TempSibling {
    directory: PathBuf,
    /// Temporary name of the file, if it has one.
    path: Option<PathBuf>,
    file: File,
}

impl TempSibling {
    /// Creates an empty file. Fails with the error of the system.
    pub fn create(directory: &Path, mode: u32) -> io::Result<Self> {
        sweep_once(directory);
        let sibling = |path, file| Self { directory: directory.to_owned(), path, file };
        if let Some(file) = unnamed(directory, mode)? {
            return Ok(sibling(None, file));
        }
        let path = temp_path(directory)?;
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
        let sibling = sibling(Some(path), file);
        // Some file systems have no locks; for them the age alone decides.
        let _ = flock(&sibling.file, FlockOperation::NonBlockingLockExclusive);
        Ok(sibling)
    }

    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Renames the file over the target. If the system reports an error, fails with this error and removes
    /// the file.
    pub fn persist(mut self, target: &Path) -> io::Result<()> {
        if self.path.is_none() {
            let path = temp_path(&self.directory)?;
            link(&self.file, &path)?;
            self.path = Some(path);
        }
        if let Some(path) = &self.path {
            fs::rename(path, target)?;
        }
        self.path = None;
        Ok(())
    }
}

impl Drop for TempSibling {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

fn temp_path(directory: &Path) -> io::Result<PathBuf> {
    let number = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
    Ok(directory.join(format!("{PREFIX}{number:016x}{SUFFIX}")))
}

/// Creates a file without a name. Returns `None` if the system does not support such files.
#[cfg(target_os = "linux")]
fn unnamed(directory: &Path, mode: u32) -> io::Result<Option<File>> {
    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;
    // Without this directory the file could not get a name later.
    if !Path::new("/proc/self/fd").exists() {
        return Ok(None);
    }
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    match rustix::fs::open(directory, flags, Mode::from_raw_mode(mode)) {
        Ok(file) => Ok(Some(file.into())),
        // Systems and file systems without support return one of these errors.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path, _: u32) -> io::Result<Option<File>> {
    Ok(None)
}

#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
    let follow = rustix::fs::AtFlags::SYMLINK_FOLLOW;
    Ok(rustix::fs::linkat(rustix::fs::CWD, opened, rustix::fs::CWD, path, follow)?)
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Removes abandoned files of a directory. Each process does this only once for a directory.
fn sweep_once(directory: &Path) {
    static SWEPT: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);
    let new = SWEPT.lock().unwrap_or_else(PoisonError::into_inner).insert(directory.to_owned());
    if new {
        sweep(directory);
    }
}

/// Removes the files that killed programs have left in a directory. Never fails: a file that cannot be
/// removed stays.
pub fn sweep(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(PREFIX) && name.ends_with(SUFFIX) && is_abandoned(&entry) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns true if a file is abandoned: old enough and not locked.
pub fn is_abandoned(entry: &fs::DirEntry) -> bool {
    let Ok(metadata) = entry.metadata() else { return false };
    let age = metadata.modified().ok().and_then(|modified| modified.elapsed().ok());
    metadata.is_file()
        && age.is_some_and(|age| age > MIN_ABANDONED_AGE)
        && File::open(entry.path())
            .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok())
}
