//! The tasks of a session. A stored session keeps them in a file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentese::opal::OpalTask;
use serde_json::Value;

use super::task_state::{State, TaskError};
use crate::atomic_write::{self, Options};

/// The tasks of one session.
#[derive(Debug, Default)]
pub(in super::super) struct TaskList {
    state: Mutex<State>,
    file: Option<TaskFile>,
}

impl TaskList {
    /// Loads the tasks of a stored session from its directory. Blocks. If reading fails, the list starts empty and
    /// is not saved.
    pub fn load(directory: &Path) -> Self {
        match TaskFile::open(directory) {
            Ok((file, state)) => Self { state: Mutex::new(state), file: Some(file) },
            Err(error) => {
                let directory = directory.display();
                tracing::warn!("the tasks in {directory} cannot be read; new ones are not saved: {error}");
                Self::default()
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies the arguments of the tool and returns its result. Blocks if the session is stored.
    pub(super) fn apply(&self, arguments: &Value, now_ms: i64) -> Result<Value, TaskError> {
        let mut state = self.state();
        let answer = state.apply(arguments, now_ms)?;
        if let Some(file) = self.file.as_ref().filter(|_| arguments["action"] != "list")
            && let Err(error) = file.write(&state)
        {
            tracing::warn!("the tasks of the session are not saved: {error}");
        }
        Ok(answer)
    }

    /// Returns the unfinished tasks, in the form for clients.
    pub fn active(&self) -> Vec<OpalTask> {
        self.state().active()
    }
}

/// The name of the file in the directory of its session.
const FILE_NAME: &str = "tasks.json";

/// The permissions of the file: tasks may be confidential, so only the user may read it.
const MODE: u32 = 0o600;

/// The path of the file with the tasks.
#[derive(Debug)]
struct TaskFile(PathBuf);

impl TaskFile {
    /// Returns the task file in the directory of a session, and its content. If the file does not exist, the
    /// content is empty. Blocks. Fails if the file cannot be read; otherwise the next write would overwrite it.
    fn open(directory: &Path) -> io::Result<(Self, State)> {
        let path = directory.join(FILE_NAME);
        let state = match std::fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => State::default(),
            Err(error) => return Err(error),
        };
        Ok((Self(path), state))
    }

    /// Replaces the content of the file. Blocks.
    fn write(&self, state: &State) -> io::Result<()> {
        let Some(directory) = self.0.parent() else { return Ok(()) };
        std::fs::create_dir_all(directory)?;
        let text = serde_json::to_vec_pretty(state)?;
        let options = Options { scratch: directory, mode: MODE, exact_mode: Some(MODE) };
        atomic_write::replace(&self.0, &[&text], &options, || Ok(()))
            .map_err(atomic_write::WriteError::into_io)
    }
}

/// Removes the tasks of a deleted session, and its directory if that is empty. Blocks.
pub(in super::super) fn remove(directory: &Path) {
    let _ = std::fs::remove_file(directory.join(FILE_NAME));
    let _ = std::fs::remove_dir(directory);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stored_tasks_are_loaded_and_deleted_ids_are_not_reused() {
        let temp_dir = tempfile::tempdir().unwrap();
        let directory = temp_dir.path().join("sessions/s1");
        let list = TaskList::load(&directory);
        assert!(list.apply(&json!({"action": "list"}), 0).is_ok());
        assert!(!directory.exists());
        for label in ["a", "b"] {
            list.apply(&json!({"action": "insert", "label": label}), 0).unwrap();
        }
        list.apply(&json!({"action": "delete", "id": 2}), 0).unwrap();
        let list = TaskList::load(&directory);
        assert_eq!(list.active()[0].label, "a");
        assert_eq!(list.apply(&json!({"action": "insert", "label": "c"}), 0).unwrap()["changes"][0]["id"], 3);
        remove(&directory);
        assert!(!directory.exists() && TaskList::load(&directory).active().is_empty());
    }

    #[test]
    fn unreadable_file_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(FILE_NAME);
        std::fs::write(&file, "{\"tasks\": 5}").unwrap();
        let list = TaskList::load(directory.path());
        list.apply(&json!({"action": "insert", "label": "a"}), 0).unwrap();
        assert_eq!(list.active().len(), 1);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"tasks\": 5}");
    }
}
