//! The directory of a run.

use std::fs;
use std::path::{Component, Path, PathBuf};

use agentese::types::{FileContent, ModelScript, Profile, ProfileFile, Scenario};
use base64::Engine as _;
use serde_json::{Map, Value};
use tempfile::TempDir;

use super::PlayError;
use crate::variables::Variables;

/// A fresh directory with `work`, `home` and `tmp` in it. Dropping it removes the directory.
#[derive(Debug)]
pub(crate) struct RunDirectory {
    /// Removes the directory when dropped.
    directory: TempDir,
    path: PathBuf,
    work: PathBuf,
}

impl RunDirectory {
    pub(crate) fn create() -> Result<Self, PlayError> {
        let failed = |source| PlayError::File { path: std::env::temp_dir(), source };
        let directory = tempfile::Builder::new().prefix("agentese-run-").tempdir().map_err(failed)?;
        // Agents print paths with symbolic links resolved, so this path is resolved too.
        let path = fs::canonicalize(directory.path()).map_err(failed)?;
        for part in ["work", "home", "tmp"] {
            create_folder(&path.join(part))?;
        }
        Ok(Self { work: path.join("work"), path, directory })
    }

    pub(crate) fn work(&self) -> &Path {
        &self.work
    }

    /// Returns the directory and its folders, with the names that variables and redactions use for them.
    pub(super) fn parts(&self) -> [(&'static str, PathBuf); 4] {
        ["work", "home", "tmp", "run"].map(|name| match name {
            "run" => (name, self.path.clone()),
            part => (part, self.path.join(part)),
        })
    }

    /// Returns the variables that exist in all cases.
    pub(super) fn variables(&self, profile: &Profile) -> Variables {
        let mut variables = Variables::default();
        for (name, path) in self.parts() {
            variables.set(name.to_uppercase(), path.to_string_lossy());
        }
        variables.set("AGENT", self.agent(profile).to_string_lossy());
        variables
    }

    fn agent(&self, profile: &Profile) -> PathBuf {
        self.path.join(profile.agent_directory.as_deref().unwrap_or("home"))
    }

    /// Writes the files of the profile and then the files of the case.
    pub(super) fn write_files(
        &self,
        case: &Scenario,
        profile: &Profile,
        variables: &Variables,
    ) -> Result<(), PlayError> {
        let agent = self.agent(profile);
        create_folder(&agent)?;
        let json = |file: &ProfileFile, value: Value| {
            write(&agent.join(&file.file), pretty(&variables.value(&value)).as_bytes())
        };
        if let Some(file) = &profile.models {
            json(file, Value::Object(case.models.as_ref().unwrap_or(&file.value).clone()))?;
        }
        if let Some(file) = &profile.settings {
            json(file, Value::Object(merged(&file.value, case.settings.as_ref())))?;
        }
        for (name, content) in profile.files.iter().chain(&case.files).flatten() {
            let path = self.resolve(&variables.text(name), &agent)?;
            let bytes = match content {
                FileContent::Text(text) => variables.text(text).into_bytes(),
                FileContent::Json(file) => pretty(&variables.value(&file.json)).into_bytes(),
                FileContent::Bytes(file) => {
                    let decoded = base64::engine::general_purpose::STANDARD.decode(&file.base64);
                    decoded.map_err(|error| PlayError::Base64 {
                        place: name.clone(),
                        reason: error.to_string().to_lowercase(),
                    })?
                }
                FileContent::Absent(_) => match fs::remove_file(&path) {
                    Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                        return Err(PlayError::File { path, source });
                    }
                    _ => continue,
                },
            };
            write(&path, &bytes)?;
        }
        Ok(())
    }

    /// Writes the model script to a file, for agents that play the script themselves.
    pub(super) fn write_script(&self, script: &ModelScript) -> Result<PathBuf, PlayError> {
        let path = self.path.join("script.json");
        write(&path, serde_json::to_string(script).unwrap_or_default().as_bytes())?;
        Ok(path)
    }

    /// Resolves the path of a file of the run. Fails for a path that leads out of the run's directory,
    /// because the author of a case may not be trusted.
    fn resolve(&self, name: &str, agent: &Path) -> Result<PathBuf, PlayError> {
        let mut parts = Path::new(name).components();
        let base = match parts.next() {
            Some(Component::Normal(first)) if first == "agent" => agent.to_owned(),
            Some(Component::Normal(first)) if first == "work" || first == "home" || first == "tmp" => {
                self.path.join(first)
            }
            _ => return Err(PlayError::Path(name.to_owned())),
        };
        let rest = parts.as_path();
        let is_plain = rest.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_plain || rest.as_os_str().is_empty() {
            return Err(PlayError::Path(name.to_owned()));
        }
        Ok(base.join(rest))
    }

    /// Keeps the directory, so that it can be inspected.
    pub(super) fn keep(self) -> PathBuf {
        self.directory.keep()
    }
}

fn create_folder(path: &Path) -> Result<(), PlayError> {
    fs::create_dir_all(path).map_err(|source| PlayError::File { path: path.to_owned(), source })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), PlayError> {
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    fs::write(path, bytes).map_err(|source| PlayError::File { path: path.to_owned(), source })
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Merges two sets of settings. Objects are merged member by member. Any other value in `overrides` replaces
/// the base value.
fn merged(base: &Map<String, Value>, overrides: Option<&Map<String, Value>>) -> Map<String, Value> {
    let mut out = base.clone();
    for (name, value) in overrides.into_iter().flatten() {
        let value = match (out.get(name), value) {
            (Some(Value::Object(base)), Value::Object(over)) => Value::Object(merged(base, Some(over))),
            (_, value) => value.clone(),
        };
        out.insert(name.clone(), value);
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn settings_are_merged_member_by_member() {
        let base = object(json!({"a": {"x": 1, "y": [1]}, "b": 2}));
        let over = object(json!({"a": {"y": [2], "z": 3}, "b": {"c": 1}}));
        assert_eq!(
            Value::Object(merged(&base, Some(&over))),
            json!({"a": {"x": 1, "y": [2], "z": 3}, "b": {"c": 1}})
        );
    }

    #[test]
    fn a_file_stays_in_the_run() {
        let run = RunDirectory::create().unwrap();
        let agent = run.path.join("home/.pi/agent");
        assert_eq!(run.resolve("agent/a.json", &agent).unwrap(), agent.join("a.json"));
        assert_eq!(run.resolve("work/a/b", &agent).unwrap(), run.path.join("work/a/b"));
        for name in ["/etc/passwd", "work/../../x", "../x", "elsewhere/x", "work", ""] {
            assert!(matches!(run.resolve(name, &agent), Err(PlayError::Path(_))), "{name}");
        }
    }
}
