//! The work of one subagent, from its start to the end of its verification.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use agentese::types::{
    AgentMessage, AssistantBlock, AttemptOutcome, FailurePolicy, VerificationResult, VerificationStatus,
};
use futures::FutureExt;

use super::call::Batch;
use super::child::{self, RunResult};
use super::isolation::Worktree;
use super::outcome::{
    Label, Outcome, assistant_text, no_usage, sum_usage, truncated_for_model, write_private,
};
use super::progress::{Status, intent};
use super::prompts::{instructions, repair_prompt};
use super::submit::{Submission, SubmitTool};
use super::verification::{Verifier, passed, skipped};
use crate::tools::{Child, Parent, SpawnRequest, SubagentError, SubagentEvent};

/// Reason reported for a subagent that was not started, because the call was stopped before.
const CANCELLED: &str = "The call was stopped before this subagent started.";
/// Reason reported for a subagent that was stopped.
const STOPPED: &str = "The operation was aborted.";

/// Reason reported for a subagent whose task in this program panicked.
const PANICKED: &str = "The subagent failed inside the agent.";
/// Maximum time to wait for the changes of a stopped subagent.
const PATCH_TIMEOUT: Duration = Duration::from_secs(1);

/// Emits the event about the end of a subagent exactly once, even if the task that supervises it panics.
struct EndEventGuard<'a> {
    batch: &'a Batch,
    label: &'a Label,
    emitted: bool,
}

impl EndEventGuard<'_> {
    fn finish(mut self, exit_code: i64, verification: Option<&VerificationResult>) {
        self.emit(exit_code, verification);
    }

    fn emit(&mut self, exit_code: i64, verification: Option<&VerificationResult>) {
        self.emitted = true;
        let event = SubagentEvent::Ended { exit_code, verification };
        self.batch.agents.emit(&self.label.id, &self.label.agent, event);
    }
}

impl Drop for EndEventGuard<'_> {
    fn drop(&mut self) {
        if !self.emitted {
            self.emit(1, None);
        }
    }
}

/// Runs one subagent. A panic affects only this subagent.
pub async fn run_subagent(batch: &Batch, label: Label) -> Outcome {
    let lost = label.clone();
    let done = AssertUnwindSafe(run_in_slot(batch, label)).catch_unwind().await;
    done.unwrap_or_else(|_| {
        tracing::error!(id = lost.id, "a subagent panicked");
        batch.progress.status(lost.index, Status::Failed, None, batch.agents.now_ms());
        Outcome::not_started(lost, PANICKED.to_owned(), None)
    })
}

/// Waits for a free slot among the concurrent subagents, then runs a subagent.
async fn run_in_slot(batch: &Batch, label: Label) -> Outcome {
    let abort = &batch.context.abort;
    let slot = tokio::select! {
        biased;
        () = abort.cancelled() => None,
        room = batch.slots.acquire() => room.ok(),
    };
    let parent = batch.agents.parent().filter(|_| slot.is_some());
    let Some(parent) = parent else {
        return Outcome::not_started(label, CANCELLED.to_owned(), Some(STOPPED.to_owned()));
    };
    let worktree = batch.lease.as_ref().map(|lease| lease.worktree(&label.id));
    let outcome = run_in_worktree(batch, label, &parent, worktree.as_ref()).await;
    // A subagent that was started has removed its copy itself.
    if let (Some(lease), Some(worktree)) = (&batch.lease, worktree.filter(|_| outcome.usage.is_none())) {
        lease.discard(worktree);
    }
    outcome
}

/// Completes [`PATCH_TIMEOUT`] after the call was stopped.
async fn abort_deadline(batch: &Batch) {
    batch.context.abort.cancelled().await;
    batch.agents.sleep(PATCH_TIMEOUT).await;
}

