//! The repository of the user, and git directories that share only its objects.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::git::{Git, Variables};
use super::settings::{Settings, untrusted_error};

/// A repository of the user.
#[derive(Debug, Clone)]
pub(super) struct Repository {
    /// Top folder of the repository's work tree.
    pub root: PathBuf,
    /// Working directory of the agent, relative to the top.
    pub prefix: PathBuf,
    /// The checked-out commit.
    pub head: String,
    /// Index file of the repository, which may be missing.
    pub index: PathBuf,
    /// Folder with the objects of the repository. It may name further folders with objects.
    objects: PathBuf,
    /// Hash format of the repository's objects, such as `sha1`.
    format: String,
    /// Git folder that all work trees of the repository share.
    common: PathBuf,
    settings: Settings,
}

/// Files of a repository that are copied into another git directory.
const FILES: &[&str] = &["info/exclude", "info/attributes", "shallow"];

impl Repository {
    /// Finds the repository around a folder. Fails with a message for the model, also if an untrusted
    /// repository would run programs.
    pub async fn find(git: &Git, cwd: &Path, trusted: bool) -> Result<Self, String> {
        let none = |_| {
            // The text is from pisces 13.18.
            "Isolated task execution requires a git repository. Git repository not found for isolated task execution."
                .to_owned()
        };
        let arguments = ["rev-parse", "--show-toplevel", "--show-prefix"];
        let answer = git.run(cwd, &Variables::new(), &arguments).await.map_err(none)?;
        let mut lines = answer.lines();
        let root = PathBuf::from(lines.next().unwrap_or_default());
        let prefix = PathBuf::from(lines.next().unwrap_or_default());
        check_contains(&root, cwd)?;
        let heads = git.run(&root, &Variables::new(), &["rev-parse", "--verify", "--quiet", "HEAD"]).await;
        let head = heads
            .map_err(|_| "Isolated task execution requires a commit; the repository has none.".to_owned())?;
        let settings = Settings::read(git, &root, trusted).await?;
        let arguments = "rev-parse --path-format=absolute --show-object-format --git-common-dir --git-path index --git-path objects";
        let arguments: Vec<_> = arguments.split(' ').collect();
        let answer = git.run(&root, &Variables::new(), &arguments).await?;
        let [format, common, index, objects] = answer.lines().collect::<Vec<_>>()[..] else {
            return Err("Isolated task execution cannot work below a path with a line break.".to_owned());
        };
        Ok(Self {
            prefix,
            head,
            index: index.into(),
            objects: objects.into(),
            format: format.to_owned(),
            common: common.into(),
            settings,
            root,
        })
    }

    /// Creates a git directory with the objects, the settings and the checked-out commit of this repository.
    /// Blocks.
    pub fn create_git_dir(&self, git_dir: &Path, references: &[u8]) -> io::Result<()> {
        for folder in ["objects/info", "objects/pack", "refs/heads", "info"] {
            std::fs::create_dir_all(git_dir.join(folder))?;
        }
        std::fs::write(git_dir.join("objects/info/alternates"), self.alternates())?;
        for name in FILES {
            copy(&self.common.join(name), &git_dir.join(name))?;
        }
        // An index may consist of two files.
        for entry in std::fs::read_dir(self.index.parent().unwrap_or(Path::new("/")))?.flatten() {
            if entry.file_name().as_bytes().starts_with(b"sharedindex.") {
                copy(&entry.path(), &git_dir.join(entry.file_name()))?;
            }
        }
        if !references.is_empty() {
            std::fs::write(git_dir.join("packed-refs"), references)?;
        }
        std::fs::write(git_dir.join("config"), self.settings.text(&self.format, &self.common.join("lfs")))?;
        std::fs::write(git_dir.join("HEAD"), format!("{}\n", self.head))
    }

    /// Returns the folder with the repository's objects and all further folders with objects that it names.
    /// The list is complete, because git follows only a few references from folder to folder.
    fn alternates(&self) -> Vec<u8> {
        let mut text = quoted(self.objects.as_os_str());
        let further = std::fs::read(self.objects.join("info/alternates")).unwrap_or_default();
        for line in further.split(|byte| *byte == b'\n') {
            if line.starts_with(b"/") || line.starts_with(b"\"/") {
                text.extend_from_slice(line);
                text.push(b'\n');
            }
        }
        text
    }

    /// Returns the folder for commits that are to stay.
    pub fn objects(&self) -> &Path {
        &self.objects
    }

    /// Returns the branches and tags of the repository, in the form of a git file.
    pub async fn references(&self, git: &Git) -> Result<Vec<u8>, String> {
        let list =
            ["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/remotes"];
        git.pipe(&self.root, &Variables::new(), &list, Vec::new()).await
    }
}

/// Fails if the work tree does not contain the folder: the configuration of a repository may name any other.
fn check_contains(root: &Path, cwd: &Path) -> Result<(), String> {
    let cwd = cwd.canonicalize().map_err(|error| format!("{}: {error}", cwd.display()))?;
    let nearest = cwd.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    if nearest.is_some_and(|nearest| root.canonicalize().is_ok_and(|root| root == nearest)) {
        return Ok(());
    }
    Err(format!(
        "Isolated task execution requires a repository in its own work tree; core.worktree of this one leads to {}.",
        root.display()
    ))
}

/// Fails if the attributes of a file name a filter. `directory` selects the git directory.
pub(super) async fn check_no_filters(git: &Git, root: &Path, directory: &Variables) -> Result<(), String> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let files = git.pipe(root, directory, &list, Vec::new()).await?;
    let ask = ["check-attr", "-z", "--stdin", "filter"];
    let answer = git.pipe(root, directory, &ask, files).await?;
    let parts: Vec<_> = answer.split(|byte| *byte == 0).collect();
    let named = parts
        .chunks_exact(3)
        .find(|triple| !matches!(triple[2], b"unspecified" | b"set" | b"unset") && !triple[2].is_empty());
    match named {
        Some(triple) => {
            let [file, name] = [triple[0], triple[2]].map(String::from_utf8_lossy);
            Err(untrusted_error(&format!("the attributes of {file} name the filter \"{name}\"")))
        }
        None => Ok(()),
    }
}

/// Returns a path in the form in which git lists it, with one path in each line.
fn quoted(path: &OsStr) -> Vec<u8> {
    let bytes = path.as_bytes();
    let plain = !bytes.contains(&b'\n') && !bytes.starts_with(b"\"") && !bytes.starts_with(b"#");
    let mut text = match plain {
        true => bytes.to_vec(),
        false => {
            let text = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            format!("\"{text}\"").into_bytes()
        }
    };
    text.push(b'\n');
    text
}

/// Copies a file that may be missing.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::copy(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
