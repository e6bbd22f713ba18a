//! Compaction of the conversation of an engine: the request to the model, and the replacement of entries by its
//! summary.

use std::sync::Arc;

use agentese::types::{CompactionReason, CompactionResult, Model, ThinkingLevel};
use tokio_util::sync::CancellationToken;

use super::branch::apply_remote_compaction;
use super::summary::{CompactionJob, Summary, summarize};
use super::{
    BranchEntry, ConversationSnapshot, IdleCompactionEvents, KeptAmount, context_tokens, estimate, plan,
    scale_to_estimate,
};
use crate::config::RetrySettings;
use crate::engine::Hooks as _;
use crate::engine::run::context_overflow::spawn_blocking_if;
use crate::engine::shared::WorkEndGuard;
use crate::engine::state::{WorkKind, WorkPhase};
use crate::engine::{CompactError, CompactionDecision, Engine, Event, Shared};
use crate::providers::Provider;

/// Time limit for a remote agent to end an aborted compaction.
const ABORT_GRACE: std::time::Duration = std::time::Duration::from_secs(4);
/// Reason for rejecting the summary of an extension.
const EMPTY_EXTENSION_SUMMARY: &str = "The summary from an extension is empty";

/// The data for the plan of a compaction, copied while the state was locked.
struct PlanInput {
    items: Vec<BranchEntry>,
    snapshot: ConversationSnapshot,
    keep: KeptAmount,
    /// `true` if `keep` counts tokens as the provider does; `false` if it counts estimated tokens.
    in_provider_tokens: bool,
    model: Model,
    provider: Arc<dyn Provider>,
    thinking: ThinkingLevel,
    reserve: u64,
    session: String,
    reason: CompactionReason,
    retry: RetrySettings,
}

impl Engine {
    /// Compacts the conversation now. `focus` names the subject that the summary should emphasise. A current run is
    /// aborted first, with its closing events. An abort stops the compaction. No events about the compaction are
    /// emitted.
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
        if self.shared.remote.is_some() {
            return self.compact_remote(focus).await;
        }
        let mut cut = false;
        loop {
            cut |= self.shared.state().phase() == Some(WorkPhase::Running);
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
                if cut && self.shared.options.profile.compaction.drops_interrupted_answer {
                    state.session.hide_aborted_answer();
                }
                let draft = plan_input(&self.shared, &mut state, CompactionReason::Manual, keep_recent)?;
                let working = state.start_work(WorkKind::Compaction, WorkPhase::Compacting);
                let (abort, end) = (working.abort.clone(), WorkEndGuard::new(self.shared.clone(), working));
                (draft, abort, end)
            };
            let job = draft.into_job().await?;
            let made = create_summary(&self.shared, &job, focus, &abort).await?;
            return apply_summary(&self.shared, job, made, &abort).await.ok_or(CompactError::Cancelled);
        }
    }
}

impl Engine {
    /// Compacts the conversation in the remote agent.
    async fn compact_remote(&self, focus: Option<&str>) -> Result<CompactionResult, CompactError> {
        self.abort().await;
        let (agent, abort, _end) = {
            let mut state = self.shared.state();
            if state.closing {
                return Err(CompactError::Closing);
            }
            let Some(remote) = &self.shared.remote else { return Err(CompactError::Cancelled) };
            let working = state.start_work(WorkKind::Compaction, WorkPhase::Compacting);
            (remote.agent.clone(), working.abort.clone(), WorkEndGuard::new(self.shared.clone(), working))
        };
        let made = tokio::select! {
            biased;
            made = agent.compact(focus) => made.map_err(CompactError::Failed)?,
            () = async {
                abort.cancelled().await;
                agent.abort().await;
                self.shared.options.clock.sleep(ABORT_GRACE).await;
            } => return Err(CompactError::Cancelled),
        };
        Ok(apply_remote_compaction(&mut self.shared.state().session, made))
    }
}

