//! Locks for one writer of a file at a time, including other programs.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Age after which the holder of a lock is considered dead. Agents of the pi family use the same value.
const STALE_AGE: Duration = Duration::from_secs(10);

/// The pause between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Reason why a file could not be locked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another program held the lock until the time limit.
    #[error("another program holds the lock {}", .0.display())]
    Held(PathBuf),
    /// The system reported an error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The lock of a file, held until this value is dropped.
///
/// It consists of two parts. The directory `FILE.lock` is the lock of agents of the pi family, which share
/// these files. If it is older than ten seconds, its owner is considered dead and this program removes it. So
/// that two programs cannot do this at once, agentese first locks the parent directory of the file. The
/// system releases that lock when the process ends.
#[derive(Debug)]
pub struct FileLock {
    path: PathBuf,
    _directory: File,
}

impl FileLock {
    /// Locks a file in an existing directory; the file itself need not exist. Blocks for at most `timeout`.
    /// Fails if the lock is not free by then.
    pub fn acquire(file: &Path, timeout: Duration) -> Result<Self, LockError> {
        let end = Instant::now() + timeout;
        let mut name = file.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        let directory = match file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?,
            _ => File::open(".")?,
        };
        let held = || LockError::Held(path.clone());
        retry_until(end, held, || match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        })?;
        retry_until(end, held, || {
            remove_stale(&path)?;
            match std::fs::create_dir(&path) {
                Ok(()) => Ok(true),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
                Err(error) => Err(error),
            }
        })?;
        Ok(Self { path, _directory: directory })
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a lock could not be removed");
        }
    }
}

/// Repeats an attempt until it succeeds. Fails with `held` after the time limit.
fn retry_until(
    end: Instant,
    held: impl Fn() -> LockError,
    mut attempt: impl FnMut() -> io::Result<bool>,
) -> Result<(), LockError> {
    while !attempt()? {
        if Instant::now() >= end {
            return Err(held());
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
    Ok(())
}

/// Removes the directory of a lock if its holder is considered dead.
fn remove_stale(path: &Path) -> io::Result<()> {
    if !is_stale(path) {
        return Ok(());
    }
    tracing::warn!(path = %path.display(), "removing a stale lock");
    match std::fs::remove_dir(path) {
        // Its holder was alive, or another program was faster.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn is_stale(path: &Path) -> bool {
    let modified = std::fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| SystemTime::now().duration_since(modified).is_ok_and(|age| age > STALE_AGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lock_times_out() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("settings.json");
        let first = FileLock::acquire(&file, Duration::ZERO).unwrap();
        assert!(directory.path().join("settings.json.lock").is_dir());
        assert!(matches!(FileLock::acquire(&file, Duration::ZERO), Err(LockError::Held(_))));
        drop(first);
        assert!(!directory.path().join("settings.json.lock").exists());
        FileLock::acquire(&file, Duration::ZERO).unwrap();
    }

    #[test]
    fn fm_f102_a_live_lock_is_respected_and_a_stale_one_taken_over() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("settings.json");
        let lock = directory.path().join("settings.json.lock");
        std::fs::create_dir(&lock).unwrap();
        assert!(matches!(FileLock::acquire(&file, Duration::ZERO), Err(LockError::Held(_))));
        let long_ago = SystemTime::now() - 2 * STALE_AGE;
        File::open(&lock).unwrap().set_modified(long_ago).unwrap();
        drop(FileLock::acquire(&file, Duration::ZERO).unwrap());
        assert!(!lock.exists());
    }
}
