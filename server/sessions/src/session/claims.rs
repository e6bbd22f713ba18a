//! Claims: reservations of session files and session identifiers for one process.
//!
//! A session whose file is closed between writes needs a claim, because a closed file has no lock. Each process has one
//! locked file in the directory `.agentese-claims` beside its sessions. This file has a slot for each claim. When the
//! process ends, the system releases the lock, and all its claims end. Other processes remove the file when they look
//! for claims.
//!
//! | claimed | time of the claim | the claim |
//! |---|---|---|
//! | a file | when it is closed between writes | needs the lock of the file, and so does the search for a claim |
//! | an identifier | when a session begins with it | needs the lock of the file `lock` in the same directory |

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::error::Holder;
use super::storage::{Claim, Identity};

/// Name of the directory for claims, inside a directory of sessions.
const DIRECTORY: &str = ".agentese-claims";

/// Name of the file that a process locks while it claims an identifier.
const LOCK: &str = "lock";

/// Length of a slot in bytes: two hexadecimal numbers, a space, and a newline.
const SLOT_LENGTH: usize = 34;

/// Maximum number of attempts to get the lock. Other processes hold the lock only briefly.
const MAX_TRIES: usize = 500;
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// The subject of a claim in the form of a slot: a file, or the identifier of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key(u64, u64);

impl Key {
    /// Returns the key of a file.
    pub fn of_file(identity: Identity) -> Self {
        Self(identity.device, identity.inode)
    }

    /// Returns the key of a session's identifier.
    pub fn of_id(id: &str) -> Self {
        let hash = Sha256::digest(id.as_bytes());
        let part = |at: usize| u64::from_be_bytes(std::array::from_fn(|byte| hash[at + byte]));
        Self(part(0), part(8))
    }

    fn text(self) -> String {
        format!("{:016x} {:016x}\n", self.0, self.1)
    }

    fn read(slot: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(slot).ok()?.strip_suffix('\n')?;
        let (one, other) = text.split_once(' ')?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        Some(Self(number(one)?, number(other)?))
    }
}

/// The claims of this process in one directory.
struct Claims {
    file: File,
    path: PathBuf,
    /// `true` for each slot that is in use, by the number of the slot.
    taken: Mutex<Vec<bool>>,
}

/// A slot with a claim. Dropping it releases the claim.
struct ClaimSlot {
    claims: Arc<Claims>,
    number: usize,
}

/// The claims of this process, for each directory of claims.
static OWN_CLAIMS: Mutex<BTreeMap<PathBuf, Weak<Claims>>> = Mutex::new(BTreeMap::new());

/// Adds a claim of a key. Does not check for claims of other processes.
pub(super) fn claim(directory: &Path, key: Key) -> io::Result<Claim> {
    let directory = directory.canonicalize()?.join(DIRECTORY);
    let mut ours = OWN_CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
    let claims = match ours.get(&directory).and_then(Weak::upgrade) {
        // Another program may have emptied the directory.
        Some(claims) if claims.path.exists() => claims,
        _ => {
            let claims = Arc::new(Claims::create(&directory)?);
            ours.insert(directory, Arc::downgrade(&claims));
            claims
        }
    };
    drop(ours);
    claims.add(key)
}

/// Adds a claim of a key, or returns the process that has already claimed it. Fails with `TimedOut` if another process
/// holds the lock for too long.
pub(super) fn claim_exclusive(directory: &Path, key: Key) -> io::Result<Result<Claim, Holder>> {
    let claims = directory.join(DIRECTORY);
    create_directory(&claims)?;
    let lock =
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(claims.join(LOCK))?;
    let mut tries = 0;
    while !try_lock(&lock)? {
        tries += 1;
        if tries == MAX_TRIES {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "another process holds the claims lock"));
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
    match claim_holder(directory, key)? {
        Some(holder) => Ok(Err(holder)),
        None => claim(directory, key).map(Ok),
    }
}

/// Returns the process that has claimed a key; it can be this process.
pub(super) fn claim_holder(directory: &Path, key: Key) -> io::Result<Option<Holder>> {
    let entries = match std::fs::read_dir(directory.join(DIRECTORY)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name() == LOCK {
            continue;
        }
        let Ok(file) = File::open(entry.path()) else { continue };
        match try_lock(&file) {
            Ok(false) => {}
            Ok(true) => {
                // The process of the claims has ended.
                let _ = std::fs::remove_file(entry.path());
                continue;
            }
            // Without locks there are no claims.
            Err(_) => continue,
        }
        let mut bytes = vec![0; usize::try_from(file.metadata()?.len()).unwrap_or(0)];
        let read = file.read_at(&mut bytes, 0)?;
        if bytes[..read].chunks(SLOT_LENGTH).any(|slot| Key::read(slot) == Some(key)) {
            return Ok(Some(Holder(holder(&file))));
        }
    }
    Ok(None)
}

