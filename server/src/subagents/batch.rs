//! The work of one call: subagents side by side, then their changes.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{Mutex, Semaphore};

use super::definition::Definition;
use super::isolate::{Commit, Lease, Merged};
use super::outcome::{Label, Outcome};
use super::policy::{Policies, Policy};
use super::progress::Progress;
use super::verify::Plan;
use super::worker;
use crate::config::MergeMode;
use crate::tools::{Agents, ToolContext};

/// What the subagents of one call have in common.
pub struct Batch {
    pub context: ToolContext,
    pub agents: Arc<dyn Agents>,
    pub policies: Policies,
    pub policy: Arc<Policy>,
    pub definition: Definition,
    /// The form of their results.
    pub schema: Option<Value>,
    /// How isolated work is verified.
    pub plan: Option<Plan>,
    /// Where they work, where they do so in copies.
    pub lease: Option<Lease>,
    /// How many work at once.
    pub room: Semaphore,
    /// They begin one after another, in the order of the tasks.
    pub door: Mutex<()>,
    pub progress: Arc<Progress>,
    /// Where outputs, patches and the like are kept.
    pub artifacts: PathBuf,
    /// Where their conversations are kept, where they are.
    pub histories: Option<PathBuf>,
}

/// What became of the changes of a call.
#[derive(Debug, PartialEq, Eq)]
pub enum Changes {
    /// There were no copies.
    None,
    /// They are there. Says whether there were any.
    Applied(bool),
    /// They are not, for that reason.
    Kept(String),
    /// Branches, and those that could not be merged.
    Merged(Merged),
}

impl Batch {
    /// Lets the subagents work, and brings their changes back.
    pub async fn run(mut self, labels: Vec<Label>) -> (Vec<Outcome>, Changes) {
        let mut outcomes =
            futures::future::join_all(labels.into_iter().map(|label| worker::work(&self, label))).await;
        let Some(mut lease) = self.lease.take() else { return (outcomes, Changes::None) };
        let changes = self.bring_back(&mut lease, &mut outcomes).await;
        lease.end().await;
        (outcomes, changes)
    }

    /// Nothing of a call that was stopped comes back, nor of one who said that the work could not be done. Patches come back where all subagents did their work, branches of
    /// those that did.
    async fn bring_back(&self, lease: &mut Lease, outcomes: &mut [Outcome]) -> Changes {
        if self.context.abort.is_cancelled() {
            return Changes::Kept("the call was stopped".to_owned());
        }
        match self.policy.settings.merge {
            MergeMode::Patch => {
                if !outcomes.iter().all(|outcome| outcome.did_its_work() && outcome.patch.is_some()) {
                    return Changes::Kept("not every subagent did its work".to_owned());
                }
                let patches: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.patch.clone()).collect();
                lease.apply(&patches).await.map_or_else(Changes::Kept, Changes::Applied)
            }
            MergeMode::Branch => {
                let of_each = outcomes.iter_mut().filter_map(|outcome| Some((commit(outcome)?, outcome)));
                let (mut commits, outcomes): (Vec<_>, Vec<_>) = of_each.unzip();
                if commits.is_empty() {
                    return Changes::Kept("no subagent did its work".to_owned());
                }
                match lease.merge(&mut commits).await {
                    Ok(merged) => {
                        for (outcome, Commit { branch, .. }) in outcomes.into_iter().zip(commits) {
                            outcome.branch = Some(branch).filter(|branch| merged.merged.contains(branch));
                        }
                        Changes::Merged(merged)
                    }
                    Err(reason) => Changes::Kept(reason),
                }
            }
        }
    }
}

fn commit(outcome: &Outcome) -> Option<Commit> {
    let patch = outcome.patch.clone().filter(|_| outcome.did_its_work())?;
    let id = &outcome.label.first_id;
    let title = outcome.label.item.description.lines().next().unwrap_or_default().trim();
    let message = if title.is_empty() { id.clone() } else { format!("{title} ({id})") };
    Some(Commit { branch: format!("omp/task/{id}"), message, patch })
}