async fn run_in_worktree(
    batch: &Batch,
    label: Label,
    parent: &Parent,
    worktree: Option<&Worktree>,
) -> Outcome {
    let started_ms = batch.agents.now_ms();
    let submit = SubmitTool::with_schema(batch.schema.clone());
    let start_guard = batch.start_lock.lock().await;
    let started = start(batch, &label, parent, worktree, &submit, false).await;
    drop(start_guard);
    let child = match started {
        Ok(child) => child,
        Err(error) => {
            let reason =
                matches!(error, SubagentError::Budget(_)).then(|| AttemptOutcome::BudgetExceeded.to_string());
            return Outcome::not_started(label, error.to_string(), reason);
        }
    };
    let event_label = label.clone();
    let announced = EndEventGuard { batch, label: &event_label, emitted: false };
    batch.progress.status(label.index, Status::Running, None, started_ms);
    let first = label.task.clone();
    let mut outcome = run(batch, label, &first, child, &submit, started_ms).await;
    outcome.isolated = worktree.is_some();
    let mut keeps_changes = outcome.succeeded();
    if let (Some(plan), Some(worktree)) = (&batch.plan, worktree) {
        let mut result = skipped(plan);
        if outcome.succeeded() {
            keeps_changes = verify(batch, parent, worktree, &event_label, &mut outcome, &mut result).await;
        }
        outcome.verification = Some(result);
    }
    if let (Some(lease), Some(worktree)) = (&batch.lease, worktree) {
        if keeps_changes {
            let file = batch.artifacts.join(format!("{}.patch", event_label.id));
            let written = tokio::select! {
                written = lease.patch(worktree, &file) => written,
                () = abort_deadline(batch) => Err(STOPPED.to_owned()),
            };
            match written {
                Ok(()) => outcome.patch = Some(file),
                Err(reason) => fail(&mut outcome, format!("The changes could not be read: {reason}")),
            }
        }
        lease.discard(worktree.clone());
    }
    let status = match &outcome {
        outcome if outcome.abort_reason.is_some() => Status::Aborted,
        outcome if outcome.succeeded() => Status::Completed,
        _ => Status::Failed,
    };
    batch.progress.status(event_label.index, status, outcome.submission.as_ref(), batch.agents.now_ms());
    announced.finish(outcome.exit_code, outcome.verification.as_ref());
    outcome
}

/// Verifies the work of a subagent. If the verification fails and repairs are configured, lets the subagent repair its
/// work. Returns true if the changes are kept.
async fn verify(
    batch: &Batch,
    parent: &Parent,
    worktree: &Worktree,
    label: &Label,
    outcome: &mut Outcome,
    result: &mut VerificationResult,
) -> bool {
    let Some(plan) = &batch.plan else { return true };
    if let Err(reason) = worktree.ready.clone().await {
        fail(outcome, format!("There is no copy of the repository: {reason}"));
        return false;
    }
    let verifier = Verifier {
        plan,
        id: &label.id,
        agent: &label.agent,
        cwd: &worktree.cwd,
        artifacts: &batch.artifacts,
        context: &batch.context,
        agents: batch.agents.as_ref(),
    };
    result.attempts.push(verifier.attempt(1).await);
    let repairs = plan.on_failure == FailurePolicy::RetryOnce && plan.max_retries > 0;
    if !passed(result) && repairs && !batch.context.abort.is_cancelled() {
        match repair_work(batch, parent, worktree, label, outcome, result).await {
            Ok(true) => result.attempts.push(verifier.attempt(2).await),
            Ok(false) => {}
            Err(error) => {
                result.status = VerificationStatus::Failed;
                fail(outcome, error);
                return false;
            }
        }
    }
    result.status = match passed(result) {
        true => VerificationStatus::Passed,
        false => VerificationStatus::Failed,
    };
    if result.status == VerificationStatus::Failed {
        let last = result.attempts.last().into_iter().flat_map(|attempt| &attempt.command_results);
        let failed = last.filter(|command| command.exit_code != 0 && command.optional != Some(true));
        let names: Vec<_> = failed.map(|command| command.name.as_str()).collect();
        fail(outcome, format!("Verification failed: {}", names.join(", ")));
        return plan.on_failure != FailurePolicy::DiscardPatch;
    }
    true
}

/// Lets a subagent repair its work after a failed verification. Returns true if it did its work; fails if it
/// may not start.
async fn repair_work(
    batch: &Batch,
    parent: &Parent,
    worktree: &Worktree,
    first_label: &Label,
    outcome: &mut Outcome,
    result: &mut VerificationResult,
) -> Result<bool, String> {
    let lines = usize::try_from(batch.policy.settings.verification.failure_context_line_limit);
    let failed = result.attempts.last();
    let prompt = failed
        .map(|failed| repair_prompt(&first_label.task, failed, lines.unwrap_or(usize::MAX)))
        .unwrap_or_default();
    let submit = SubmitTool::with_schema(batch.schema.clone());
    let label =
        Label { id: format!("{}-repair", first_label.id), task: prompt.clone(), ..first_label.clone() };
    let started_ms = batch.agents.now_ms();
    let child =
        start(batch, &label, parent, Some(worktree), &submit, true).await.map_err(|error| match error {
            SubagentError::Budget(_) => format!("{error}; repair skipped"),
            error => format!("The repair did not start: {error}"),
        })?;
    result.retries_used = 1;
    let mut repaired = run(batch, label, &prompt, child, &submit, started_ms).await;
    repaired.isolated = true;
    let did = repaired.succeeded();
    *outcome = repaired;
    Ok(did)
}

