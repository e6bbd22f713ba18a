//! The search roots of skills, templates and rules.

use std::path::{Path, PathBuf};

use crate::config::ResourceFolders;

/// The origin of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// The file belongs to the working directory.
    Project,
    /// The file belongs to the user.
    User,
    /// The file comes from a path on the command line or in a setting.
    Path,
}

/// The sources of skills, templates and rules, which determine the search roots.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The names of the folders.
    pub folders: ResourceFolders,
    /// The working directory.
    pub cwd: PathBuf,
    /// True if the working directory is trusted; only then its rules apply.
    pub trusted: bool,
    /// The home directory.
    pub home: Option<PathBuf>,
    /// The directory with the user's settings.
    pub agent_dir: Option<PathBuf>,
    /// The selection of skills.
    pub skills: ResourceSelection,
    /// The selection of prompt templates.
    pub templates: ResourceSelection,
}

/// The selection of resources of one kind.
#[derive(Debug, Clone, Default)]
pub struct ResourceSelection {
    /// True if only the paths from the command line are used.
    pub only_command_line: bool,
    /// The paths from settings, absolute.
    pub settings: Vec<PathBuf>,
    /// The paths from the command line, absolute. They must exist.
    pub command_line: Vec<PathBuf>,
}

/// A file or directory to search for skills, templates or rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SearchRoot {
    pub path: PathBuf,
    pub location: Location,
    /// True if Markdown files directly in the root are skills, independent of their names.
    pub loose_files: bool,
    /// The directory out of which links may not lead; `None` without a restriction.
    pub boundary: Option<PathBuf>,
}

impl Sources {
    /// Returns the search roots of skills, by precedence.
    pub(super) fn skill_roots(&self) -> Vec<SearchRoot> {
        let mut roots = Vec::new();
        if !self.skills.only_command_line {
            let root = project_root(&self.cwd);
            let project = |path: PathBuf, loose_files| SearchRoot {
                path,
                location: Location::Project,
                loose_files,
                boundary: Some(root.to_owned()),
            };
            let ResourceFolders { project: of_project, home: of_home, loose_skills: loose_files, .. } =
                self.folders;
            roots.extend(
                self.agent_dir.iter().map(|directory| user_root(directory.join("skills"), loose_files)),
            );
            let own = of_home.iter().chain(&[".agents"]);
            roots.extend(
                self.home.iter().flat_map(|home| {
                    own.clone().map(|name| user_root(home.join(name).join("skills"), false))
                }),
            );
            let folders = of_project.iter();
            roots.extend(folders.map(|name| project(self.cwd.join(name).join("skills"), loose_files)));
            let above = self.cwd.ancestors().take_while(|directory| directory.starts_with(root));
            roots.extend(above.map(|directory| project(directory.join(".agents/skills"), false)));
        }
        roots.extend(self.skills.explicit_roots());
        roots
    }

    /// Returns the search roots of templates, by precedence.
    pub(super) fn template_roots(&self) -> Vec<SearchRoot> {
        let mut roots = Vec::new();
        if !self.templates.only_command_line {
            roots.extend(self.text_roots(self.folders.templates));
        }
        roots.extend(self.templates.explicit_roots());
        roots
    }

    /// Returns the search roots of rules, by precedence: the project's before the user's, as in omp. Rules may
    /// stop a model or override rules that protect the user. So the project's rules apply only if the directory
    /// is trusted.
    pub(super) fn rule_roots(&self) -> Vec<SearchRoot> {
        let mut roots = self.text_roots(self.folders.rules);
        roots.retain(|root| self.trusted || root.location != Location::Project);
        roots.sort_by_key(|root| root.location);
        roots
    }

    /// Returns the folders that are ignored because the directory is not trusted.
    pub fn untrusted_folders(&self) -> Vec<PathBuf> {
        let roots = self.text_roots(self.folders.rules).into_iter();
        let own = roots.filter(|root| !self.trusted && root.location == Location::Project);
        own.map(|root| root.path).filter(|path| path.is_dir()).collect()
    }

    /// Returns the folders with the given names, of the user and of the project. The user's folders come
    /// first.
    fn text_roots(&self, names: &[&str]) -> Vec<SearchRoot> {
        let root = project_root(&self.cwd);
        let users = self.agent_dir.iter().flat_map(|directory| names.iter().map(|name| directory.join(name)));
        let own = self.folders.project.iter().flat_map(|folder| names.iter().map(move |name| (folder, name)));
        let own = own.map(|(folder, name)| SearchRoot {
            path: self.cwd.join(folder).join(name),
            location: Location::Project,
            loose_files: true,
            boundary: Some(root.to_owned()),
        });
        users.map(|path| user_root(path, true)).chain(own).collect()
    }
}

