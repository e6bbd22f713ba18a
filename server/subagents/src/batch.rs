//! The work of one call: runs the subagents concurrently, then applies their changes.

use super::call::Batch;
use super::isolation::{Commit, MergeResult, WorktreeLease};
use super::outcome::{Label, Outcome};
use super::worker;
use crate::config::MergeMode;

/// Outcome of applying the changes of a call.
#[derive(Debug, PartialEq, Eq)]
pub enum Changes {
    /// No subagent worked in a copy.
    None,
    /// The changes were applied. The flag is true if there were any.
    Applied(bool),
    /// The changes were not applied, with the reason.
    NotApplied(String),
    /// Branches were merged; some of them may have failed to merge.
    Merged(MergeResult),
}

impl Batch {
    /// Runs the subagents, and applies their changes to the user's files. Returns the result of each, and the outcome
    /// for the changes.
    pub async fn run(mut self, labels: Vec<Label>) -> (Vec<Outcome>, Changes) {
        let mut outcomes =
            futures::future::join_all(labels.into_iter().map(|label| worker::run_subagent(&self, label)))
                .await;
        let Some(mut lease) = self.lease.take() else { return (outcomes, Changes::None) };
        let changes = self.merge_changes(&mut lease, &mut outcomes).await;
        lease.end().await;
        (outcomes, changes)
    }

    /// Applies the changes of the subagents to the user's files. After an abort of the call, nothing is applied.
    /// Patches are applied only if all subagents succeeded. Branches are merged for each subagent that succeeded.
    async fn merge_changes(&self, lease: &mut WorktreeLease, outcomes: &mut [Outcome]) -> Changes {
        if self.context.abort.is_cancelled() {
            return Changes::NotApplied("the call was stopped".to_owned());
        }
        match self.policy.settings.merge {
            MergeMode::Patch => {
                if !outcomes.iter().all(|outcome| outcome.completed_work() && outcome.patch.is_some()) {
                    return Changes::NotApplied("not all subagents completed their work".to_owned());
                }
                let patches: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.patch.clone()).collect();
                lease.apply(&patches).await.map_or_else(Changes::NotApplied, Changes::Applied)
            }
            MergeMode::Branch => {
                let of_each = outcomes.iter_mut().filter_map(|outcome| Some((commit(outcome)?, outcome)));
                let (mut commits, outcomes): (Vec<_>, Vec<_>) = of_each.unzip();
                if commits.is_empty() {
                    return Changes::NotApplied("no subagent completed its work".to_owned());
                }
                match lease.merge(&mut commits).await {
                    Ok(merged) => {
                        for (outcome, Commit { branch, .. }) in outcomes.into_iter().zip(commits) {
                            outcome.branch = Some(branch).filter(|branch| merged.merged.contains(branch));
                        }
                        Changes::Merged(merged)
                    }
                    Err(reason) => Changes::NotApplied(reason),
                }
            }
        }
    }
}

fn commit(outcome: &Outcome) -> Option<Commit> {
    let patch = outcome.patch.clone().filter(|_| outcome.completed_work())?;
    let id = &outcome.label.first_id;
    let title = outcome.label.item.description.lines().next().unwrap_or_default().trim();
    let message = if title.is_empty() { id.clone() } else { format!("{title} ({id})") };
    Some(Commit { branch: format!("omp/task/{id}"), message, patch })
}