async fn start(
    batch: &Batch,
    label: &Label,
    parent: &Parent,
    worktree: Option<&Worktree>,
    submit: &SubmitTool,
    resumes: bool,
) -> Result<Box<dyn Child>, SubagentError> {
    let definition = &batch.definition;
    let (progress, agents, index) = (batch.progress.clone(), batch.agents.clone(), label.index);
    let order = SpawnRequest {
        id: label.id.clone(),
        agent: label.agent.clone(),
        instructions: instructions(definition, worktree.is_some()),
        tools: Some(child::tools(parent, definition, &batch.policies, batch.nested_tool, worktree, submit)),
        model: definition.model.clone(),
        thinking: definition.thinking,
        cwd: worktree.map(|worktree| worktree.cwd.clone()),
        history: batch.histories.as_ref().map(|folder| folder.join(format!("{}.jsonl", label.id))),
        isolated: worktree.is_some(),
        resumes,
        on_step: Some(Arc::new(move |step| progress.step(index, step, agents.now_ms()))),
    };
    batch.agents.start(order).await
}

/// Runs a subagent that was started, and stores its result in `outcome`.
async fn run(
    batch: &Batch,
    label: Label,
    prompt: &str,
    child: Box<dyn Child>,
    submit: &SubmitTool,
    started_ms: i64,
) -> Outcome {
    let ended = child::run_to_result(child.as_ref(), prompt, submit, &batch.context).await;
    drop(child);
    let mut outcome = Outcome::not_started(label, String::new(), None);
    outcome.error = None;
    outcome.usage = Some(no_usage());
    outcome.duration_ms = batch.agents.now_ms().saturating_sub(started_ms);
    match ended {
        Ok(ended) => record_result(&mut outcome, ended),
        Err(error) => fail(&mut outcome, error),
    }
    let file = batch.artifacts.join(format!("{}.md", outcome.label.id));
    let (path, text) = (file.clone(), outcome.output.clone());
    match tokio::task::spawn_blocking(move || write_private(&path, text.as_bytes())).await {
        Ok(Ok(())) => outcome.output_file = Some(file),
        failed => {
            tracing::warn!(?failed, file = %file.display(), "the output of a subagent could not be saved")
        }
    }
    (outcome.output, outcome.truncated) = truncated_for_model(std::mem::take(&mut outcome.output));
    outcome
}

/// Records the submission and the token usage of a subagent in `outcome`.
fn record_result(outcome: &mut Outcome, ended: RunResult) {
    let RunResult { answer, submission: submitted, aborted, error } = ended;
    let answers = answer.messages.iter().filter_map(|message| match &**message {
        AgentMessage::Assistant(answer) => Some(answer),
        _ => None,
    });
    let usage = sum_usage(answers.clone().map(|answer| &answer.usage));
    outcome.tokens = usage.total_tokens.unwrap_or_default();
    outcome.usage = Some(usage);
    let mut calls = answers.flat_map(|answer| &answer.content).filter_map(|block| match block {
        AssistantBlock::ToolCall(call) => intent(&call.arguments),
        _ => None,
    });
    outcome.last_intent = calls.next_back();
    match &submitted {
        Some(Submission::Data(data)) => {
            outcome.exit_code = 0;
            outcome.output = serde_json::to_string_pretty(data).unwrap_or_default();
        }
        // The subagent ended successfully, as in pisces, but its changes are not applied.
        Some(Submission::Error(reason)) => {
            outcome.exit_code = 0;
            outcome.output = format!("Not done: {reason}");
            outcome.abort_reason = Some(reason.clone());
        }
        None => outcome.output = assistant_text(&answer.messages),
    }
    outcome.submission = submitted;
    if aborted {
        outcome.abort_reason = Some(STOPPED.to_owned());
    }
    if let Some(error) = error {
        // The subagent stopped by itself if its model did not fail.
        if answer.error.is_none() {
            outcome.abort_reason = Some(error.clone());
        }
        outcome.error = Some(error);
    }
}

fn fail(outcome: &mut Outcome, error: String) {
    outcome.exit_code = 1;
    outcome.error = Some(error);
}