/// Compacts during the current work, and emits the events. Returns `true` if the conversation was compacted.
pub(in crate::engine) async fn auto_compact(
    shared: &Arc<Shared>,
    reason: &CompactionReason,
    will_retry: bool,
    abort: &CancellationToken,
) -> bool {
    let policy = &shared.options.profile.compaction;
    let draft = plan_input(shared, &mut shared.state(), reason.clone(), None);
    let job = match draft {
        Ok(draft) => draft.into_job().await,
        Err(error) => Err(error),
    };
    let idle = matches!(job, Err(CompactError::NothingToCompact(_) | CompactError::NoModel(_)));
    if idle && policy.idle_events == IdleCompactionEvents::Hidden {
        return false;
    }
    shared.sink.push(Event::CompactionStarted { reason });
    let result = match job {
        Err(error) => Err(error),
        Ok(job) => match create_summary(shared, &job, None, abort).await {
            Ok(made) => apply_summary(shared, job, made, abort).await.ok_or(CompactError::Cancelled),
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
    let limit = || shared.options.usage_tracker.reached();
    match &result {
        Ok(result) => end(Some(result), false, None),
        Err(CompactError::Cancelled) => match limit() {
            Some(reached) => end(None, false, Some(&format!("{prefix}: {reached}"))),
            None => end(None, true, None),
        },
        // As recorded from the agent.
        Err(CompactError::NothingToCompact(reason)) if policy.omits_reason(reason) => end(None, false, None),
        Err(error) => end(None, false, Some(&format!("{prefix}: {error}"))),
    }
    result.is_ok()
}

impl PlanInput {
    /// Plans the compaction. For that purpose, the messages are decoded.
    async fn into_job(self) -> Result<CompactionJob, CompactError> {
        let Self {
            items,
            snapshot,
            keep,
            in_provider_tokens,
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
                KeptAmount::AtLeast(wanted) if in_provider_tokens => {
                    KeptAmount::AtLeast(scale_to_estimate(wanted, &snapshot))
                }
                keep => keep,
            };
            plan(&items, || context_tokens(&snapshot), keep)
        };
        let plan = spawn_blocking_if(is_long, make).await?;
        Ok(CompactionJob { plan, model, provider, thinking, reserve, session, reason, retry })
    }
}

fn plan_input(
    shared: &Shared,
    state: &mut crate::engine::state::EngineState,
    reason: CompactionReason,
    keep_recent: Option<u64>,
) -> Result<PlanInput, CompactError> {
    let options = &shared.options;
    let no_model = || CompactError::NoModel(options.no_model_reason.clone());
    let model = state.model.clone().ok_or_else(no_model)?;
    options.catalog.ready(&model).map_err(|reason| CompactError::MissingKey(reason.to_string()))?;
    let provider = options.catalog.provider_of(&model).cloned().ok_or_else(no_model)?;
    let keep =
        keep_recent.map_or(KeptAmount::AtLeast(state.compaction.keep_recent_tokens), KeptAmount::AtMost);
    // The snapshot of a short conversation is decoded, and so are its items.
    let snapshot = ConversationSnapshot::of(&mut state.session);
    Ok(PlanInput {
        items: super::branch::branch_entries(&state.session),
        snapshot,
        keep,
        in_provider_tokens: options.profile.compaction.keeps_provider_tokens,
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
enum SummaryOrigin {
    Model(Summary),
    Extension(Box<CompactionResult>),
}

/// Returns the summary from a hook, or requests one from the model.
async fn create_summary(
    shared: &Shared,
    job: &CompactionJob,
    focus: Option<&str>,
    abort: &CancellationToken,
) -> Result<SummaryOrigin, CompactError> {
    let hooks = &shared.options.hooks;
    if hooks.handles_compaction() {
        let entries = super::branch::branch_json(&shared.state().session);
        let decision = tokio::select! {
            biased;
            () = abort.cancelled() => CompactionDecision::Cancelled,
            decision = hooks.before_compact(job.plan.to_public(), entries, focus) => decision,
        };
        match decision {
            CompactionDecision::Proceed => {}
            CompactionDecision::Cancelled => return Err(CompactError::Cancelled),
            CompactionDecision::Supplied(result) if result.summary.trim().is_empty() => {
                return Err(CompactError::Failed(EMPTY_EXTENSION_SUMMARY.to_owned()));
            }
            CompactionDecision::Supplied(result) => return Ok(SummaryOrigin::Extension(result)),
        }
    }
    summarize(shared, job, focus, abort).await.map(SummaryOrigin::Model)
}

/// Applies a summary to the session. Returns `None` if another session has replaced this one meanwhile. An abort
/// only ends the wait for the disk and the hooks; the compaction stays.
async fn apply_summary(
    shared: &Shared,
    job: CompactionJob,
    made: SummaryOrigin,
    abort: &CancellationToken,
) -> Option<CompactionResult> {
    let given = matches!(made, SummaryOrigin::Extension(_));
    let (result, entry) = {
        let mut state = shared.state();
        if state.session.id() != job.session {
            return None;
        }
        let mut result = match made {
            SummaryOrigin::Extension(result) => *result,
            SummaryOrigin::Model(Summary { text, usage }) => {
                let mut result = CompactionResult::new(text, &job.plan.first_kept, job.plan.tokens_before);
                result.usage = usage.filter(|_| shared.options.profile.answers.stores_provider_details);
                result.details = Some(job.plan.details()).into();
                result
            }
        };
        let entry = super::branch::apply_compaction(&mut state.session, &result, given);
        if shared.options.profile.answers.stores_provider_details {
            result.estimated_tokens_after = Some(estimate(state.session.messages_rev()));
        }
        (result, entry)
    };
    tokio::select! {
        biased;
        () = abort.cancelled() => {}
        () = shared.wait_until_written() => {}
    }
    if shared.options.hooks.handles_compaction() {
        tokio::select! {
            biased;
            () = abort.cancelled() => {}
            () = shared.options.hooks.compacted(entry, given) => {}
        }
    }
    Some(result)
}
