//! Lease on the copies of the repository for one call.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, Shared, join_all};
use futures::{FutureExt, TryFutureExt};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::base::{Base, diff, git_variables, links, tree};
use super::cleanup::{LeaseFile, remove_all};
use super::git::{Git, Variables};
use super::repository::{Repository, check_no_filters, copy};
use crate::tools::ToolContext;

/// Maximum time for which the end of a call waits for the cleanup. The cleanup then continues in the background.
const CLEANUP_WAIT: Duration = Duration::from_millis(500);

/// The copies of the repository for one call. They are removed in the background when this value is dropped.
pub struct WorktreeLease {
    /// Runner for git commands that end with the call.
    pub(super) git: Git,
    pub(super) lease_file: Option<LeaseFile>,
    pub(super) repository: Arc<Repository>,
    base: SharedResult<Base>,
    /// Held during a removal. Removals run one after the other, because concurrent removals are slower.
    removal_lock: Arc<tokio::sync::Mutex<()>>,
    /// Futures that must complete before the cleanup.
    pending: Mutex<Vec<BoxFuture<'static, ()>>>,
    /// Cancelled to stop the creation of copies.
    stop: CancellationToken,
    background_tasks: TaskTracker,
}

/// A result that is being computed and that several tasks can await.
pub type SharedResult<T> = Shared<BoxFuture<'static, Result<T, String>>>;

/// The copy of the repository for one subagent.
#[derive(Clone)]
pub struct Worktree {
    /// Top folder of the copy.
    pub path: PathBuf,
    /// Working directory of the subagent.
    pub cwd: PathBuf,
    /// Completes when the copy has all files. Fails if the copy cannot be created.
    pub ready: SharedResult<()>,
    /// Cancelled to stop the creation of the copy.
    stop: CancellationToken,
}

impl WorktreeLease {
    /// Prepares for copies of the repository that contains the working directory. Its files are read in the background,
    /// so that the first subagent need not wait. Fails with a message for the model.
    pub async fn acquire(context: &ToolContext, worktrees: &Path, trusted: bool) -> Result<Self, String> {
        let git = Git::new(context.spawner.clone(), context.abort.clone());
        let repository = Arc::new(Repository::find(&git, &context.cwd, trusted).await?);
        let name = uuid::Uuid::new_v4().simple().to_string();
        let lease_file = {
            let (worktrees, root) = (worktrees.to_owned(), repository.root.clone());
            blocking(move || LeaseFile::acquire(&worktrees, &name, &root)).await
        };
        let lease_file = lease_file
            .map_err(|error| format!("Isolated task execution cannot create its copies: {error}"))?;
        let stop = git.child_token();
        let mut lease = Self {
            git,
            lease_file: Some(lease_file),
            repository,
            base: futures::future::pending().boxed().shared(),
            removal_lock: Arc::default(),
            pending: Mutex::default(),
            stop,
            background_tasks: context.background_tasks.clone(),
        };
        if let Err(reason) = lease.prepare(trusted).await {
            lease.end().await;
            return Err(reason);
        }
        Ok(lease)
    }

    /// Creates the git directory of the call, and starts to read the repository's files. Fails if the repository is not
    /// trusted and its files need filter programs.
    async fn prepare(&mut self, trusted: bool) -> Result<(), String> {
        let (repository, folder) = (self.repository.clone(), self.folder().to_owned());
        let (source, git_dir) = (repository.clone(), folder.join("git"));
        let created = blocking(move || source.create_git_dir(&git_dir, &[])).await;
        created.map_err(|error| format!("Isolated task execution cannot create its copies: {error}"))?;
        if !trusted {
            let directory = git_variables(&folder, &repository.root, &repository.index);
            check_no_filters(&self.git, &repository.root, &directory).await?;
        }
        let git = self.git.with_stop_token(self.stop.clone());
        self.base = spawn_shared(async move { Base::read(&git, &repository, &folder).await });
        self.track_pending(completion(&self.base));
        Ok(())
    }

    /// Starts to create a copy for a subagent. Returns before the copy is complete.
    pub fn worktree(&self, id: &str) -> Worktree {
        let path = self.folder().join(id);
        let stop = self.stop.child_token();
        let git = self.git.with_stop_token(stop.clone());
        let (repository, base, top, folder) =
            (self.repository.clone(), self.base.clone(), path.clone(), self.folder().to_owned());
        let ready =
            spawn_shared(async move { fill_copy(&git, &repository, &base.await?, &folder, &top).await });
        self.track_pending(completion(&ready));
        Worktree { cwd: path.join(&self.repository.prefix), path, ready, stop }
    }

