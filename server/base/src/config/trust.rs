//! Trust in a working directory.

use std::path::Path;

use serde_json::{Map, Value};

use super::expand_home;

/// The user's decision about a working directory. In a trusted directory, files can run programs and change
/// settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Trust {
    /// The user trusts the directory.
    Granted,
    /// The user does not trust the directory.
    Refused,
    /// No decision yet. Until the user is asked, the directory is treated as not trusted.
    #[default]
    Undecided,
}

impl From<bool> for Trust {
    fn from(granted: bool) -> Self {
        if granted { Self::Granted } else { Self::Refused }
    }
}

impl Trust {
    /// Returns the decision about a directory that the user's own settings contain. The directory is trusted
    /// if `defaultProjectTrust` is `always`, or if `trustedDirectories` has the directory or a parent.
    /// Otherwise it is refused if `defaultProjectTrust` is `never`. Symbolic links in paths are resolved
    /// first.
    pub fn of(user: &Map<String, Value>, directory: &Path, home: Option<&Path>) -> Self {
        let default = user.get("defaultProjectTrust").and_then(Value::as_str);
        if default == Some("always") || is_listed(user, directory, home) {
            return Self::Granted;
        }
        if default == Some("never") { Self::Refused } else { Self::Undecided }
    }
}

fn is_listed(user: &Map<String, Value>, directory: &Path, home: Option<&Path>) -> bool {
    let resolved = |path: &Path| path.canonicalize().ok();
    let Some(directory) = resolved(directory) else { return false };
    let listed = user.get("trustedDirectories").and_then(Value::as_array).into_iter().flatten();
    let listed = listed.filter_map(Value::as_str).map(|path| expand_home(Path::new(path), home));
    // A relative path would trust every directory in which the agent starts.
    listed
        .filter(|path| path.is_absolute())
        .filter_map(|path| resolved(&path))
        .any(|path| directory.starts_with(path))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_users_own_file_may_trust() {
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join("work");
        std::fs::create_dir(&work).unwrap();
        let root = directory.path().to_str().unwrap();
        let cases = [
            (json!({"defaultProjectTrust": "always"}), Trust::Granted),
            (json!({"defaultProjectTrust": "never"}), Trust::Refused),
            (json!({"defaultProjectTrust": "never", "trustedDirectories": [root]}), Trust::Granted),
            (json!({"defaultProjectTrust": "ask"}), Trust::Undecided),
            (json!({"defaultProjectTrust": true}), Trust::Undecided),
            (json!({"trustedDirectories": [root]}), Trust::Granted),
            (json!({"trustedDirectories": ["~"]}), Trust::Granted),
            (json!({"trustedDirectories": [format!("{root}/./work")]}), Trust::Granted),
            (json!({"trustedDirectories": [format!("{root}/wo"), ".", "", 7]}), Trust::Undecided),
            (json!({"trustedDirectories": root}), Trust::Undecided),
        ];
        for (user, trust) in cases {
            assert_eq!(Trust::of(user.as_object().unwrap(), &work, Some(directory.path())), trust, "{user}");
        }
    }
}
