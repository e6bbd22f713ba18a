//! The copies of one call.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, Shared};
use futures::{FutureExt, TryFutureExt};
use tokio::sync::Mutex;

use super::base::{Base, diff, tree};
use super::clean::{Claim, remove_worktree};
use super::git::Git;
use crate::tools::ToolContext;

/// How often adding a worktree is tried again.
const ATTEMPTS: u32 = 4;

/// The copies of one call. Dropping it puts them away.
pub struct Lease {
    pub(super) git: Git,
    pub(super) claim: Option<Claim>,
    /// The top of the repository.
    pub(super) root: PathBuf,
    /// Where in it the agent works.
    prefix: PathBuf,
    base: Ready<Base>,
    /// Whoever adds or removes a worktree: git stumbles over one that is half there.
    turn: Arc<Mutex<()>>,
}

/// Something that is being made.
pub type Ready<T> = Shared<BoxFuture<'static, Result<T, String>>>;

/// The copy of one subagent.
#[derive(Clone)]
pub struct Worktree {
    /// Its top.
    pub path: PathBuf,
    /// Where the subagent works.
    pub cwd: PathBuf,
    /// Done when its files are there.
    pub ready: Ready<()>,
}

impl Lease {
    /// Prepares copies of the repository around the working directory. Fails with what the model is to know. The files are
    /// read in the background, so that the first subagent need not wait for them.
    pub async fn take(context: &ToolContext, worktrees: &Path) -> Result<Self, String> {
        let git = Git::new(context.spawner.clone());
        let none = |_| {
            // The text is the one of pisces 13.18.
            "Isolated task execution requires a git repository. Git repository not found for isolated task execution."
                .to_owned()
        };
        let places = ["rev-parse", "--show-toplevel", "--show-prefix"];
        let places = git.run(&context.cwd, &Vec::new(), &places).await.map_err(none)?;
        let mut places = places.lines();
        let root = PathBuf::from(places.next().unwrap_or_default());
        let prefix = PathBuf::from(places.next().unwrap_or_default());
        let heads = git.run(&root, &Vec::new(), &["rev-parse", "--verify", "--quiet", "HEAD"]).await;
        let head = heads
            .map_err(|_| "Isolated task execution requires a commit; the repository has none.".to_owned())?;
        let name = uuid::Uuid::new_v4().simple().to_string();
        let claim = {
            let (worktrees, root) = (worktrees.to_owned(), root.clone());
            let claimed = tokio::task::spawn_blocking(move || Claim::take(&worktrees, &name, &root));
            let claimed = claimed.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
            claimed
                .map_err(|error| format!("Isolated task execution has no place for its copies: {error}"))?
        };
        let base = {
            let (git, root, place) = (git.clone(), root.clone(), claim.place.clone());
            in_background(async move {
                let head_tree =
                    git.run(&root, &Vec::new(), &["rev-parse", &format!("{head}^{{tree}}")]).await?;
                Base::read(&git, &root, &place, &head, &head_tree).await
            })
        };
        Ok(Self { git, claim: Some(claim), root, prefix, base, turn: Arc::default() })
    }

    /// Begins a copy for a subagent.
    pub fn worktree(&self, id: &str) -> Worktree {
        let path = self.place().join(id);
        let (git, root, base, there) = (self.git.clone(), self.root.clone(), self.base.clone(), path.clone());
        let turn = self.turn.clone();
        let ready = in_background(async move {
            let base = base.await?;
            let shown = there.to_string_lossy();
            let add = ["worktree", "add", "--quiet", "--detach", "--no-checkout", &shown, &base.head];
            {
                let _turn = turn.lock().await;
                add_worktree(&git, &root, &add).await?;
            }
            git.run(&there, &Vec::new(), &["reset", "--hard", "--quiet"]).await?;
            if let Some(changes) = &base.changes {
                let apply = ["apply", "--whitespace=nowarn", &changes.to_string_lossy()];
                git.run(&there, &Vec::new(), &apply).await?;
            }
            Ok(())
        });
        Worktree { cwd: path.join(&self.prefix), path, ready }
    }

    /// Writes what a subagent changed to a file.
    pub async fn patch(&self, worktree: &Worktree, file: &Path) -> Result<(), String> {
        worktree.ready.clone().await?;
        let base = self.base.clone().await?;
        let index = worktree.path.with_extension("index");
        let tree = tree(&self.git, &worktree.path, &index, &base.objects).await?;
        diff(&self.git, &self.root, &base.objects, &base.tree, &tree, file).await
    }

    /// Puts a copy away.
    pub async fn discard(&self, worktree: Worktree) {
        // One that is still being made would come back.
        let _ = worktree.ready.await;
        let root = self.root.clone();
        let _turn = self.turn.lock().await;
        let _ = tokio::task::spawn_blocking(move || remove_worktree(&root, &worktree.path)).await;
    }

    /// Puts everything away.
    pub async fn end(mut self) {
        let _ = self.base.clone().await;
        if let Some(claim) = self.claim.take() {
            let _ = tokio::task::spawn_blocking(move || claim.clean()).await;
        }
    }

    /// The state that the copies began with.
    pub(super) async fn base(&self) -> Result<Base, String> {
        self.base.clone().await
    }

    pub(super) fn place(&self) -> &Path {
        self.claim.as_ref().map_or(Path::new("/"), |claim| &claim.place)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(claim) = self.claim.take() {
            // Somebody gave the call up: nobody waits for this, and the runtime may be ending.
            std::thread::spawn(move || claim.clean());
        }
    }
}

/// Adds a worktree. Other programs add theirs at the same time: then it is tried again.
async fn add_worktree(git: &Git, root: &Path, add: &[&str]) -> Result<(), String> {
    for attempt in 0..ATTEMPTS {
        if git.run(root, &Vec::new(), add).await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20 << attempt)).await;
    }
    git.run(root, &Vec::new(), add).await.map(drop)
}

/// Begins work at once, whoever waits for it. Nothing of it goes on where everybody has given up.
fn in_background<T: Clone + Send + Sync + 'static>(
    work: impl Future<Output = Result<T, String>> + Send + 'static,
) -> Ready<T> {
    let task = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(work));
    task.unwrap_or_else(|error| Err(error.to_string())).boxed().shared()
}
