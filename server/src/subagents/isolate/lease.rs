//! The copies of one call.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, Shared, join_all};
use futures::{FutureExt, TryFutureExt};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::base::{Base, diff, tree};
use super::clean::{Claim, remove_all, set_aside};
use super::git::Git;
use crate::tools::ToolContext;

/// How often adding a worktree is tried again.
const ATTEMPTS: u32 = 4;

/// How long the end of a call waits until everything is put away. It goes on behind the call then.
const PATIENCE: Duration = Duration::from_millis(500);

/// The copies of one call. Dropping it puts them away, behind the call.
pub struct Lease {
    /// Its commands end with the call.
    pub(super) git: Git,
    pub(super) claim: Option<Claim>,
    /// The top of the repository.
    pub(super) root: PathBuf,
    /// Where in it the agent works.
    prefix: PathBuf,
    base: Ready<Base>,
    /// Whoever adds or removes a worktree: git stumbles over one that is half there.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Whoever removes files: several at once are slower than one after the other.
    broom: Arc<tokio::sync::Mutex<()>>,
    /// What has to be over before everything is put away.
    pending: Mutex<Vec<BoxFuture<'static, ()>>>,
    /// Stops the copies that are still being made.
    stop: CancellationToken,
    chores: TaskTracker,
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
    /// Stops making it.
    stop: CancellationToken,
}

impl Lease {
    /// Prepares copies of the repository around the working directory. Fails with what the model is to know. The files are
    /// read in the background, so that the first subagent need not wait for them.
    pub async fn take(context: &ToolContext, worktrees: &Path) -> Result<Self, String> {
        let git = Git::new(context.spawner.clone(), context.abort.clone());
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
        let stop = git.child_token();
        let base = {
            let (git, root, place) = (git.until(stop.clone()), root.clone(), claim.place.clone());
            in_background(async move {
                let head_tree =
                    git.run(&root, &Vec::new(), &["rev-parse", &format!("{head}^{{tree}}")]).await?;
                Base::read(&git, &root, &place, &head, &head_tree).await
            })
        };
        let pending = Mutex::new(vec![over(&base)]);
        Ok(Self {
            git,
            claim: Some(claim),
            root,
            prefix,
            base,
            turn: Arc::default(),
            broom: Arc::default(),
            pending,
            stop,
            chores: context.chores.clone(),
        })
    }

    /// Begins a copy for a subagent.
    pub fn worktree(&self, id: &str) -> Worktree {
        let path = self.place().join(id);
        let stop = self.stop.child_token();
        let git = self.git.until(stop.clone());
        let (root, base, there, turn) =
            (self.root.clone(), self.base.clone(), path.clone(), self.turn.clone());
        let ready = in_background(async move {
            let base = base.await?;
            let shown = there.to_string_lossy();
            let add = ["worktree", "add", "--quiet", "--detach", "--no-checkout", &shown, &base.head];
            {
                let _turn = turn.lock().await;
                // It is over at once, as no file is written. One that is half there would be a burden.
                add_worktree(&git, &root, &add).await?;
            }
            git.run(&there, &Vec::new(), &["reset", "--hard", "--quiet"]).await?;
            if let Some(changes) = &base.changes {
                let apply = ["apply", "--whitespace=nowarn", &changes.to_string_lossy()];
                git.run(&there, &Vec::new(), &apply).await?;
            }
            Ok(())
        });
        self.wait_for(over(&ready));
        Worktree { cwd: path.join(&self.prefix), path, ready, stop }
    }

    /// Writes what a subagent changed to a file, also after the call was stopped. Dropping the future ends that.
    pub async fn patch(&self, worktree: &Worktree, file: &Path) -> Result<(), String> {
        worktree.ready.clone().await?;
        let base = self.base.clone().await?;
        let index = worktree.path.with_extension("index");
        let git = self.git.to_the_end();
        let tree = tree(&git, &worktree.path, &index, &base.objects).await?;
        diff(&git, &self.root, &base.objects, &base.tree, &tree, file).await
    }

    /// Puts a copy away, behind the call.
    pub fn discard(&self, worktree: Worktree) {
        let Worktree { path, ready, stop, .. } = worktree;
        stop.cancel();
        let (root, turn, broom, end) =
            (self.root.clone(), self.turn.clone(), self.broom.clone(), self.stop.clone());
        let aside = self.surely(async move {
            // One that is still being made would come back.
            let _ = ready.await;
            let _turn = turn.lock().await;
            let aside = tokio::task::spawn_blocking(move || set_aside(&root, &path)).await;
            aside.map_err(|error| error.to_string())
        });
        self.chores.spawn(async move {
            let Ok(aside) = aside.await else { return };
            let _broom = broom.lock().await;
            // At the end everything goes at once.
            if !end.is_cancelled() {
                let _ = tokio::task::spawn_blocking(move || remove_all(&aside)).await;
            }
        });
    }

    /// Puts everything away. Returns before that is done where it takes long.
    pub async fn end(mut self) {
        if let Some(gone) = self.put_away() {
            let _ = tokio::time::timeout(PATIENCE, gone).await;
        }
    }

    /// Does that behind the call, also where that is given up meanwhile. It is put away afterwards.
    pub(super) fn surely<T: Clone + Send + Sync + 'static>(
        &self,
        work: impl Future<Output = Result<T, String>> + Send + 'static,
    ) -> Ready<T> {
        let task = self.chores.spawn(work);
        let done = task.unwrap_or_else(|error| Err(error.to_string())).boxed().shared();
        self.wait_for(over(&done));
        done
    }

    fn wait_for(&self, work: BoxFuture<'static, ()>) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).push(work);
    }

    fn put_away(&mut self) -> Option<JoinHandle<()>> {
        let claim = self.claim.take()?;
        self.stop.cancel();
        let pending = std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner));
        Some(self.chores.spawn(async move {
            join_all(pending).await;
            let _ = tokio::task::spawn_blocking(move || claim.clean()).await;
        }))
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
        // Without a runtime the program ends: the next start puts away what is there.
        if tokio::runtime::Handle::try_current().is_ok() {
            drop(self.put_away());
        }
    }
}

/// Done when that is, whatever came of it.
fn over<T: Clone + Send + Sync + 'static>(work: &Ready<T>) -> BoxFuture<'static, ()> {
    work.clone().map(drop).boxed()
}

/// Adds a worktree. Other programs add theirs at the same time: then it is tried again.
async fn add_worktree(git: &Git, root: &Path, add: &[&str]) -> Result<(), String> {
    let whole = git.to_the_end();
    for attempt in 0..ATTEMPTS {
        if git.is_stopped() {
            break;
        }
        if whole.run(root, &Vec::new(), add).await.is_ok() {
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
