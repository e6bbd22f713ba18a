//! Compaction of the conversation of an engine: the request to the model, and the replacement of entries by its
//! summary.

use std::sync::Arc;

use agentese::types::{CompactionReason, CompactionResult, Model, ThinkingLevel};
use tokio_util::sync::CancellationToken;

use super::Hooks as _;
use super::branch::keep_compaction;
use super::compaction::{Item, Keep, Snapshot, context_tokens, estimate, kept_by_count, plan};
use super::overflow::beside;
use super::shared::End;
use super::state::{Kind, Phase};
use super::summary::{Job, Summary, summarize};
use super::{CompactError, Compacting, Engine, Event, Shared};
use crate::config::RetrySettings;
use crate::providers::Provider;

/// Time limit for a remote agent to end an aborted compaction.
const GRACE: std::time::Duration = std::time::Duration::from_secs(4);
/// Reason for rejecting the summary of an extension.
const EMPTY_GIVEN: &str = "The summary that an extension gave is empty";

/// Input of the plan of a compaction, taken from the state in one moment.
struct Draft {
    items: Vec<Item>,
    snapshot: Snapshot,
    keep: Keep,
    /// `true` if `keep` is in tokens as the provider counts them.
    by_count: bool,
    model: Model,
    provider: Arc<dyn Provider>,
    thinking: ThinkingLevel,
    reserve: u64,
    session: String,
    reason: CompactionReason,
    retry: RetrySettings,
}

impl Engine {
    /// Compacts the conversation now. `focus` names the subject for the summary. A running run is aborted first, with
    /// its closing events. Emits no events of its own. An abort stops the compaction.
    pub async fn compact(&self, focus: Option<&str>) -> Result<CompactionResult, CompactError> {
        self.compact_to(focus, None).await
    }

    /// Works like [`Engine::compact`]. `keep_recent` replaces the setting for the maximum number of tokens of the
    /// newest messages that are kept.
    pub async fn compact_to(
        &self,
        focus: Option<&str>,
        keep_recent: Option<u64>,
    ) -> Result<CompactionResult, CompactError> {
        if self.shared.led.is_some() {
            return self.compact_there(focus).await;
        }
        let mut cut = false;
        loop {
            cut |= self.shared.state().phase() == Some(Phase::Running);
            self.abort().await;
            let (draft, abort, _end) = {
                let mut state = self.shared.state();
                if state.closing {
                    return Err(CompactError::Closing);
                }
                // Another prompt may have started meanwhile.
                if state.work.is_some() {
                    continue;
                }
                if cut && self.shared.options.customs.compaction_drops_cut_answer {
                    state.session.forget_cut_answer();
                }
                let draft = draft(&self.shared, &mut state, CompactionReason::Manual, keep_recent)?;
                let working = state.begin(Kind::Compaction, Phase::Compacting);
                let (abort, end) = (working.abort.clone(), End::new(self.shared.clone(), working));
                (draft, abort, end)
            };
            let job = draft.planned().await?;
            let made = make(&self.shared, &job, focus, &abort).await?;
            return apply(&self.shared, job, made, &abort).await.ok_or(CompactError::Cancelled);
        }
    }
}

impl Engine {
    /// Compacts the conversation in the remote agent.
    async fn compact_there(&self, focus: Option<&str>) -> Result<CompactionResult, CompactError> {
        self.abort().await;
        let (lead, abort, _end) = {
            let mut state = self.shared.state();
            if state.closing {
                return Err(CompactError::Closing);
            }
            let Some(led) = &self.shared.led else { return Err(CompactError::Cancelled) };
            let working = state.begin(Kind::Compaction, Phase::Compacting);
            (led.lead.clone(), working.abort.clone(), End::new(self.shared.clone(), working))
        };
        let made = tokio::select! {
            biased;
            made = lead.compact(focus) => made.map_err(CompactError::Failed)?,
            () = async {
                abort.cancelled().await;
                lead.abort().await;
                self.shared.options.clock.sleep(GRACE).await;
            } => return Err(CompactError::Cancelled),
        };
        Ok(keep_compaction(&mut self.shared.state().session, made))
    }
}

/// Compacts during the current work, and emits the events. Returns `true` if the conversation was compacted.
pub(super) async fn compact_on_its_own(
    shared: &Arc<Shared>,
    reason: &CompactionReason,
    will_retry: bool,
    abort: &CancellationToken,
) -> bool {
    let draft = draft(shared, &mut shared.state(), reason.clone(), None);
    let job = match draft {
        Ok(draft) => draft.planned().await,
        Err(error) => Err(error),
    };
    let idle = matches!(job, Err(CompactError::Nothing(_) | CompactError::NoModel(_)));
    if idle && !shared.options.customs.tells_of_idle_compactions {
        return false;
    }
    shared.sink.push(Event::CompactionStarted { reason });
    let result = match job {
        Err(error) => Err(error),
        Ok(job) => match make(shared, &job, None, abort).await {
            Ok(made) => apply(shared, job, made, abort).await.ok_or(CompactError::Cancelled),
            Err(error) => Err(error),
        },
    };
    let prefix = match reason {
        CompactionReason::Overflow => "Context overflow recovery failed",
        _ => "Auto-compaction failed",
    };
    let end = |result, aborted, error: Option<&str>| {
        let will_retry = will_retry && Option::is_some(&result);
        shared.sink.push(Event::CompactionEnded { result, aborted, will_retry, error });
    };
    let limit = || shared.options.ledger.reached();
    match &result {
        Ok(result) => end(Some(result), false, None),
        Err(CompactError::Cancelled) => match limit() {
            Some(reached) => end(None, false, Some(&format!("{prefix}: {reached}"))),
            None => end(None, true, None),
        },
        // As recorded from the agent.
        Err(CompactError::Nothing(reason)) if shared.options.customs.gives_no_reason(reason) => {
            end(None, false, None)
        }
        Err(error) => end(None, false, Some(&format!("{prefix}: {error}"))),
    }
    result.is_ok()
}

