//! Resolution of paths in a profile. They start at the folder of the profile's file, and not at the
//! working directory.

use std::path::Path;

use agentese::types::Profile;
use serde_json::Value;

use crate::file::FileError;

/// Variable for the folder of the profile's file, in all texts of the profile.
const FOLDER: &str = "${PROFILE}";

/// Resolves the paths of a profile. A relative path of the program starts at the folder of the file. A
/// program without a path is searched in `PATH`.
///
/// Arguments stay unchanged, because a profile does not declare which of them are paths.
///
/// # Errors
/// If the working directory is unavailable.
pub(super) fn resolve(profile: Profile, file: &Path) -> Result<Profile, FileError> {
    let failed = |source| FileError::Read { path: file.to_owned(), source };
    let file = std::path::absolute(file).map_err(failed)?;
    let folder = file.parent().unwrap_or(Path::new("/"));
    let mut profile = replaced(profile, folder);
    if let Some(program) = profile.command.as_mut().and_then(|command| command.first_mut()) {
        let path = Path::new(program.as_str());
        // A variable may contain an absolute path.
        if path.is_relative() && path.components().count() > 1 && !program.starts_with("${") {
            *program = std::path::absolute(folder.join(path)).map_err(failed)?.to_string_lossy().into_owned();
        }
    }
    Ok(profile)
}

fn replaced(profile: Profile, folder: &Path) -> Profile {
    let Ok(value) = serde_json::to_value(&profile) else { return profile };
    serde_json::from_value(replace(value, &folder.to_string_lossy())).unwrap_or(profile)
}

fn replace(value: Value, folder: &str) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace(FOLDER, folder)),
        Value::Array(items) => items.into_iter().map(|item| replace(item, folder)).collect(),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(name, value)| (name, replace(value, folder))).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_program_with_a_path_is_beside_the_profile() {
        let table = [
            (json!(["./agent", "./data"]), json!(["/a/b/agent", "./data"])),
            (json!(["../agent"]), json!(["/a/b/../agent"])),
            (json!(["bin/agent"]), json!(["/a/b/bin/agent"])),
            (json!(["/bin/agent"]), json!(["/bin/agent"])),
            (json!(["agent"]), json!(["agent"])),
            (json!(["${HOME}/agent"]), json!(["${HOME}/agent"])),
            (json!(["python3", "${PROFILE}/agent.py"]), json!(["python3", "/a/b/agent.py"])),
        ];
        for (command, wanted) in table {
            let profile = json!({"profile": 1, "name": "n", "dialect": "pi@0.55", "agent": "a", "command": command,
                "environment": {"DATA": "${PROFILE}/data", "HOME": "${HOME}"}});
            let profile: Profile = serde_json::from_value(profile).unwrap();
            let profile = resolve(profile, Path::new("/a/b/p.json")).unwrap();
            assert_eq!(json!(profile.command), wanted);
            assert_eq!(json!(profile.environment), json!({"DATA": "/a/b/data", "HOME": "${HOME}"}));
        }
    }
}
