//! A user's settings file as a JSON object, for clients that read and change any of its members.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::settings_store::{SettingsFileError, change_file};
use super::text_file::read_regular;

/// The user's settings file, for dialects in which clients read and write all members.
#[derive(Debug, Clone)]
pub struct UserFile(PathBuf);

impl UserFile {
    /// Creates a handle for the file at `path`, which need not exist.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns all members; an empty map if there is no file. Blocks. Fails if the file is not a JSON object
    /// or cannot be read.
    pub fn read(&self) -> Result<Map<String, Value>, SettingsFileError> {
        match read_regular(&self.0) {
            Ok(text) => super::settings_store::parse(&text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Map::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Merges members into the file, replacing members of the same name, and returns all members. Blocks.
    /// Fails without a change if the file is not a JSON object or another program holds its lock.
    pub fn merge(&self, members: Map<String, Value>) -> Result<Map<String, Value>, SettingsFileError> {
        change_file(&self.0, |all| {
            all.extend(members);
            all.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_merged_and_null_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let file = UserFile::at(directory.path().join("agent/settings.json"));
        assert_eq!(file.read().unwrap(), Map::new());
        let object = |value: Value| value.as_object().unwrap().clone();
        file.merge(object(json!({"a": {"b": 1}, "c": "d"}))).unwrap();
        let all = file.merge(object(json!({"a": null, "e": [1, 2.5, true]}))).unwrap();
        assert_eq!(Value::Object(all.clone()), json!({"a": null, "c": "d", "e": [1, 2.5, true]}));
        assert_eq!(file.read().unwrap(), all);
    }

    #[test]
    fn a_file_that_is_not_an_object_stays_unchanged() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.json");
        std::fs::write(&path, "[1]").unwrap();
        let file = UserFile::at(&path);
        assert!(file.read().is_err() && file.merge(Map::new()).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[1]");
    }
}
