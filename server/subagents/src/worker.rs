//! The work of one subagent, from its start to the end of its verification.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use agentese::types::{
    AgentMessage, AssistantBlock, AttemptOutcome, FailurePolicy, VerificationResult, VerificationStatus,
};
use futures::FutureExt;

use super::assignment::{instructions, repair};
use super::call::Batch;
use super::child::{self, Ended};
use super::isolate::Worktree;
use super::outcome::{Label, Outcome, keep, no_usage, shown, sum, written};
use super::progress::{Status, intent};
use super::submit::{Submit, Submitted};
use super::verify::{Verifier, passed, skipped};
use crate::tools::{AgentsError, Child, ChildNews, Order, Parent};

/// Reason for a subagent that was not started.
const CANCELLED: &str = "The call was stopped before this subagent began.";
/// Reason for a stopped subagent.
const STOPPED: &str = "The operation was aborted.";

/// Reason for a subagent that failed because of a panic of the agent.
const PANICKED: &str = "The subagent failed inside the agent.";
/// Maximum waiting time for the changes of a stopped subagent.
const LAST_CHANGES: Duration = Duration::from_secs(1);

/// Emits the end of a subagent exactly once, also if its supervising task panics.
struct Announced<'a> {
    batch: &'a Batch,
    label: &'a Label,
    told: bool,
}

impl Announced<'_> {
    fn ended(mut self, exit_code: i64, verification: Option<&VerificationResult>) {
        self.tell(exit_code, verification);
    }

    fn tell(&mut self, exit_code: i64, verification: Option<&VerificationResult>) {
        self.told = true;
        let news = ChildNews::Ended { exit_code, verification };
        self.batch.agents.tell(&self.label.id, &self.label.agent, news);
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        if !self.told {
            self.tell(1, None);
        }
    }
}

/// Runs one subagent. A panic affects only this subagent.
pub async fn work(batch: &Batch, label: Label) -> Outcome {
    let lost = label.clone();
    let done = AssertUnwindSafe(within_room(batch, label)).catch_unwind().await;
    done.unwrap_or_else(|_| {
        tracing::error!(id = lost.id, "a subagent panicked");
        batch.progress.status(lost.index, Status::Failed, None, batch.agents.now_ms());
        Outcome::not_begun(lost, PANICKED.to_owned(), None)
    })
}

/// Runs one subagent within the limit of concurrent subagents.
async fn within_room(batch: &Batch, label: Label) -> Outcome {
    let abort = &batch.context.abort;
    let room = tokio::select! {
        biased;
        () = abort.cancelled() => None,
        room = batch.room.acquire() => room.ok(),
    };
    let parent = batch.agents.parent().filter(|_| room.is_some());
    let Some(parent) = parent else {
        return Outcome::not_begun(label, CANCELLED.to_owned(), Some(STOPPED.to_owned()));
    };
    let worktree = batch.lease.as_ref().map(|lease| lease.worktree(&label.id));
    let outcome = with_copy(batch, label, &parent, worktree.as_ref()).await;
    // A subagent that was started has removed its copy itself.
    if let (Some(lease), Some(worktree)) = (&batch.lease, worktree.filter(|_| outcome.usage.is_none())) {
        lease.discard(worktree);
    }
    outcome
}

/// Resolves when the call was stopped and the waiting time is over.
async fn overdue(batch: &Batch) {
    batch.context.abort.cancelled().await;
    batch.agents.sleep(LAST_CHANGES).await;
}

