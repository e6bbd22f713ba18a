//! Saving changes to the user's settings file, if enabled.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentese::types::{QueueMode, ThinkingLevel};
use serde_json::{Map, Value};

use super::file_lock::{FileLock, LockError};
use crate::atomic_write;

/// Maximum waiting time for another program that writes the same file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// A change of a setting by a client, which can be saved for later processes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingsChange {
    /// The model with which sessions start.
    DefaultModel {
        /// Provider of the model.
        provider: String,
        /// Id of the model.
        id: String,
    },
    /// The default thinking level of models.
    DefaultThinkingLevel(ThinkingLevel),
    /// The delivery of steering messages.
    SteeringMode(QueueMode),
    /// The delivery of follow-ups.
    FollowUpMode(QueueMode),
    /// `true` if failed turns are retried.
    RetryEnabled(bool),
    /// `true` if long conversations are compacted automatically.
    CompactionEnabled(bool),
    /// An additional trusted directory, as an absolute path without symbolic links.
    TrustedDirectory(String),
}

impl SettingsChange {
    /// Returns the changed keys, outermost first, and their values.
    fn members(&self) -> Vec<(&'static [&'static str], Value)> {
        match self {
            Self::DefaultModel { provider, id } => {
                vec![(&["defaultProvider"], provider.clone().into()), (&["defaultModel"], id.clone().into())]
            }
            Self::DefaultThinkingLevel(level) => vec![(&["defaultThinkingLevel"], level.as_str().into())],
            Self::SteeringMode(mode) => vec![(&["steeringMode"], mode.as_str().into())],
            Self::FollowUpMode(mode) => vec![(&["followUpMode"], mode.as_str().into())],
            Self::RetryEnabled(on) => vec![(&["retry", "enabled"], (*on).into())],
            Self::CompactionEnabled(on) => vec![(&["compaction", "enabled"], (*on).into())],
            Self::TrustedDirectory(_) => Vec::new(),
        }
    }

    /// Applies the change to the object of a settings file.
    fn apply(&self, object: &mut Map<String, Value>) {
        if let Self::TrustedDirectory(directory) = self {
            let listed = object.entry("trustedDirectories").or_insert_with(|| Value::Array(Vec::new()));
            match listed {
                Value::Array(listed) if listed.iter().any(|known| known == directory) => {}
                Value::Array(listed) => listed.push(directory.clone().into()),
                // A value that is not a list was reported before and has no effect.
                other => *other = vec![directory.clone()].into(),
            }
        }
        for (keys, value) in self.members() {
            set(object, keys, value);
        }
    }
}

/// Saves changes of settings for later processes. Never blocks the caller and never fails; errors are logged.
pub trait SettingsStore: Send + Sync {
    /// Saves one change.
    fn save(&self, change: SettingsChange);

    /// Waits for pending changes, for at most a few seconds. Later changes are not saved.
    fn finish(&self) {}
}

/// A store that saves nothing, so that changes end with the process.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullSettingsStore;

impl SettingsStore for NullSettingsStore {
    fn save(&self, _change: SettingsChange) {}
}

/// Reason for a failed write.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsFileError {
    /// Another program is writing the file.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The file is not a JSON object. It stays unchanged, so that its author can correct it.
    #[error("the file is not a JSON object and was not changed: {0}")]
    Corrupt(String),
    /// The system reported an error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A store that writes changes to a settings file on its own thread. Dropping the store waits for pending changes.
pub struct SettingsFile(Mutex<Option<WriterThread>>);

struct WriterThread {
    sender: Sender<SettingsChange>,
    thread: std::thread::JoinHandle<()>,
}

impl SettingsFile {
    /// Creates a store for the settings file at `path`, which need not exist. Fails if no thread can be started.
    pub fn new(path: PathBuf) -> io::Result<Self> {
        let (sender, receiver) = channel();
        let thread = std::thread::Builder::new()
            .name("agentese-settings".to_owned())
            .spawn(move || run_writer(&path, &receiver))?;
        Ok(Self(Mutex::new(Some(WriterThread { sender, thread }))))
    }
}

