//! Transfer of subagents' changes to the user's files: all of the changes, or no change.

use std::path::{Path, PathBuf};

use super::base::{diff, git_variables};
use super::cleanup::{Branch, reference};
use super::git::{Git, Variables};
use super::lease::WorktreeLease;

/// A commit to be created.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The name of its branch; after the merge a different name, if the repository already had that branch.
    pub branch: String,
    pub message: String,
    pub patch: PathBuf,
}

/// Result of merging commits.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MergeResult {
    /// The merged branches.
    pub merged: Vec<String>,
    /// The other branches, with the reason.
    pub unmerged: Vec<(String, String)>,
}

/// Maximum number of names tried for a branch.
const MAX_BRANCH_NAMES: usize = 100;

/// Identity for commits if the user has not configured one.
const FALLBACK_IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "agentese"),
    ("GIT_AUTHOR_EMAIL", "agentese@localhost"),
    ("GIT_COMMITTER_NAME", "agentese"),
    ("GIT_COMMITTER_EMAIL", "agentese@localhost"),
];

impl WorktreeLease {
    /// Applies all patches to the user's files, or no patch. Returns true if there was anything to apply.
    /// If the patches conflict, or the files have changed meanwhile, the call fails and the files stay
    /// unchanged.
    pub async fn apply(&self, patches: &[PathBuf]) -> Result<bool, String> {
        let (base, root) = (self.base().await?, &self.repository.root);
        let directory = git_variables(self.folder(), root, &self.folder().join("merge.index"));
        self.git.run(root, &directory, &["read-tree", &base.tree]).await?;
        for patch in patches {
            self.stage(&directory, patch).await?;
        }
        let tree = self.git.run(root, &directory, &["write-tree"]).await?;
        if tree == base.tree {
            return Ok(false);
        }
        let all = self.folder().join("merge.patch");
        diff(&self.git, root, &directory, &base.tree, &tree, &all).await?;
        let apply = vec!["apply".into(), "--whitespace=nowarn".into(), all.to_string_lossy().into()];
        let (git, root) = (self.git.uninterruptible(), root.clone());
        self.change_files(async move { run_git(&git, &root, &directory, &apply).await }).await?;
        Ok(true)
    }

    /// Creates a commit of each patch, on a branch of its own, and moves HEAD to the
    /// commits. A patch that does not apply is left out. If files of the user are in the way, nothing is
    /// merged and everything stays unchanged. The new branches are deleted afterwards; existing branches are
    /// never changed.
    pub async fn merge(&mut self, commits: &mut [Commit]) -> Result<MergeResult, String> {
        self.base().await?;
        let (root, none) = (self.repository.root.clone(), Variables::new());
        let mut head = self.git.run(&root, &none, &["rev-parse", "HEAD"]).await?;
        if head != self.repository.head {
            return Err("another commit was checked out meanwhile".to_owned());
        }
        let directory = self.persistent_variables(&self.folder().join("merge.index"));
        self.git.run(&root, &directory, &["read-tree", &head]).await?;
        let mut created = Vec::new();
        let mut merged = MergeResult::default();
        for commit in commits {
            if let Err(reason) = self.stage(&directory, &commit.patch).await {
                merged.unmerged.push((commit.branch.clone(), reason));
                continue;
            }
            let tree = self.git.run(&root, &directory, &["write-tree"]).await?;
            head = self.commit(&directory, &tree, &head, &commit.message).await?;
            commit.branch = self.branch(&mut created, &commit.branch, &head).await?;
            merged.merged.push(commit.branch.clone());
        }
        let moved = self.check_out(head, &merged.merged).await;
        let git = self.git.uninterruptible();
        for Branch { name, commit } in &created {
            let delete = ["update-ref", "--no-deref", "-d", &reference(name), commit];
            if let Err(reason) = git.run(&root, &none, &delete).await {
                tracing::warn!(branch = name, reason, "the branch of a subagent is left behind");
            }
        }
        moved.map(|()| merged)
    }

    /// Returns the variables with which git uses the git directory of the call, but stores new objects in the
    /// user's repository. The objects therefore stay after the call.
    fn persistent_variables(&self, index: &Path) -> Variables {
        let mut directory = git_variables(self.folder(), &self.repository.root, index);
        directory.push(("GIT_OBJECT_DIRECTORY".into(), self.repository.objects().into()));
        directory
    }