async fn with_copy(batch: &Batch, label: Label, parent: &Parent, worktree: Option<&Worktree>) -> Outcome {
    let begun = batch.agents.now_ms();
    let submit = Submit::of(batch.schema.clone());
    let door = batch.door.lock().await;
    let started = start(batch, &label, parent, worktree, &submit, false).await;
    drop(door);
    let child = match started {
        Ok(child) => child,
        Err(error) => {
            let reason =
                matches!(error, AgentsError::Budget(_)).then(|| AttemptOutcome::BudgetExceeded.to_string());
            return Outcome::not_begun(label, error.to_string(), reason);
        }
    };
    let told = label.clone();
    let announced = Announced { batch, label: &told, told: false };
    batch.progress.status(label.index, Status::Running, None, begun);
    let first = label.task.clone();
    let mut outcome = run(batch, label, &first, child, &submit, begun).await;
    outcome.isolated = worktree.is_some();
    let mut keeps_changes = outcome.succeeded();
    if let (Some(plan), Some(worktree)) = (&batch.plan, worktree) {
        let mut result = skipped(plan);
        if outcome.succeeded() {
            keeps_changes = verify(batch, parent, worktree, &told, &mut outcome, &mut result).await;
        }
        outcome.verification = Some(result);
    }
    if let (Some(lease), Some(worktree)) = (&batch.lease, worktree) {
        if keeps_changes {
            let file = batch.artifacts.join(format!("{}.patch", told.id));
            let written = tokio::select! {
                written = lease.patch(worktree, &file) => written,
                () = overdue(batch) => Err(STOPPED.to_owned()),
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
    batch.progress.status(told.index, status, outcome.submitted.as_ref(), batch.agents.now_ms());
    announced.ended(outcome.exit_code, outcome.verification.as_ref());
    outcome
}

/// Verifies the work of a subagent, with a repair if configured. Returns true if its changes stay.
async fn verify(
    batch: &Batch,
    parent: &Parent,
    worktree: &Worktree,
    told: &Label,
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
        id: &told.id,
        agent: &told.agent,
        cwd: &worktree.cwd,
        artifacts: &batch.artifacts,
        context: &batch.context,
        agents: batch.agents.as_ref(),
    };
    result.attempts.push(verifier.attempt(1).await);
    let repairs = plan.on_failure == FailurePolicy::RetryOnce && plan.max_retries > 0;
    if !passed(result) && repairs && !batch.context.abort.is_cancelled() {
        match mend(batch, parent, worktree, told, outcome, result).await {
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
async fn mend(
    batch: &Batch,
    parent: &Parent,
    worktree: &Worktree,
    told: &Label,
    outcome: &mut Outcome,
    result: &mut VerificationResult,
) -> Result<bool, String> {
    let lines = usize::try_from(batch.policy.settings.verification.failure_context_line_limit);
    let failed = result.attempts.last();
    let prompt =
        failed.map(|failed| repair(&told.task, failed, lines.unwrap_or(usize::MAX))).unwrap_or_default();
    let submit = Submit::of(batch.schema.clone());
    let label = Label { id: format!("{}-repair", told.id), task: prompt.clone(), ..told.clone() };
    let begun = batch.agents.now_ms();
    let child =
        start(batch, &label, parent, Some(worktree), &submit, true).await.map_err(|error| match error {
            AgentsError::Budget(_) => format!("{error}; repair skipped"),
            error => format!("The repair did not begin: {error}"),
        })?;
    result.retries_used = 1;
    let mut repaired = run(batch, label, &prompt, child, &submit, begun).await;
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
    submit: &Submit,
    resumes: bool,
) -> Result<Box<dyn Child>, AgentsError> {
    let definition = &batch.definition;
    let (progress, agents, index) = (batch.progress.clone(), batch.agents.clone(), label.index);
    let order = Order {
        id: label.id.clone(),
        agent: label.agent.clone(),
        instructions: instructions(definition, worktree.is_some()),
        tools: Some(child::tools(parent, definition, &batch.policies, batch.nested, worktree, submit)),
        model: definition.model.clone(),
        thinking: definition.thinking,
        cwd: worktree.map(|worktree| worktree.cwd.clone()),
        history: batch.histories.as_ref().map(|folder| folder.join(format!("{}.jsonl", label.id))),
        isolated: worktree.is_some(),
        resumes,
        watch: Some(Arc::new(move |step| progress.step(index, step, agents.now_ms()))),
    };
    batch.agents.start(order).await
}

/// Runs a started subagent and stores its result.
async fn run(
    batch: &Batch,
    label: Label,
    prompt: &str,
    child: Box<dyn Child>,
    submit: &Submit,
    begun: i64,
) -> Outcome {
    let ended = child::work(child.as_ref(), prompt, submit, &batch.context).await;
    drop(child);
    let mut outcome = Outcome::not_begun(label, String::new(), None);
    outcome.error = None;
    outcome.usage = Some(no_usage());
    outcome.duration_ms = batch.agents.now_ms().saturating_sub(begun);
    match ended {
        Ok(ended) => took(&mut outcome, ended),
        Err(error) => fail(&mut outcome, error),
    }
    let file = batch.artifacts.join(format!("{}.md", outcome.label.id));
    let (path, text) = (file.clone(), outcome.output.clone());
    match tokio::task::spawn_blocking(move || keep(&path, text.as_bytes())).await {
        Ok(Ok(())) => outcome.output_file = Some(file),
        failed => {
            tracing::warn!(?failed, file = %file.display(), "the output of a subagent could not be kept")
        }
    }
    (outcome.output, outcome.truncated) = shown(std::mem::take(&mut outcome.output));
    outcome
}

/// Records the submitted result and the usage of a subagent.
fn took(outcome: &mut Outcome, ended: Ended) {
    let Ended { answer, submitted, aborted, error } = ended;
    let answers = answer.messages.iter().filter_map(|message| match &**message {
        AgentMessage::Assistant(answer) => Some(answer),
        _ => None,
    });
    let usage = sum(answers.clone().map(|answer| &answer.usage));
    outcome.tokens = usage.total_tokens.unwrap_or_default();
    outcome.usage = Some(usage);
    let mut calls = answers.flat_map(|answer| &answer.content).filter_map(|block| match block {
        AssistantBlock::ToolCall(call) => intent(&call.arguments),
        _ => None,
    });
    outcome.last_intent = calls.next_back();
    match &submitted {
        Some(Submitted::Data(data)) => {
            outcome.exit_code = 0;
            outcome.output = serde_json::to_string_pretty(data).unwrap_or_default();
        }
        // The subagent ended successfully, as in pisces, but its changes are not applied.
        Some(Submitted::Error(reason)) => {
            outcome.exit_code = 0;
            outcome.output = format!("Not done: {reason}");
            outcome.abort_reason = Some(reason.clone());
        }
        None => outcome.output = written(&answer.messages),
    }
    outcome.submitted = submitted;
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