impl SettingsFile {
    fn writer(&self) -> MutexGuard<'_, Option<WriterThread>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SettingsStore for SettingsFile {
    fn save(&self, change: SettingsChange) {
        let sent = self.writer().as_ref().is_some_and(|writer| writer.sender.send(change).is_ok());
        if !sent {
            tracing::error!("settings are not saved: the writer thread has ended");
        }
    }

    fn finish(&self) {
        let Some(WriterThread { sender, thread }) = self.writer().take() else { return };
        drop(sender);
        // At most the current write and one more precede the end, and each waits for the lock no longer than
        // `LOCK_TIMEOUT`.
        let _ = thread.join();
    }
}

impl Drop for SettingsFile {
    fn drop(&mut self) {
        self.finish();
    }
}

impl std::fmt::Debug for SettingsFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SettingsFile").finish_non_exhaustive()
    }
}

fn run_writer(path: &Path, changes: &Receiver<SettingsChange>) {
    let mut corrupt = false;
    while let Ok(first) = changes.recv() {
        // Several changes in a row cause one write.
        let all: Vec<SettingsChange> = std::iter::once(first).chain(changes.try_iter()).collect();
        if let Err(error) = write_settings(path, &all) {
            let known = std::mem::replace(&mut corrupt, matches!(error, SettingsFileError::Corrupt(_)));
            if !(known && corrupt) {
                tracing::warn!(path = %path.display(), %error, "settings were not saved");
            }
        }
    }
}

/// Changes keys of a settings file and leaves everything else unchanged: other keys, their order, and other members of
/// their objects. The file is replaced as a whole with mode 0600. A missing file is created, and a symbolic link stays
/// a link. Blocks. Fails without a change if the file is not a JSON object. Also fails without a change if another
/// program holds the lock for two seconds.
pub fn write_settings(path: &Path, changes: &[SettingsChange]) -> Result<(), SettingsFileError> {
    change_file(path, |object| changes.iter().for_each(|change| change.apply(object)))
}

