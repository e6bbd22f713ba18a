//! The directory with a user's settings, sessions and programs.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

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

/// Where the users of an agent keep its files. Files whose names end in `.yml` are YAML, the others JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Home {
    /// The environment variable that names the agent directory.
    pub variable: &'static str,
    /// The agent directory below the user's home, where it is not named.
    pub folder: &'static str,
    /// The user's settings in the agent directory.
    pub settings: &'static str,
    /// The user's models in the agent directory.
    pub models: &'static str,
    /// A project's settings in its working directory.
    pub project: &'static str,
    /// Whether JSON settings may have comments.
    pub comments: bool,
    /// Whether people are told of keys in settings that mean nothing here.
    pub tells_unknown: bool,
    /// What a project has for agents.
    pub resources: ResourceFolders,
    /// Folders of sessions are named by the way from the user's home or the one for temporary files.
    pub short_names: bool,
    /// How users log in with a device code, where they can.
    pub login: Option<Login>,
}

/// The environment variables of a login with a device code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Login {
    /// Names the domain of the login server.
    pub domain: &'static str,
    /// Names the client that the login server knows this program by.
    pub client: &'static str,
}

/// Where a project and a user keep what is text for models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceFolders {
    /// Folders of a working directory that hold what is for agents.
    pub project: &'static [&'static str],
    /// Folders with prompt templates, in those and in the agent directory.
    pub templates: &'static [&'static str],
    /// Folders with rules that look at what models say, likewise.
    pub rules: &'static [&'static str],
    /// Folders of the home directory with skills, besides `.agents`.
    pub home: &'static [&'static str],
    /// Whether Markdown files count as skills that stand in a folder for them directly.
    pub loose_skills: bool,
}

impl ResourceFolders {
    /// Those of pi: as the program has it, and as its document says.
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

impl Home {
    /// That of pi.
    pub const PI: Self = Self {
        variable: "PI_CODING_AGENT_DIR",
        folder: ".pi/agent",
        settings: "settings.json",
        models: "models.json",
        project: ".pi/settings.json",
        comments: false,
        tells_unknown: false,
        resources: ResourceFolders::PI,
        short_names: false,
        login: None,
    };
}

impl Default for Home {
    fn default() -> Self {
        Self::PI
    }
}

impl Home {
    /// The folder of a working directory with what it has for the agent, besides its settings: system prompt, extensions, agents.
    pub fn project_folder(&self, cwd: &Path) -> PathBuf {
        cwd.join(Path::new(self.project).parent().unwrap_or(Path::new("")))
    }
}

/// The agent directory: what the variable of that home names, else its folder where that
/// exists, else `AGENTESE_HOME`, else `~/.agentese/agent`. None without a home. It need not exist.
pub fn agent_dir(of: &Home, environment: &dyn Environment) -> Option<PathBuf> {
    let set = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = set("HOME");
    if let Some(directory) = set(of.variable) {
        return Some(expand_home(&directory, home.as_deref()));
    }
    let family = home.as_ref().map(|home| home.join(of.folder)).filter(|directory| directory.is_dir());
    family.or_else(|| set("AGENTESE_HOME")).or_else(|| home.map(|home| home.join(".agentese/agent")))
}

/// The path with a leading `~` replaced by the home directory, where there is one.
pub fn expand_home(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// A path as seen from a directory, without `.` and `..`. Links do not count: a path has one name, whatever it
/// leads to.
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
            // As text: paths are equal that are not the same.
            assert_eq!(found.to_str(), Some(resolved), "{path}");
        }
        assert_eq!(resolve(Path::new("../here"), Path::new("x.py")).to_str(), Some("../here/x.py"));
    }

    fn find(variables: &[(&str, &str)]) -> Option<PathBuf> {
        agent_dir(&Home::PI, &|name: &str| {
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