impl ResourceSelection {
    /// Returns the search roots that settings and the command line name.
    fn explicit_roots(&self) -> impl Iterator<Item = SearchRoot> {
        let settings = if self.only_command_line { &[] } else { self.settings.as_slice() };
        settings.iter().chain(&self.command_line).map(|path| explicit_root(path))
    }
}

/// Returns the search root of an explicitly named path.
pub(super) fn explicit_root(path: &Path) -> SearchRoot {
    SearchRoot { path: path.to_owned(), location: Location::Path, loose_files: true, boundary: None }
}

fn user_root(path: PathBuf, loose_files: bool) -> SearchRoot {
    SearchRoot { path, location: Location::User, loose_files, boundary: None }
}

/// Returns the root of the repository around a directory, or the directory itself without a repository.
fn project_root(cwd: &Path) -> &Path {
    cwd.ancestors().find(|directory| directory.join(".git").exists()).unwrap_or(cwd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_roots_come_first_and_the_command_line_last() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir_all(root.join("repo/.git")).unwrap();
        std::fs::create_dir_all(root.join("repo/a/b")).unwrap();
        let mut sources = Sources {
            folders: ResourceFolders::PI,
            cwd: root.join("repo/a/b"),
            trusted: true,
            home: Some(root.join("home")),
            agent_dir: Some(root.join("home/.pi/agent")),
            skills: ResourceSelection {
                settings: vec!["/s".into()],
                command_line: vec!["/g".into()],
                ..ResourceSelection::default()
            },
            templates: ResourceSelection::default(),
        };
        let shown = |search_roots: Vec<SearchRoot>| -> Vec<String> {
            let shown = |search_root: SearchRoot| {
                let path =
                    search_root.path.strip_prefix(root).unwrap_or(&search_root.path).display().to_string();
                format!(
                    "{:?} {path}{}",
                    search_root.location,
                    if search_root.loose_files { "" } else { " strict" }
                )
            };
            search_roots.into_iter().map(shown).collect()
        };
        assert_eq!(
            shown(sources.skill_roots()),
            [
                "User home/.pi/agent/skills",
                "User home/.agents/skills strict",
                "Project repo/a/b/.pi/skills",
                "Project repo/a/b/.pi/agent/skills",
                "Project repo/a/b/.agents/skills strict",
                "Project repo/a/.agents/skills strict",
                "Project repo/.agents/skills strict",
                "Path /s",
                "Path /g",
            ]
        );
        assert_eq!(
            shown(sources.template_roots()),
            [
                "User home/.pi/agent/prompts",
                "Project repo/a/b/.pi/prompts",
                "Project repo/a/b/.pi/agent/prompts"
            ]
        );
        let omp = ResourceFolders {
            templates: &["commands", "prompts"],
            rules: &["rules"],
            project: &[".omp"],
            ..ResourceFolders::PI
        };
        let of_omp = Sources { folders: omp, ..sources.clone() };
        assert_eq!(
            shown(of_omp.template_roots()),
            [
                "User home/.pi/agent/commands",
                "User home/.pi/agent/prompts",
                "Project repo/a/b/.omp/commands",
                "Project repo/a/b/.omp/prompts"
            ]
        );
        assert_eq!(shown(of_omp.rule_roots()), ["Project repo/a/b/.omp/rules", "User home/.pi/agent/rules"]);
        assert_eq!(shown(sources.rule_roots()), [""; 0]);
        let stranger = Sources { trusted: false, ..of_omp.clone() };
        assert_eq!(shown(stranger.rule_roots()), ["User home/.pi/agent/rules"]);
        assert_eq!(stranger.untrusted_folders(), [""; 0].map(PathBuf::from));
        let rules = root.join("repo/a/b/.omp/rules");
        std::fs::create_dir_all(&rules).unwrap();
        assert_eq!((stranger.untrusted_folders(), of_omp.untrusted_folders()), (vec![rules], Vec::new()));
        let inside = |sources: &Sources| sources.skill_roots()[2].boundary.clone();
        assert_eq!(inside(&sources), Some(root.join("repo")));
        std::fs::remove_dir(root.join("repo/.git")).unwrap();
        assert_eq!(inside(&sources), Some(sources.cwd.clone()));
        sources.skills.only_command_line = true;
        assert_eq!(shown(sources.skill_roots()), ["Path /g"]);
    }
}