    /// Writes the changes of a subagent to a file. An abort of the call does not stop this; dropping the future does.
    pub async fn patch(&self, worktree: &Worktree, file: &Path) -> Result<(), String> {
        worktree.ready.clone().await?;
        let base = self.base.clone().await?;
        let git = self.git.uninterruptible();
        let directory = git_variables(self.folder(), &worktree.path, &worktree.path.with_extension("index"));
        let (tree, _) = tree(&git, &worktree.path, &directory, &base.nested_repositories).await?;
        diff(&git, &self.repository.root, &directory, &base.tree, &tree, file).await
    }

    /// Stops the creation of a copy, and removes the copy in the background.
    pub fn discard(&self, worktree: Worktree) {
        let Worktree { path, ready, stop, .. } = worktree;
        stop.cancel();
        let (removal_lock, end) = (self.removal_lock.clone(), self.stop.clone());
        self.background_tasks.spawn(async move {
            // A copy that is still being created would reappear.
            let _ = ready.await;
            let _guard = removal_lock.lock().await;
            // The final cleanup removes everything at once.
            if !end.is_cancelled() {
                let _ = tokio::task::spawn_blocking(move || remove_all(&path)).await;
            }
        });
    }

    /// Removes all copies. If this takes longer than [`CLEANUP_WAIT`], it continues in the background.
    pub async fn end(mut self) {
        if let Some(cleanup) = self.start_cleanup() {
            let _ = tokio::time::timeout(CLEANUP_WAIT, cleanup).await;
        }
    }

    /// Runs work in the background that an abort of the call does not stop. The cleanup waits for the work.
    pub(super) fn run_uninterrupted<T: Clone + Send + Sync + 'static>(
        &self,
        work: impl Future<Output = Result<T, String>> + Send + 'static,
    ) -> SharedResult<T> {
        let task = self.background_tasks.spawn(work);
        let done = task.unwrap_or_else(|error| Err(error.to_string())).boxed().shared();
        self.track_pending(completion(&done));
        done
    }

    fn track_pending(&self, work: BoxFuture<'static, ()>) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).push(work);
    }

    fn start_cleanup(&mut self) -> Option<JoinHandle<()>> {
        let lease_file = self.lease_file.take()?;
        self.stop.cancel();
        let pending = std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner));
        Some(self.background_tasks.spawn(async move {
            join_all(pending).await;
            let _ = tokio::task::spawn_blocking(move || lease_file.remove()).await;
        }))
    }

    /// Returns the state of the files with which every copy starts.
    pub(super) async fn base(&self) -> Result<Base, String> {
        self.base.clone().await
    }

    pub(super) fn folder(&self) -> &Path {
        self.lease_file.as_ref().map_or(Path::new("/"), |lease_file| &lease_file.folder)
    }
}

impl Drop for WorktreeLease {
    fn drop(&mut self) {
        // Without a runtime the program is ending: the next start removes the copies.
        if tokio::runtime::Handle::try_current().is_ok() {
            drop(self.start_cleanup());
        }
    }
}

/// Completes when `work` has succeeded or failed.
fn completion<T: Clone + Send + Sync + 'static>(work: &SharedResult<T>) -> BoxFuture<'static, ()> {
    work.clone().map(drop).boxed()
}

/// Fills a copy with the repository's current files, and gives it a git directory of its own. Git commands of the
/// subagent therefore affect only the copy.
async fn fill_copy(
    git: &Git,
    repository: &Arc<Repository>,
    base: &Base,
    folder: &Path,
    top: &Path,
) -> Result<(), String> {
    let index = top.with_extension("index");
    let failed = |error: std::io::Error| format!("{}: {error}", top.display());
    let (source, directory, references) = (repository.clone(), top.join(".git"), base.references.clone());
    blocking(move || source.create_git_dir(&directory, &references)).await.map_err(failed)?;
    let files = git_variables(folder, top, &index);
    git.run(top, &files, &["read-tree", &base.tree]).await?;
    git.run(top, &files, &["checkout-index", "--all", "--force", "--index"]).await?;
    let (from, to) = (index, top.join(".git/index"));
    blocking(move || copy(&from, &to)).await.map_err(failed)?;
    let own: Variables =
        vec![("GIT_DIR".into(), top.join(".git").into()), ("GIT_WORK_TREE".into(), top.into())];
    // Entries with the same content as the commit keep the cached file status.
    git.run(top, &own, &["read-tree", "-m", "HEAD"]).await?;
    if !base.links.is_empty() {
        let folders = links(git, top, &own).await?;
        let top = top.to_owned();
        let make = move || folders.iter().try_for_each(|folder| std::fs::create_dir_all(top.join(folder)));
        blocking(make).await.map_err(failed)?;
    }
    Ok(())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

/// Starts work at once in the background. The work is aborted when all futures that wait for it are dropped.
fn spawn_shared<T: Clone + Send + Sync + 'static>(
    work: impl Future<Output = Result<T, String>> + Send + 'static,
) -> SharedResult<T> {
    let task = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(work));
    task.unwrap_or_else(|error| Err(error.to_string())).boxed().shared()
}