impl Draft {
    /// Makes the plan, which decodes messages.
    async fn planned(self) -> Result<Job, CompactError> {
        let Self {
            items,
            snapshot,
            keep,
            by_count,
            model,
            provider,
            thinking,
            reserve,
            session,
            reason,
            retry,
        } = self;
        let is_long = snapshot.is_long();
        let make = move || {
            let keep = match keep {
                Keep::Around(wanted) if by_count => Keep::Around(kept_by_count(wanted, &snapshot)),
                keep => keep,
            };
            plan(&items, || context_tokens(&snapshot), keep)
        };
        let plan = beside(is_long, make).await?;
        Ok(Job { plan, model, provider, thinking, reserve, session, reason, retry })
    }
}

fn draft(
    shared: &Shared,
    state: &mut super::state::State,
    reason: CompactionReason,
    keep_recent: Option<u64>,
) -> Result<Draft, CompactError> {
    let options = &shared.options;
    let no_model = || CompactError::NoModel(options.no_model.clone());
    let model = state.model.clone().ok_or_else(no_model)?;
    options.catalog.ready(&model).map_err(|reason| CompactError::NotReady(reason.to_string()))?;
    let provider = options.catalog.provider_of(&model).cloned().ok_or_else(no_model)?;
    let keep = keep_recent.map_or(Keep::Around(state.compaction.keep_recent_tokens), Keep::Within);
    // The snapshot of a short conversation is decoded, and so are its items.
    let snapshot = Snapshot::of(&mut state.session);
    Ok(Draft {
        items: super::branch::items(&state.session),
        snapshot,
        keep,
        by_count: options.customs.keeps_by_count,
        thinking: options.catalog.nearest_level(&model, ThinkingLevel::High),
        model,
        provider,
        reserve: state.compaction.reserve_tokens,
        session: state.session.id().to_owned(),
        reason,
        retry: state.retry,
    })
}

/// A summary and its source.
enum Made {
    Summary(Summary),
    Given(Box<CompactionResult>),
}

/// Calls the hooks, then requests a summary from the model.
async fn make(
    shared: &Shared,
    job: &Job,
    focus: Option<&str>,
    abort: &CancellationToken,
) -> Result<Made, CompactError> {
    let hooks = &shared.options.hooks;
    if hooks.minds_compaction() {
        let entries = super::branch::entries(&shared.state().session);
        let said = tokio::select! {
            biased;
            () = abort.cancelled() => Compacting::Cancelled,
            said = hooks.before_compact(job.plan.public(), entries, focus) => said,
        };
        match said {
            Compacting::Usual => {}
            Compacting::Cancelled => return Err(CompactError::Cancelled),
            Compacting::Given(result) if result.summary.trim().is_empty() => {
                return Err(CompactError::Failed(EMPTY_GIVEN.to_owned()));
            }
            Compacting::Given(result) => return Ok(Made::Given(result)),
        }
    }
    summarize(shared, job, focus, abort).await.map(Made::Summary)
}

/// Applies a summary to the session. Returns `None` if another session has replaced it meanwhile. An abort does not
/// revert the compaction; it ends the wait for the disk and the hooks.
async fn apply(shared: &Shared, job: Job, made: Made, abort: &CancellationToken) -> Option<CompactionResult> {
    let given = matches!(made, Made::Given(_));
    let (result, entry) = {
        let mut state = shared.state();
        if state.session.id() != job.session {
            return None;
        }
        let mut result = match made {
            Made::Given(result) => *result,
            Made::Summary(Summary { text, usage }) => {
                let mut result = CompactionResult::new(text, &job.plan.first_kept, job.plan.tokens_before);
                result.usage = usage.filter(|_| shared.options.customs.keeps_details);
                result.details = Some(job.plan.details()).into();
                result
            }
        };
        let entry = super::branch::compacted(&mut state.session, &result, given);
        if shared.options.customs.keeps_details {
            result.estimated_tokens_after = Some(estimate(state.session.messages_back()));
        }
        (result, entry)
    };
    tokio::select! {
        biased;
        () = abort.cancelled() => {}
        () = shared.written() => {}
    }
    if shared.options.hooks.minds_compaction() {
        tokio::select! {
            biased;
            () = abort.cancelled() => {}
            () = shared.options.hooks.compacted(entry, given) => {}
        }
    }
    Some(result)
}
