//! The files as they are when a call begins: what every copy starts with, and what its changes are compared with.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::git::{Git, Variables};

/// The state of a repository's files.
#[derive(Debug, Clone)]
pub struct Base {
    /// The commit that is checked out.
    pub head: String,
    /// The tree of the files as they are.
    pub tree: String,
    /// What leads from that commit to that tree; none where nothing does.
    pub changes: Option<PathBuf>,
    /// Where the objects of trees go that are nobody's but ours.
    pub objects: Variables,
}

/// What a diff of two trees is asked with, so that it can be applied anywhere.
pub(super) const DIFF: [&str; 9] = [
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

impl Base {
    /// Reads the state of the repository. Writes to `place` alone.
    pub async fn read(
        git: &Git,
        root: &Path,
        place: &Path,
        head: &str,
        head_tree: &str,
    ) -> Result<Self, String> {
        let objects = ["rev-parse", "--path-format=absolute", "--git-path", "objects"];
        let shared = git.run(root, &Vec::new(), &objects).await?;
        let private = place.join("objects");
        tokio::fs::create_dir_all(&private)
            .await
            .map_err(|error| format!("{}: {error}", private.display()))?;
        let objects: Variables = vec![
            ("GIT_OBJECT_DIRECTORY".into(), private.into()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES".into(), shared.into()),
        ];
        let tree = tree(git, root, &place.join("base.index"), &objects).await?;
        let mut changes = None;
        if tree != head_tree {
            let file = place.join("base.patch");
            diff(git, root, &objects, head_tree, &tree, &file).await?;
            changes = Some(file);
        }
        Ok(Self { head: head.to_owned(), tree, changes, objects })
    }
}

/// The tree of the files in a work tree, those that are not ignored. The index is a copy, so that files that did not
/// change are not read.
pub async fn tree(git: &Git, root: &Path, index: &Path, objects: &Variables) -> Result<String, String> {
    let own =
        git.run(root, &Vec::new(), &["rev-parse", "--path-format=absolute", "--git-path", "index"]).await?;
    match tokio::fs::copy(&own, index).await {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(format!("{own}: {error}")),
    }
    let variables = with_index(objects, index);
    git.run(root, &variables, &["add", "--all"]).await?;
    git.run(root, &variables, &["write-tree"]).await
}

/// Writes what leads from one tree to another.
pub async fn diff(
    git: &Git,
    root: &Path,
    objects: &Variables,
    from: &str,
    to: &str,
    file: &Path,
) -> Result<(), String> {
    let output = format!("--output={}", file.to_string_lossy());
    let mut arguments = DIFF.to_vec();
    arguments.extend([output.as_str(), from, to, "--"]);
    git.run(root, objects, &arguments).await.map(drop)
}

/// The same variables, with that index.
pub fn with_index(variables: &Variables, index: &Path) -> Variables {
    let mut variables = variables.clone();
    variables.push((OsString::from("GIT_INDEX_FILE"), index.into()));
    variables
}
