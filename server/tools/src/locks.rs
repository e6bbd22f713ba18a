//! Locks that permit one change of a file at a time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;

/// The locks of all files in this process, because all of its sessions and subagents change the same files.
static LOCKS: LazyLock<Mutex<HashMap<PathBuf, Weak<AsyncMutex<()>>>>> = LazyLock::new(Mutex::default);

/// Waits until no other call in this process changes the file, and locks it. Does not affect other processes.
/// Never fails. Earlier changes can take long, so a caller that can be aborted uses [`lock_unless_aborted`].
pub(crate) async fn lock(path: &Path) -> OwnedMutexGuard<()> {
    let lock = {
        let mut locks = LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, lock| lock.strong_count() > 0);
        match locks.get(path).and_then(Weak::upgrade) {
            Some(lock) => lock,
            None => {
                let lock = Arc::new(AsyncMutex::new(()));
                locks.insert(path.to_owned(), Arc::downgrade(&lock));
                lock
            }
        }
    };
    lock.lock_owned().await
}

/// Locks a file as [`lock`] does. Fails with a text for the model as soon as the call is aborted.
pub(crate) async fn lock_unless_aborted(
    path: &Path,
    abort: &CancellationToken,
) -> Result<OwnedMutexGuard<()>, String> {
    tokio::select! {
        biased;
        () = abort.cancelled() => Err(ABORTED.to_owned()),
        held = lock(path) => Ok(held),
    }
}

/// Checks the abort of a call. Fails with a text for the model if the call is aborted.
pub(crate) fn check_not_aborted(abort: &CancellationToken) -> Result<(), String> {
    if abort.is_cancelled() { Err(ABORTED.to_owned()) } else { Ok(()) }
}

/// The error of a call that was aborted before it changed anything.
pub(crate) const ABORTED: &str = "Operation aborted";

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn one_file_at_a_time_and_others_beside_it() {
        let held = lock(Path::new("/locks/a")).await;
        assert!(lock(Path::new("/locks/a")).now_or_never().is_none());
        assert!(lock(Path::new("/locks/b")).now_or_never().is_some());
        drop(held);
        assert!(lock(Path::new("/locks/a")).now_or_never().is_some());
    }
}
