//! Cached content of `auth.json`, for callers that must not wait for a slow disk.
//!
//! A separate thread checks if the file has changed. A caller waits for this check only briefly. Then it continues with
//! the last known content. The thread reads the file again if its time, size or identity has changed.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use super::auth_entry::{DEVICE_LOGIN_PROVIDER, StoredCredential};

/// Maximum wait for a check while no content is known yet.
const FIRST_CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum wait for a check when earlier content is known.
const CHECK_TIMEOUT: Duration = Duration::from_millis(100);
/// Age of a file's last change from which on its metadata are trusted. Two changes within this age can have the same
/// time.
const STABLE_AGE: Duration = Duration::from_secs(1);
/// Maximum size of the file in bytes, far above the size of real files.
const MAX_SIZE: u64 = 16 << 20;

/// The reason why the content is unknown.
#[derive(Debug, Clone)]
pub(super) enum AuthReadError {
    Io(ErrorKind, String),
    Corrupt(String),
}

impl From<io::Error> for AuthReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error.kind(), error.to_string())
    }
}

/// Entries by provider. An invalid entry is stored as a description of its fault.
type Entries = HashMap<String, Result<StoredCredential, String>>;

/// The content of the file at its last check.
#[derive(Clone)]
struct AuthSnapshot {
    stamp: Option<Stamp>,
    entries: Arc<Result<Entries, AuthReadError>>,
}

/// Metadata of a file that differ after a change of the file.
#[derive(Clone, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    size: u64,
    times: [(i64, i64); 2],
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            times: [(metadata.mtime(), metadata.mtime_nsec()), (metadata.ctime(), metadata.ctime_nsec())],
        }
    }
}

#[derive(Default)]
struct AuthCacheState {
    /// Number of requested checks. `completed` is the number of checks that have ended.
    requested: u64,
    completed: u64,
    snapshot: Option<AuthSnapshot>,
    /// Number of writes to the file by this process.
    writes: u64,
}

type SharedState = Arc<(Mutex<AuthCacheState>, Condvar)>;

