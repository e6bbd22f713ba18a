//! The directory with a user's settings, sessions and programs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Reads environment variables; a test gives its own.
pub trait Environment {
    /// The value of a variable; none where it is not set.
    fn get(&self, name: &str) -> Option<OsString>;
}

impl<F: Fn(&str) -> Option<OsString>> Environment for F {
    fn get(&self, name: &str) -> Option<OsString> {
        self(name)
    }
}

/// The agent directory in the pi dialect: `PI_CODING_AGENT_DIR`, else `~/.pi/agent` where that
/// exists, else `AGENTESE_HOME`, else `~/.agentese/agent`. None without a home. It need not exist.
pub fn agent_dir(environment: &dyn Environment) -> Option<PathBuf> {
    let set = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = set("HOME");
    if let Some(directory) = set("PI_CODING_AGENT_DIR") {
        return Some(expand_home(&directory, home.as_deref()));
    }
    let of_pi = home.as_ref().map(|home| home.join(".pi/agent")).filter(|directory| directory.is_dir());
    of_pi.or_else(|| set("AGENTESE_HOME")).or_else(|| home.map(|home| home.join(".agentese/agent")))
}

/// The path with a leading `~` replaced by the home directory, where there is one.
pub fn expand_home(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(variables: &[(&str, &str)]) -> Option<PathBuf> {
        agent_dir(&|name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_family_directory_wins_where_it_exists() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().to_str().unwrap();
        assert_eq!(find(&[("HOME", path)]), Some(home.path().join(".agentese/agent")));
        assert_eq!(find(&[("HOME", path), ("AGENTESE_HOME", "/own")]), Some("/own".into()));
        std::fs::create_dir_all(home.path().join(".pi/agent")).unwrap();
        assert_eq!(find(&[("HOME", path), ("AGENTESE_HOME", "/own")]), Some(home.path().join(".pi/agent")));
        assert_eq!(find(&[("HOME", path), ("PI_CODING_AGENT_DIR", "~/x")]), Some(home.path().join("x")));
        assert_eq!(find(&[]), None);
    }
}