/// Calls `change` with the object of a settings file, saves the object as [`write_settings`] does, and returns the
/// result of `change`.
pub(super) fn change_file<T>(
    path: &Path,
    change: impl FnOnce(&mut Map<String, Value>) -> T,
) -> Result<T, SettingsFileError> {
    // Users who keep their settings in a repository link to them.
    let path = atomic_write::resolve_symlinks(path)?;
    let directory = path.parent().unwrap_or(Path::new("/"));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let _lock = FileLock::acquire(&path, LOCK_TIMEOUT)?;
    if path.exists() && !path.is_file() {
        return Err(SettingsFileError::Corrupt("it is not a regular file".to_owned()));
    }
    let mut object = match std::fs::read_to_string(&path) {
        Ok(text) => parse(&text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Map::new(),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return Err(SettingsFileError::Corrupt(error.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    let changed = change(&mut object);
    let mut text = serde_json::to_vec_pretty(&object).map_err(io::Error::from)?;
    text.push(b'\n');
    let options = atomic_write::Options { scratch: directory, mode: 0o600, exact_mode: Some(0o600) };
    atomic_write::replace(&path, &[&text], &options, || Ok(())).map_err(atomic_write::WriteError::into_io)?;
    Ok(changed)
}

pub(super) fn parse(text: &str) -> Result<Map<String, Value>, SettingsFileError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(text).map_err(|error| SettingsFileError::Corrupt(error.to_string()))
}

fn set(object: &mut Map<String, Value>, keys: &[&str], value: Value) {
    match keys {
        [] => {}
        [key] => {
            object.insert((*key).to_owned(), value);
        }
        [key, rest @ ..] => {
            let member = object.entry(*key).or_insert_with(|| Value::Object(Map::new()));
            // A value that is not an object was reported before and has no effect.
            if !member.is_object() {
                *member = Value::Object(Map::new());
            }
            if let Value::Object(members) = member {
                set(members, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.json");
        std::fs::write(&path, text).unwrap();
        (directory, path)
    }

    fn read(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn unchanged_keys_are_preserved() {
        let (directory, path) = file(
            r#"{"z": 1, "retry": {"enabled": true, "mine": [1.0, 12345678901]}, "defaultModel": "a", "a": {}}"#,
        );
        let changes = [
            SettingsChange::RetryEnabled(false),
            SettingsChange::DefaultModel { provider: "p".to_owned(), id: "m".to_owned() },
            SettingsChange::CompactionEnabled(false),
            SettingsChange::SteeringMode(QueueMode::All),
            SettingsChange::FollowUpMode(QueueMode::OneAtATime),
            SettingsChange::DefaultThinkingLevel(ThinkingLevel::Xhigh),
        ];
        write_settings(&path, &changes).unwrap();
        let text = read(&path);
        assert!(text.starts_with("{\n  \"z\": 1,\n") && text.ends_with("}\n"), "{text}");
        let one_line = serde_json::from_str::<Value>(&text).unwrap().to_string();
        assert_eq!(
            one_line,
            r#"{"z":1,"retry":{"enabled":false,"mine":[1.0,12345678901]},"defaultModel":"m","a":{},"defaultProvider":"p","compaction":{"enabled":false},"steeringMode":"all","followUpMode":"one-at-a-time","defaultThinkingLevel":"xhigh"}"#
        );
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let names: Vec<_> =
            std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["settings.json"], "nothing else is left behind");
    }

    #[test]
    fn trusted_directories_are_added_once() {
        let (_directory, path) = file(r#"{"trustedDirectories":["/a"]}"#);
        for directory in ["/b", "/a", "/b"] {
            write_settings(&path, &[SettingsChange::TrustedDirectory(directory.to_owned())]).unwrap();
        }
        let object: Value = serde_json::from_str(&read(&path)).unwrap();
        assert_eq!(object.to_string(), r#"{"trustedDirectories":["/a","/b"]}"#);
        std::fs::write(&path, r#"{"trustedDirectories":7}"#).unwrap();
        write_settings(&path, &[SettingsChange::TrustedDirectory("/b".to_owned())]).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&read(&path)).unwrap().to_string(),
            r#"{"trustedDirectories":["/b"]}"#
        );
    }

    #[test]
    fn fm_f121_a_file_that_is_no_object_is_never_overwritten() {
        for text in ["{broken", "[]", "7"] {
            let (_directory, path) = file(text);
            let error = write_settings(&path, &[SettingsChange::RetryEnabled(true)]).unwrap_err();
            assert!(matches!(error, SettingsFileError::Corrupt(_)), "{error}");
            assert_eq!(read(&path), text);
        }
        let (_directory, path) = file("");
        std::fs::write(&path, b"\xff").unwrap();
        assert!(matches!(write_settings(&path, &[]), Err(SettingsFileError::Corrupt(_))));
    }

    #[test]
    fn a_missing_file_is_created_and_a_symlink_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("home/agent/settings.json");
        write_settings(&path, &[SettingsChange::CompactionEnabled(true)]).unwrap();
        assert_eq!(read(&path), "{\n  \"compaction\": {\n    \"enabled\": true\n  }\n}\n");
        let mode = std::fs::metadata(path.parent().unwrap()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let link = directory.path().join("link.json");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write_settings(&link, &[SettingsChange::CompactionEnabled(false)]).unwrap();
        assert!(link.is_symlink() && read(&path).contains("false"));
    }

    #[test]
    fn writers_at_the_same_time_lose_nothing() {
        let (_directory, path) = file("{}");
        let changes = [
            SettingsChange::RetryEnabled(true),
            SettingsChange::CompactionEnabled(true),
            SettingsChange::SteeringMode(QueueMode::All),
            SettingsChange::FollowUpMode(QueueMode::All),
        ];
        std::thread::scope(|scope| {
            for change in &changes {
                scope.spawn(|| write_settings(&path, std::slice::from_ref(change)).unwrap());
            }
        });
        let object: Value = serde_json::from_str(&read(&path)).unwrap();
        assert_eq!(object.as_object().unwrap().len(), changes.len(), "{object}");
    }

    #[test]
    fn saved_changes_are_written_before_the_end() {
        let (_directory, path) = file(r#"{"kept": true}"#);
        let settings = SettingsFile::new(path.clone()).unwrap();
        settings.save(SettingsChange::SteeringMode(QueueMode::All));
        settings.save(SettingsChange::SteeringMode(QueueMode::OneAtATime));
        settings.finish();
        settings.save(SettingsChange::SteeringMode(QueueMode::All));
        let object: Value = serde_json::from_str(&read(&path)).unwrap();
        assert_eq!(object, serde_json::json!({"kept": true, "steeringMode": "one-at-a-time"}));
    }
}