/// The cache of one file.
#[derive(Clone)]
pub(super) struct AuthFileCache {
    shared: SharedState,
    requests: Arc<Mutex<Option<Sender<u64>>>>,
    /// Maximum wait for a check when earlier content is known.
    check_timeout: Duration,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AuthFileCache {
    pub fn new() -> Self {
        Self { shared: SharedState::default(), requests: Arc::default(), check_timeout: CHECK_TIMEOUT }
    }

    /// Stores the content that this process has just written. It is used even if the next check takes long.
    pub fn record_write(&self, members: Map<String, Value>) {
        let mut state = lock(&self.shared.0);
        state.writes += 1;
        state.snapshot = Some(AuthSnapshot { stamp: None, entries: Arc::new(Ok(entries(members))) });
    }

    /// Returns the stored credentials of a provider. Waits briefly for the disk. While a check gets no answer from the
    /// disk, later calls do not wait.
    pub fn stored(&self, path: &Path, provider: &str) -> Result<Option<StoredCredential>, AuthReadError> {
        match &*self.check(path).map_err(AuthReadError::from)? {
            Err(problem) => Err(problem.clone()),
            Ok(entries) => entries.get(provider).cloned().transpose().map_err(AuthReadError::Corrupt),
        }
    }

    fn check(&self, path: &Path) -> io::Result<Arc<Result<Entries, AuthReadError>>> {
        let (state_lock, completed) = &*self.shared;
        let mut state = lock(state_lock);
        if state.requested == state.completed {
            state.requested += 1;
            self.request_check(path, state.requested)?;
            let (number, timeout) = (
                state.requested,
                if state.snapshot.is_some() { self.check_timeout } else { FIRST_CHECK_TIMEOUT },
            );
            let waited = completed.wait_timeout_while(state, timeout, |state| state.completed < number);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let stuck = || io::Error::new(ErrorKind::TimedOut, "the disk does not respond");
        state.snapshot.as_ref().map(|snapshot| snapshot.entries.clone()).ok_or_else(stuck)
    }

    fn request_check(&self, path: &Path, number: u64) -> io::Result<()> {
        let mut work = lock(&self.requests);
        if work.as_ref().is_some_and(|work| work.send(number).is_ok()) {
            return Ok(());
        }
        let (sender, numbers) = channel::<u64>();
        let (shared, path): (_, PathBuf) = (self.shared.clone(), path.to_owned());
        std::thread::Builder::new().name("auth-file".to_owned()).spawn(move || {
            let (state_lock, completed) = &*shared;
            while let Ok(number) = numbers.recv() {
                let (before, written) = {
                    let state = lock(state_lock);
                    (state.snapshot.clone(), state.writes)
                };
                let snapshot = read_if_changed(&path, before);
                let mut state = lock(state_lock);
                // A check that began before the write may have found the earlier content.
                if state.writes == written {
                    state.snapshot = Some(snapshot);
                }
                state.completed = number;
                completed.notify_all();
            }
        })?;
        let _ = sender.send(number);
        *work = Some(sender);
        Ok(())
    }
}

/// Reads the file if its metadata differ from `before`; otherwise returns `before`.
fn read_if_changed(path: &Path, before: Option<AuthSnapshot>) -> AuthSnapshot {
    let now = SystemTime::now();
    let stamp = std::fs::metadata(path).map(|metadata| {
        // The age of a time in the future is unknown.
        let age = metadata.modified().ok().and_then(|time| now.duration_since(time).ok());
        (Stamp::of(&metadata), age.is_some_and(|age| age > STABLE_AGE))
    });
    if let (Ok((stamp, true)), Some(before)) = (&stamp, before)
        && before.stamp.as_ref() == Some(stamp)
    {
        return before;
    }
    // A file that may change again within the same moment is read again the next time.
    let stamp = stamp.ok().filter(|(_, settled)| *settled).map(|(stamp, _)| stamp);
    AuthSnapshot { stamp, entries: Arc::new(read(path).map(entries)) }
}

/// Reads the members of the file. Returns no members if the file does not exist. If the path is a pipe, does not wait
/// for its other end.
pub(super) fn read(path: &Path) -> Result<Map<String, Value>, AuthReadError> {
    let corrupt = |reason: &str| AuthReadError::Corrupt(reason.to_owned());
    // Opening a pipe or a device may have further effects than reading it.
    let kind = |metadata: &Metadata| match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
    };
    let opened = std::fs::metadata(path).and_then(|metadata| kind(&metadata)).and_then(|()| {
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = File::options().read(true).custom_flags(flags).open(path)?;
        kind(&file.metadata()?).map(|()| file)
    });
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Map::new()),
        Err(error) => return Err(error.into()),
    };
    let mut text = String::new();
    match file.take(MAX_SIZE + 1).read_to_string(&mut text) {
        Ok(_) if text.len() as u64 > MAX_SIZE => return Err(corrupt("it is longer than 16 MiB")),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::InvalidData => return Err(corrupt("it is not UTF-8")),
        Err(error) => return Err(error.into()),
    }
    // The text is wiped from memory after use.
    let text = SecretString::from(text);
    let text = text.expose_secret();
    match serde_json::from_str(text.strip_prefix('\u{feff}').unwrap_or(text)) {
        Ok(Value::Object(entries)) => Ok(entries),
        Ok(_) => Err(corrupt("it is not an object")),
        // serde_json's own message can repeat content of the file.
        Err(error) => Err(AuthReadError::Corrupt(format!(
            "line {}, column {} is not JSON",
            error.line(),
            error.column()
        ))),
    }
}

