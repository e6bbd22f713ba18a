//! `auth.json`: the user's stored keys.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use super::auth_cache::{self, AuthFileCache, AuthReadError};
use super::auth_entry::StoredCredential;
use crate::atomic_write;

/// Maximum wait for a lock that another process holds.
const LOCK_LIMIT: Duration = Duration::from_secs(10);
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// The reason why the file cannot be read or written. The message shows no content of the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The file system reported an error.
    #[error("{path} cannot be used: {source}")]
    Io {
        /// The file, or its directory.
        path: PathBuf,
        /// The error of the file system.
        source: std::io::Error,
    },
    /// The file is not valid; it was left unchanged.
    #[error("{path} is not valid: {reason}")]
    Corrupt {
        /// Path of the invalid file.
        path: PathBuf,
        /// Location and description of the fault.
        reason: String,
    },
    /// Another process held the lock until the time limit.
    #[error("{path} is locked by another process")]
    Locked {
        /// Path of the locked directory.
        path: PathBuf,
    },
}

/// The file with keys in an agent directory. It is checked for each request, because several agents can share it.
#[derive(Clone)]
pub struct AuthFile {
    path: PathBuf,
    cache: AuthFileCache,
}

impl std::fmt::Debug for AuthFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("AuthFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl AuthFile {
    /// Returns the file in an agent directory. Neither the file nor the directory needs to exist.
    pub fn in_dir(agent_dir: &Path) -> Self {
        Self { path: agent_dir.join("auth.json"), cache: AuthFileCache::new() }
    }

    /// Checks that the file can be read, if it exists.
    pub fn check(&self) -> Result<(), AuthError> {
        self.read().map(drop)
    }

    /// Stores a key for a provider and leaves all other entries unchanged. Fails without a change if the file cannot be
    /// read, written or locked. Blocks the thread, for up to 10 s if another process holds the lock.
    pub fn set_key(&self, provider: &str, key: &SecretString) -> Result<(), AuthError> {
        self.change(|entries| {
            entries.insert(provider.to_owned(), json!({"type": "api_key", "key": key.expose_secret()}));
        })
    }

    /// Removes the entry of a provider. Fails as [`AuthFile::set_key`] does.
    pub fn remove(&self, provider: &str) -> Result<(), AuthError> {
        self.change(|entries| {
            entries.remove(provider);
        })
    }

    /// Returns the stored credentials of a provider. If the disk does not answer soon, uses the last known content.
    /// Fails if the entry has a type that this version does not know.
    pub fn stored(&self, provider: &str) -> Result<Option<StoredCredential>, AuthError> {
        self.cache.stored(&self.path, provider).map_err(|problem| self.auth_error(problem))
    }

    /// Returns the keys and tokens of all entries, including entries of types that this version does not know.
    pub fn secrets(&self) -> Result<Vec<SecretString>, AuthError> {
        let entries = self.read()?;
        // A login with a device code is at the top level.
        let members = entries.iter().chain(entries.values().filter_map(Value::as_object).flatten());
        let is_secret =
            |name: &str| matches!(name, "key" | "access" | "refresh") || agentese::redact::holds_key(name);
        let secrets = members.filter(|(name, _)| is_secret(name)).filter_map(|(_, value)| value.as_str());
        Ok(secrets.map(SecretString::from).collect())
    }

    /// Returns the providers with a stored key, in the order of the file. Fails if the file cannot be read.
    pub fn providers_with_keys(&self) -> Result<Vec<String>, AuthError> {
        let entries = self.read()?;
        let keyed = entries.into_iter().filter(|(name, entry)| {
            matches!(StoredCredential::from_entry(name, entry), Ok(StoredCredential::Key(_)))
        });
        Ok(keyed.map(|(name, _)| name).collect())
    }

    fn read(&self) -> Result<Map<String, Value>, AuthError> {
        auth_cache::read(&self.path).map_err(|problem| self.auth_error(problem))
    }

    fn auth_error(&self, problem: AuthReadError) -> AuthError {
        match problem {
            AuthReadError::Io(kind, text) => self.io(std::io::Error::new(kind, text)),
            AuthReadError::Corrupt(reason) => self.corrupt(reason),
        }
    }

    pub fn change(&self, change: impl FnOnce(&mut Map<String, Value>)) -> Result<(), AuthError> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        if !directory.is_dir() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)
                .map_err(|error| self.io(error))?;
        }
        let _lock = self.lock(directory)?;
        let mut entries = self.read()?;
        change(&mut entries);
        let mut text = serde_json::to_vec_pretty(&entries).map_err(|error| self.io(error.into()))?;
        text.push(b'\n');
        // The file may be a link to another place; keys are written to the target alone.
        let target = atomic_write::resolve_symlinks(&self.path).map_err(|error| self.io(error))?;
        let scratch = target.parent().unwrap_or(directory);
        let options = atomic_write::Options { scratch, mode: 0o600, exact_mode: Some(0o600) };
        atomic_write::replace(&target, &[&text], &options, || Ok(()))
            .map_err(|failure| self.io(failure.into_io()))?;
        self.cache.record_write(entries);
        Ok(())
    }

    /// Locks the directory until the returned file is closed.
    fn lock(&self, directory: &Path) -> Result<File, AuthError> {
        let handle = File::open(directory).map_err(|error| self.io(error))?;
        let start = Instant::now();
        loop {
            match flock(&handle, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(handle),
                Err(rustix::io::Errno::WOULDBLOCK) if start.elapsed() < LOCK_LIMIT => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    return Err(AuthError::Locked { path: directory.to_owned() });
                }
                Err(error) => return Err(self.io(error.into())),
            }
        }
    }

    fn corrupt(&self, reason: String) -> AuthError {
        AuthError::Corrupt { path: self.path.clone(), reason }
    }

    fn io(&self, source: std::io::Error) -> AuthError {
        AuthError::Io { path: self.path.clone(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn key(file: &AuthFile, provider: &str) -> Option<String> {
        match file.stored(provider).unwrap()? {
            StoredCredential::Key(key) => Some(key.expose_secret().to_owned()),
            _ => None,
        }
    }

    #[test]
    fn a_key_is_kept_for_its_owner_alone_and_others_stay() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("agent");
        let file = AuthFile::in_dir(&directory);
        file.check().unwrap();
        file.set_key("anthropic", &"canary-a".into()).unwrap();
        assert_eq!((mode(&directory), mode(&directory.join("auth.json"))), (0o700, 0o600));
        let text = std::fs::read_to_string(directory.join("auth.json")).unwrap();
        let mut entries: Value = serde_json::from_str(&text).unwrap();
        entries["future"] = json!({"type": "novel", "x": [1]});
        std::fs::write(directory.join("auth.json"), entries.to_string()).unwrap();
        file.set_key("openai", &"canary-o".into()).unwrap();
        assert_eq!(key(&file, "anthropic").as_deref(), Some("canary-a"));
        assert_eq!(key(&file, "openai").as_deref(), Some("canary-o"));
        assert!(matches!(file.stored("future"), Err(AuthError::Corrupt { .. })));
        file.remove("anthropic").unwrap();
        assert_eq!(key(&file, "anthropic"), None);
        let left: Value =
            serde_json::from_str(&std::fs::read_to_string(directory.join("auth.json")).unwrap()).unwrap();
        assert_eq!(left["future"], json!({"type": "novel", "x": [1]}));
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1, "no file is left behind");
    }

    #[test]
    fn fm_f121_a_file_that_is_not_valid_is_an_error_and_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let file = AuthFile::in_dir(directory.path());
        let path = directory.path().join("auth.json");
        for text in [
            "",
            "{",
            "[]",
            "null",
            "{\"a\": {\"type\": \"api_key\", \"key\": \"canary",
            "canary",
            "{\"a\": canary}",
        ] {
            std::fs::write(&path, text).unwrap();
            let errors = [
                file.check().unwrap_err(),
                file.stored("a").unwrap_err(),
                file.set_key("a", &"k".into()).unwrap_err(),
                file.remove("a").unwrap_err(),
            ];
            for error in errors {
                assert!(matches!(error, AuthError::Corrupt { .. }), "{error}");
                assert!(!format!("{error} {error:?}").contains("canary"), "{error}");
            }
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        for entry in
            [json!("canary"), json!({"type": "api_key"}), json!({"type": "api_key", "key": 7}), json!({})]
        {
            std::fs::write(&path, json!({"a": entry}).to_string()).unwrap();
            assert!(matches!(file.stored("a"), Err(AuthError::Corrupt { .. })), "{entry}");
            assert!(file.stored("b").unwrap().is_none());
        }
        std::fs::write(&path, b"\xff\xfe").unwrap();
        assert!(matches!(file.check(), Err(AuthError::Corrupt { .. })));
    }

    #[test]
    fn fm_f120_many_writers_lose_nothing() {
        let directory = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for number in 0..16 {
                let file = AuthFile::in_dir(directory.path());
                scope.spawn(move || {
                    file.set_key(&format!("p{number}"), &format!("k{number}").into()).unwrap()
                });
            }
        });
        let file = AuthFile::in_dir(directory.path());
        for number in 0..16 {
            assert_eq!(key(&file, &format!("p{number}")), Some(format!("k{number}")));
        }
    }
}
