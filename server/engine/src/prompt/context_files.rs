//! AGENTS.md and CLAUDE.md: instructions that people write for agents. Reading them needs no trust, because they
//! are only text for the model.

use std::path::{Path, PathBuf};

use crate::config::{TextFileError, read_text};

/// The names of context files to search in each directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextFileNames {
    /// Names of the files, relative to the directory.
    pub names: &'static [&'static str],
    /// `true` if all files in `names` apply; `false` if only the first existing one applies.
    pub all: bool,
}

impl ContextFileNames {
    /// The names of pi.
    pub const PI: Self = Self { names: &["AGENTS.md", "CLAUDE.md"], all: false };
}

/// Maximum length of the text from one file, in bytes.
const LIMIT: u64 = 256 << 10;

/// One context file for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Content of the file.
    pub content: String,
}

/// Warning about a file that is omitted or cut.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContextFileWarning {
    /// The file exists but cannot be read.
    #[error("{path}: {source}; the file is left out", path = path.display())]
    Unreadable {
        /// Path of the unreadable file.
        path: PathBuf,
        /// Reason why the file cannot be read.
        source: TextFileError,
    },
    /// The file is a link to a target outside its directory.
    #[error("{path}: the link leads out of its directory, to {target}; the file is left out", path = path.display(), target = target.display())]
    OutsideDirectory {
        /// Path of the link.
        path: PathBuf,
        /// The target of the link.
        target: PathBuf,
    },
    /// The end of the file is omitted.
    #[error("{path}: only the first {kilobytes} KB are used", path = .0.display(), kilobytes = LIMIT >> 10)]
    TooLong(PathBuf),
}

/// Returns the context files for a working directory. The file of the agent directory comes first, then the
/// files from the root of the file system down. If a file is found twice, its first position applies. A link
/// to a target outside its own directory is not followed: the author of the link may not be permitted to read
/// the target. Links in the agent directory are followed, because it belongs to the user. Never fails:
/// problems become warnings.
pub fn context_files(agent_dir: Option<&Path>, cwd: &Path) -> (Vec<ContextFile>, Vec<ContextFileWarning>) {
    named_context_files(&ContextFileNames::PI, agent_dir, cwd)
}

/// Works like [`context_files`], with other names of files.
pub fn named_context_files(
    file_names: &ContextFileNames,
    agent_dir: Option<&Path>,
    cwd: &Path,
) -> (Vec<ContextFile>, Vec<ContextFileWarning>) {
    let mut above: Vec<&Path> = cwd.ancestors().filter(|directory| directory.is_absolute()).collect();
    above.reverse();
    let (mut files, mut warnings) = (Vec::new(), Vec::new());
    let mut seen = Vec::new();
    for directory in agent_dir.into_iter().chain(above) {
        let is_own = agent_dir == Some(directory);
        let lists: Vec<&[&str]> = match file_names.all {
            true => file_names.names.chunks(1).collect(),
            false => vec![file_names.names],
        };
        for names in lists {
            let found = first_file_in(directory, names, is_own, &seen, &mut warnings);
            let Some((file, real)) = found.filter(|(_, real)| !seen.contains(real)) else { continue };
            seen.push(real);
            files.push(file);
        }
    }
    (files, warnings)
}

