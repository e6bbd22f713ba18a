//! The directory with a user's settings, sessions and programs.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Source of environment variables, as a trait, so that tests can supply their own.
pub trait Environment {
    /// Returns the value of a variable, or `None` if it is not set.
    fn get(&self, name: &str) -> Option<OsString>;
}

impl<F: Fn(&str) -> Option<OsString>> Environment for F {
    fn get(&self, name: &str) -> Option<OsString> {
        self(name)
    }
}

/// Locations of an agent's files. Files whose names end in `.yml` are YAML, the others JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentPaths {
    /// The environment variable that names the agent directory.
    pub variable: &'static str,
    /// The default agent directory, relative to the user's home.
    pub folder: &'static str,
    /// The user's settings in the agent directory.
    pub settings: &'static str,
    /// The user's models in the agent directory.
    pub models: &'static str,
    /// A project's settings in its working directory.
    pub project: &'static str,
    /// `true` if JSON settings can contain comments.
    pub comments: bool,
    /// `true` if settings without an effect are reported to the user.
    pub reports_unknown: bool,
    /// Folders with rules, prompts and skills for agents.
    pub resources: ResourceFolders,
    /// `true` if the name of a session folder is a path relative to the user's home or the temporary directory.
    pub short_names: bool,
    /// Login with a device code, if supported.
    pub login: Option<Login>,
}

/// The environment variables of a login with a device code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Login {
    /// Name of the variable with the domain of the login server.
    pub domain: &'static str,
    /// Name of the variable with the id of this program at the login server.
    pub client: &'static str,
}

/// Names of folders with texts for models, in a project and in a user's home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceFolders {
    /// Folders of a working directory that contain files for agents.
    pub project: &'static [&'static str],
    /// Names of folders with prompt templates. They are inside the `project` folders and inside the agent directory.
    pub templates: &'static [&'static str],
    /// Names of folders with rules for the output of models. They are in the same places as `templates`.
    pub rules: &'static [&'static str],
    /// Folders of the home directory with skills, in addition to `.agents`.
    pub home: &'static [&'static str],
    /// `true` if Markdown files directly inside a skills folder are skills.
    pub loose_skills: bool,
}

impl ResourceFolders {
    /// The resource folders of pi: the folder that the program uses, and the folder that its document names.
    pub const PI: Self = Self {
        project: &[".pi", ".pi/agent"],
        templates: &["prompts"],
        rules: &[],
        home: &[],
        loose_skills: true,
    };
}

impl Default for ResourceFolders {
    fn default() -> Self {
        Self::PI
    }
}

impl AgentPaths {
    /// The locations of pi.
    pub const PI: Self = Self {
        variable: "PI_CODING_AGENT_DIR",
        folder: ".pi/agent",
        settings: "settings.json",
        models: "models.json",
        project: ".pi/settings.json",
        comments: false,
        reports_unknown: false,
        resources: ResourceFolders::PI,
        short_names: false,
        login: None,
    };
}

impl Default for AgentPaths {
    fn default() -> Self {
        Self::PI
    }
}

impl AgentPaths {
    /// Returns the folder of a working directory that contains the agent's files: the system prompt,
    /// extensions and agents. Settings are not in it.
    pub fn project_folder(&self, cwd: &Path) -> PathBuf {
        cwd.join(Path::new(self.project).parent().unwrap_or(Path::new("")))
    }
}

/// Returns the agent directory, which need not exist. The first of these applies: the directory that `paths.variable`
/// names, `paths.folder` in the home directory if it exists, `AGENTESE_HOME`, `~/.agentese/agent`. Returns `None` if a
/// home directory is needed and unknown.
pub fn agent_dir(paths: &AgentPaths, environment: &dyn Environment) -> Option<PathBuf> {
    let set = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = set("HOME");
    if let Some(directory) = set(paths.variable) {
        return Some(expand_home(&directory, home.as_deref()));
    }
    let family = home.as_ref().map(|home| home.join(paths.folder)).filter(|directory| directory.is_dir());
    family.or_else(|| set("AGENTESE_HOME")).or_else(|| home.map(|home| home.join(".agentese/agent")))
}

/// Replaces a leading `~` by the home directory, if there is one.
pub fn expand_home(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// Resolves a path relative to a directory, without `.` and `..`. Symbolic links are not resolved: each path
/// has one name, independent of its target.
pub fn resolve(directory: &Path, path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in directory.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => match resolved.components().next_back() {
                Some(Component::Normal(_)) => drop(resolved.pop()),
                Some(Component::RootDir) => {}
                _ => resolved.push(".."),
            },
            part => resolved.push(part),
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_name() {
        for (path, resolved) in [
            ("./x.py", "/work/here/x.py"),
            ("../x.py", "/work/x.py"),
            ("a/./b/../x.py", "/work/here/a/x.py"),
            ("/other/./a/../x.py", "/other/x.py"),
            ("../../../../x.py", "/x.py"),
            (".", "/work/here"),
        ] {
            let found = resolve(Path::new("/work/here"), Path::new(path));
            // Compared as text: equal paths may have different text.
            assert_eq!(found.to_str(), Some(resolved), "{path}");
        }
        assert_eq!(resolve(Path::new("../here"), Path::new("x.py")).to_str(), Some("../here/x.py"));
    }

    fn find(variables: &[(&str, &str)]) -> Option<PathBuf> {
        agent_dir(&AgentPaths::PI, &|name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn an_existing_family_directory_takes_precedence() {
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