    /// Moves HEAD to a descendant commit. Git uses the settings of the call, so that it
    /// runs no program from the repository's configuration. If files of the user are in the way, everything
    /// stays unchanged.
    async fn check_out(&self, commit: String, branches: &[String]) -> Result<(), String> {
        let before = self.repository.head.clone();
        if commit == before {
            return Ok(());
        }
        let directory = self.persistent_variables(&self.repository.index);
        let (git, root) = (self.git.uninterruptible(), self.repository.root.clone());
        let message = format!("merge {}: Fast-forward", branches.join(" "));
        self.change_files(async move {
            // Fails if files have changed, which is not an error here.
            let _ = git.run(&root, &directory, &["update-index", "-q", "--refresh"]).await;
            git.run(&root, &directory, &["read-tree", "-m", "-u", &before, &commit]).await?;
            let update = ["update-ref", "-m", &message, "HEAD", &commit, &before];
            let updated = git.run(&root, &Variables::new(), &update).await;
            if updated.is_err() {
                git.run(&root, &directory, &["read-tree", "-m", "-u", &commit, &before]).await?;
            }
            updated.map(drop)
        })
        .await
    }

    /// Changes the user's files, unless the call was stopped. A later stop does not interrupt the change.
    async fn change_files(
        &self,
        work: impl Future<Output = Result<(), String>> + Send + 'static,
    ) -> Result<(), String> {
        if self.git.is_stopped() {
            return Err("the call was stopped".to_owned());
        }
        self.run_uninterrupted(work).await
    }

    /// Creates a branch at a commit, records it in `created`, and returns its name. If a branch of that name
    /// exists, the new name gets a number as its suffix.
    async fn branch(
        &mut self,
        created: &mut Vec<Branch>,
        wanted: &str,
        commit: &str,
    ) -> Result<String, String> {
        let mut name = wanted.to_owned();
        for number in 2..=MAX_BRANCH_NAMES {
            created.push(Branch { name: name.clone(), commit: commit.to_owned() });
            // The cleanup deletes the branch only if it is still at that commit.
            if let Some(lease_file) = &mut self.lease_file {
                lease_file.write(created).map_err(|error| error.to_string())?;
            }
            // An empty old value requires that the branch does not exist.
            let create = ["update-ref", "--no-deref", &reference(&name), commit, ""];
            let Err(reason) = self.git.run(&self.repository.root, &Vec::new(), &create).await else {
                return Ok(name);
            };
            created.pop();
            let look = ["rev-parse", "--verify", "--quiet", &reference(&name)];
            if self.git.run(&self.repository.root, &Vec::new(), &look).await.is_err() {
                return Err(reason);
            }
            name = format!("{wanted}-{number}");
        }
        Err(format!("{MAX_BRANCH_NAMES} branches with the name {wanted} already exist"))
    }

    /// Applies a patch to an index only. An empty patch changes nothing.
    async fn stage(&self, variables: &Variables, patch: &Path) -> Result<(), String> {
        let size =
            tokio::fs::metadata(patch).await.map_err(|error| format!("{}: {error}", patch.display()))?;
        if size.len() == 0 {
            return Ok(());
        }
        let apply = ["apply", "--cached", "--whitespace=nowarn", &patch.to_string_lossy()];
        self.git.run(&self.repository.root, variables, &apply).await.map(drop)
    }

    async fn commit(
        &self,
        directory: &Variables,
        tree: &str,
        parent: &str,
        message: &str,
    ) -> Result<String, String> {
        let commit = ["commit-tree", tree, "-p", parent, "-m", message];
        let known = self.git.run(&self.repository.root, directory, &commit).await;
        match known {
            Ok(made) => Ok(made),
            Err(_) => {
                let mut directory = directory.clone();
                directory.extend(FALLBACK_IDENTITY.iter().map(|(name, value)| (name.into(), value.into())));
                self.git.run(&self.repository.root, &directory, &commit).await
            }
        }
    }
}

async fn run_git(git: &Git, root: &Path, directory: &Variables, arguments: &[String]) -> Result<(), String> {
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    git.run(root, directory, &arguments).await.map(drop)
}