fn entries(members: Map<String, Value>) -> Entries {
    let entry = |(provider, entry): (String, Value)| {
        let stored = StoredCredential::from_entry(&provider, &entry);
        (provider, stored)
    };
    let device =
        StoredCredential::from_device_login(&members).map(|login| (DEVICE_LOGIN_PROVIDER.to_owned(), login));
    // A key of that name was stored on purpose, so it takes precedence over the login.
    device.into_iter().chain(members.into_iter().map(entry)).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn key(cache: &AuthFileCache, path: &Path) -> Result<Option<String>, String> {
        match cache.stored(path, "p") {
            Ok(Some(StoredCredential::Key(key))) => Ok(Some(key.expose_secret().to_owned())),
            Ok(_) => Ok(None),
            Err(AuthReadError::Io(_, error) | AuthReadError::Corrupt(error)) => Err(error),
        }
    }

    fn write(path: &Path, key: &str) {
        std::fs::write(path, format!(r#"{{"p": {{"type": "api_key", "key": "{key}"}}}}"#)).unwrap();
    }

    #[test]
    fn fm_f121_a_pipe_is_no_file_of_keys_and_holds_nothing_up() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("auth.json");
        let cache = AuthFileCache::new();
        write(&path, "one");
        assert_eq!(key(&cache, &path), Ok(Some("one".to_owned())));
        std::fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_eq!(key(&cache, &path), Err("it is not a regular file".to_owned()));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(key(&cache, &path), Ok(None));
    }

    #[test]
    fn each_change_is_seen_also_within_one_tick_and_with_the_same_size() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("auth.json");
        let cache = AuthFileCache { check_timeout: Duration::from_secs(60), ..AuthFileCache::new() };
        for number in 100..400 {
            write(&path, &number.to_string());
            assert_eq!(key(&cache, &path), Ok(Some(number.to_string())));
        }
    }

    #[test]
    fn an_unchanged_file_is_not_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("auth.json");
        write(&path, "one");
        let long_ago = SystemTime::now() - Duration::from_secs(3600);
        let age = |time| File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        age(long_ago);
        let first = read_if_changed(&path, None);
        let second = read_if_changed(&path, Some(first.clone()));
        assert!(Arc::ptr_eq(&first.entries, &second.entries));
        write(&path, "other");
        age(long_ago);
        let third = read_if_changed(&path, Some(second.clone()));
        assert!(!Arc::ptr_eq(&second.entries, &third.entries));
    }

    #[test]
    fn fm_f121_the_last_known_content_applies_while_the_disk_is_stuck() {
        let path = Path::new("auth.json");
        let cache = AuthFileCache::new();
        // The thread never answers.
        let (sender, numbers) = channel();
        *lock(&cache.requests) = Some(sender);
        let began = Instant::now();
        assert_eq!(key(&cache, path), Err("the disk does not respond".to_owned()));
        assert!(began.elapsed() >= FIRST_CHECK_TIMEOUT);
        let entries = serde_json::json!({"p": {"type": "api_key", "key": "old"}});
        let found = entries.as_object().cloned().map(entries_of).unwrap();
        lock(&cache.shared.0).snapshot = Some(found);
        // No further check is requested, so no caller waits a second time.
        for _ in 0..100 {
            assert_eq!(key(&cache, path), Ok(Some("old".to_owned())));
        }
        assert_eq!(numbers.try_iter().count(), 1);
    }

    #[test]
    fn content_written_by_this_process_applies_at_once() {
        let path = Path::new("auth.json");
        let cache = AuthFileCache::new();
        // The thread never answers.
        let (sender, _numbers) = channel();
        *lock(&cache.requests) = Some(sender);
        for written in ["old", "new"] {
            let entries = serde_json::json!({"p": {"type": "api_key", "key": written}});
            cache.record_write(entries.as_object().cloned().unwrap());
            assert_eq!(key(&cache, path), Ok(Some(written.to_owned())));
        }
    }

    fn entries_of(members: Map<String, Value>) -> AuthSnapshot {
        AuthSnapshot { stamp: None, entries: Arc::new(Ok(entries(members))) }
    }
}