/// Returns the context file of a directory, and its canonical path. Links in the agent directory may lead anywhere.
/// Other links may only lead to files in their own directory or to files in `seen`.
fn first_file_in(
    directory: &Path,
    names: &[&str],
    is_own: bool,
    seen: &[PathBuf],
    warnings: &mut Vec<ContextFileWarning>,
) -> Option<(ContextFile, PathBuf)> {
    let inside = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    for name in names {
        let path = directory.join(name);
        // The file does not exist, or a directory has the name.
        if path.is_dir() {
            continue;
        }
        // The checked path is the path that is read, even if the link changes meanwhile.
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if !is_own && !real.starts_with(&inside) && !seen.contains(&real) {
            warnings.push(ContextFileWarning::OutsideDirectory { path, target: real });
            continue;
        }
        match read_text(&real, LIMIT) {
            Ok(file) if file.text.trim().is_empty() => return None,
            Ok(file) => {
                if file.truncated {
                    warnings.push(ContextFileWarning::TooLong(path.clone()));
                }
                return Some((ContextFile { path, content: file.text }, real));
            }
            Err(error) if error.is_not_found() => {}
            Err(source) => warnings.push(ContextFileWarning::Unreadable { path, source }),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test directories `agent` and `root/a/b`, and the context files that are found for them.
    struct TestDirectories(tempfile::TempDir);

    impl TestDirectories {
        fn new() -> Self {
            let directories = Self(tempfile::tempdir().unwrap());
            std::fs::create_dir_all(directories.path("agent")).unwrap();
            std::fs::create_dir_all(directories.path("root/a/b")).unwrap();
            directories
        }

        fn path(&self, path: &str) -> PathBuf {
            self.0.path().join(path)
        }

        fn write(&self, path: &str, content: impl AsRef<[u8]>) {
            std::fs::write(self.path(path), content).unwrap();
        }

        /// Returns paths and contents below these directories, without files of the machine.
        fn found(&self) -> (Vec<String>, Vec<String>) {
            let root = format!("{}/", self.0.path().display());
            let (files, warnings) = context_files(Some(&self.path("agent")), &self.path("root/a/b"));
            let files = files.into_iter().filter(|file| file.path.starts_with(&root));
            let files =
                files.map(|file| format!("{}: {}", file.path.display(), file.content).replace(&root, ""));
            let warnings = warnings.iter().map(|warning| warning.to_string().replace(&root, ""));
            (files.collect(), warnings.collect())
        }
    }

    #[test]
    fn from_the_agent_directory_and_the_root_down() {
        let directories = TestDirectories::new();
        directories.write("root/a/b/CLAUDE.md", "three");
        directories.write("root/a/AGENTS.md", "two");
        directories.write("root/a/CLAUDE.md", "unread");
        directories.write("root/AGENTS.md", "  \n");
        directories.write("agent/AGENTS.md", "\u{feff}one");
        let expected = ["agent/AGENTS.md: one", "root/a/AGENTS.md: two", "root/a/b/CLAUDE.md: three"];
        assert_eq!(directories.found(), (expected.map(str::to_owned).to_vec(), Vec::new()));
    }

    #[test]
    fn a_file_in_utf_16_is_read_as_text() {
        let directories = TestDirectories::new();
        directories.write("agent/AGENTS.md", b"\xff\xfeo\0n\0e\0 \0\xfc\0");
        directories.write("root/a/AGENTS.md", b"\xfe\xff\0t\0w\0o");
        let expected = ["agent/AGENTS.md: one ü", "root/a/AGENTS.md: two"];
        assert_eq!(directories.found(), (expected.map(str::to_owned).to_vec(), Vec::new()));
    }

    #[test]
    fn linked_file_is_listed_once_and_directories_are_skipped() {
        let directories = TestDirectories::new();
        directories.write("root/AGENTS.md", "one");
        std::os::unix::fs::symlink(directories.path("root/AGENTS.md"), directories.path("root/a/AGENTS.md"))
            .unwrap();
        std::fs::create_dir(directories.path("root/a/b/AGENTS.md")).unwrap();
        directories.write("root/a/b/CLAUDE.md", "two");
        let expected = ["root/AGENTS.md: one", "root/a/b/CLAUDE.md: two"];
        assert_eq!(directories.found(), (expected.map(str::to_owned).to_vec(), Vec::new()));
    }

    #[test]
    fn fm_f113_link_out_of_its_directory_is_skipped_with_a_warning() {
        let link = |directories: &TestDirectories, from: &str, to: &str| {
            std::os::unix::fs::symlink(directories.path(to), directories.path(from)).unwrap();
        };
        let directories = TestDirectories::new();
        std::fs::create_dir_all(directories.path("home/.ssh")).unwrap();
        directories.write("home/.ssh/id", "canary");
        directories.write("root/a/docs.md", "inside");
        link(&directories, "root/a/b/AGENTS.md", "home/.ssh/id");
        directories.write("root/a/b/CLAUDE.md", "instead");
        link(&directories, "root/a/AGENTS.md", "root/a/docs.md");
        // A link through a directory, out of the project.
        link(&directories, "root/linked", "home/.ssh");
        link(&directories, "root/AGENTS.md", "root/linked/id");
        // The user's own links may lead anywhere.
        link(&directories, "agent/AGENTS.md", "root/a/b/CLAUDE.md");
        let (files, warnings) = directories.found();
        assert_eq!(files, ["agent/AGENTS.md: instead", "root/a/AGENTS.md: inside"]);
        let outside_warning = |path: &str| {
            format!("{path}: the link leads out of its directory, to home/.ssh/id; the file is left out")
        };
        assert_eq!(warnings, [outside_warning("root/AGENTS.md"), outside_warning("root/a/b/AGENTS.md")]);
    }

    #[test]
    fn long_files_are_cut_and_unreadable_files_are_reported() {
        let directories = TestDirectories::new();
        directories.write("agent/AGENTS.md", "x".repeat(300 << 10));
        let pipe = directories.path("root/a/AGENTS.md");
        assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
        directories.write("root/a/CLAUDE.md", "instead");
        let (files, warnings) = directories.found();
        assert_eq!(files[0].len(), "agent/AGENTS.md: ".len() + (256 << 10));
        assert_eq!(files[1], "root/a/CLAUDE.md: instead");
        assert_eq!(
            warnings,
            [
                "agent/AGENTS.md: only the first 256 KB are used",
                "root/a/AGENTS.md: it is not a regular file; the file is left out"
            ]
        );
    }
}
