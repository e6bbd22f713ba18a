//! The state of the repository's files at the start of a call. Every copy starts with these files, and changes are
//! differences from them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::git::{Git, Variables};
use super::repository::Repository;

/// The state of a repository's files, without nested repositories.
#[derive(Debug, Clone)]
pub struct Base {
    /// The git tree of the current files.
    pub tree: String,
    /// The paths of nested repositories, submodules included.
    pub nested_repositories: Vec<PathBuf>,
    /// The paths at which the repository's index contains other repositories (gitlinks).
    pub links: Vec<PathBuf>,
    /// The repository's branches and tags, as the content of a `packed-refs` file.
    pub references: Vec<u8>,
}

/// Arguments for a diff of two trees whose output any git can apply.
const DIFF: [&str; 9] = [
    "diff",
    "--binary",
    "--full-index",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// Returns the variables that let git use the agent's own git directory in `folder` with the files in `work_tree`.
pub(super) fn git_variables(folder: &Path, work_tree: &Path, index: &Path) -> Variables {
    vec![
        ("GIT_DIR".into(), folder.join("git").into()),
        ("GIT_WORK_TREE".into(), work_tree.into()),
        ("GIT_INDEX_FILE".into(), index.into()),
    ]
}

impl Base {
    /// Reads the state of the repository's files. Writes only to `folder`.
    pub async fn read(git: &Git, repository: &Repository, folder: &Path) -> Result<Self, String> {
        let root = &repository.root;
        let index = folder.join("base.index");
        match tokio::fs::copy(&repository.index, &index).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(format!("{}: {error}", repository.index.display()));
            }
            _ => {}
        }
        let directory = git_variables(folder, root, &index);
        // Git would inspect submodules with their own configuration.
        let links = links(git, root, &directory).await?;
        if !links.is_empty() {
            let remove = ["update-index", "--force-remove", "-z", "--stdin"];
            let names = links.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
            git.pipe(root, &directory, &remove, names).await?;
        }
        let (tree, mut left_out) = tree(git, root, &directory, &[]).await?;
        left_out.extend(links.iter().filter(|path| !left_out.contains(path)).cloned().collect::<Vec<_>>());
        let references = repository.references(git).await?;
        Ok(Self { tree, nested_repositories: left_out, links, references })
    }
}

/// Returns the paths at which the index contains other repositories.
pub(super) async fn links(git: &Git, root: &Path, directory: &Variables) -> Result<Vec<PathBuf>, String> {
    let listed = git.pipe(root, directory, &["ls-files", "-z", "--stage"], Vec::new()).await?;
    let entries = listed.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000 "));
    let paths = entries.filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1));
    Ok(paths.map(path).collect())
}

/// Returns the git tree of all files in a work tree that are not ignored. Nested repositories are left out, and their
/// paths are returned. Fails if a file is below one of the paths in `excluded`.
pub(super) async fn tree(
    git: &Git,
    root: &Path,
    directory: &Variables,
    excluded: &[PathBuf],
) -> Result<(String, Vec<PathBuf>), String> {
    let list = ["ls-files", "-z", "--others", "--exclude-standard"];
    let listed = git.pipe(root, directory, &list, Vec::new()).await?;
    // Git lists a repository by the name of its folder and does not descend into it.
    let (within, files): (Vec<_>, Vec<_>) = listed
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .partition(|name| name.ends_with(b"/"));
    let lost =
        excluded.iter().find(|excluded_path| files.iter().any(|file| path(file).starts_with(excluded_path)));
    if let Some(excluded_path) = lost {
        return Err(format!(
            "{} is a nested repository in the working directory; changes below it cannot be merged",
            excluded_path.display()
        ));
    }
    let mut pathspecs = b":(top)".to_vec();
    for name in &within {
        pathspecs.extend_from_slice(b"\0:(top,exclude,literal)");
        pathspecs.extend_from_slice(&name[..name.len() - 1]);
    }
    let add = ["add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"];
    git.pipe(root, directory, &add, pathspecs).await?;
    let tree = git.run(root, directory, &["write-tree"]).await?;
    Ok((tree, within.into_iter().map(|name| path(&name[..name.len() - 1])).collect()))
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Writes the difference between two trees to a file.
pub(super) async fn diff(
    git: &Git,
    root: &Path,
    directory: &Variables,
    from: &str,
    to: &str,
    file: &Path,
) -> Result<(), String> {
    let output = format!("--output={}", file.to_string_lossy());
    let mut arguments = DIFF.to_vec();
    arguments.extend([output.as_str(), from, to, "--"]);
    git.run(root, directory, &arguments).await.map(drop)
}