impl Claims {
    /// Creates a new file for claims and locks it.
    fn create(directory: &Path) -> io::Result<Self> {
        loop {
            create_directory(directory)?;
            let path = directory.join(uuid::Uuid::new_v4().to_string());
            let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
            // Another process that looks for claims may regard the file as abandoned until it is locked.
            let kept = try_lock(&file).and_then(|locked| Ok(locked && file.metadata()?.nlink() > 0));
            if matches!(kept, Ok(true)) {
                return Ok(Self { file, path, taken: Mutex::default() });
            }
            let _ = std::fs::remove_file(path);
            kept?;
        }
    }

    fn taken(&self) -> MutexGuard<'_, Vec<bool>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(self: Arc<Self>, key: Key) -> io::Result<Claim> {
        let mut taken = self.taken();
        let number = taken.iter().position(|taken| !taken).unwrap_or(taken.len());
        self.file.write_all_at(key.text().as_bytes(), (number * SLOT_LENGTH) as u64)?;
        match taken.get_mut(number) {
            Some(taken) => *taken = true,
            None => taken.push(true),
        }
        drop(taken);
        Ok(Box::new(ClaimSlot { claims: self, number }))
    }
}

impl Drop for ClaimSlot {
    fn drop(&mut self) {
        let mut taken = self.claims.taken();
        let free = [b" ".repeat(SLOT_LENGTH - 1).as_slice(), b"\n"].concat();
        match self.claims.file.write_all_at(&free, (self.number * SLOT_LENGTH) as u64) {
            Ok(()) => taken[self.number] = false,
            Err(error) => tracing::warn!(%error, "a session stays claimed until this process ends"),
        }
    }
}

impl Drop for Claims {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn create_directory(directory: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created,
    }
}

/// Locks a file. Returns false if another process has locked it. Fails on a file system without locks, so that claims
/// do not exist there.
fn try_lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns the process that holds the lock of a file, if the system reports it.
#[cfg(target_os = "linux")]
pub(super) fn holder(file: &File) -> Option<u32> {
    let metadata = file.metadata().ok()?;
    let (major, minor) = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
    let number = format!("{major:02x}:{minor:02x}:{}", metadata.ino());
    // Lines as in `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`.
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let [kind, _, _, process, locked] = std::array::from_fn(|_| words.next().unwrap_or_default());
        (kind == "FLOCK" && locked == number).then(|| process.parse().ok()).flatten()
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn holder(_: &File) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_lasts_until_it_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let key = Key::of_id("one");
        assert_eq!(claim_holder(directory.path(), key).unwrap(), None);
        let first = claim_exclusive(directory.path(), key).unwrap().ok().unwrap();
        let other = claim_exclusive(directory.path(), Key::of_id("other")).unwrap().ok().unwrap();
        assert!(claim_exclusive(directory.path(), key).unwrap().is_err());
        assert_eq!(claim_holder(directory.path(), Key::of_id("third")).unwrap(), None);
        drop(first);
        assert_eq!(claim_holder(directory.path(), key).unwrap(), None);
        assert!(claim_holder(directory.path(), Key::of_id("other")).unwrap().is_some());
        drop(other);
        let again = claim_exclusive(directory.path(), key).unwrap();
        assert!(again.is_ok());
    }

    #[test]
    fn claims_of_an_ended_process_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join(DIRECTORY);
        std::fs::create_dir(&directory).unwrap();
        let left = directory.join("left");
        std::fs::write(&left, Key::of_id("one").text()).unwrap();
        assert_eq!(claim_holder(root.path(), Key::of_id("one")).unwrap(), None);
        assert!(!left.exists());
    }

    #[test]
    fn one_of_several_concurrent_claims_succeeds() {
        let directory = tempfile::tempdir().unwrap();
        for round in 0..20 {
            let key = Key::of_id(&round.to_string());
            let claims: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4)
                    .map(|_| scope.spawn(|| claim_exclusive(directory.path(), key).unwrap().ok()))
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(claims.iter().flatten().count(), 1, "round {round}");
        }
    }
}
