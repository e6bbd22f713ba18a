//! The work of a prompt, from its first event to its last: a run, and the work after it.
//!
//! ```text
//! work = [compaction] run { retry | compaction | queued messages | run of a policy  run }
//! ```
//!
//! The decision about further work is made, and the end of the run is emitted, while the state is locked. So the
//! state of the engine matches this decision when `RunEnded` is emitted.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use agentese::types::{AgentMessage, CompactionReason, StopReason};
use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use super::agent_loop::{AgentLoop, NO_MESSAGES};
use super::driver::{Run, RunOutcome};
use crate::engine::policies::built_in::NextAction;
use crate::engine::policies::compaction::{IdleCompactionEvents, counted_tokens, is_due};
use crate::engine::shared::{Work, WorkEndGuard};
use crate::engine::state::{ActiveWork, EngineState, WorkPhase};
use crate::engine::{Event, FollowUpRun, Shared};
use crate::providers::tokens;
use crate::session::Body;

/// Error text of a cancelled pause before a retry, as in pi 0.55.
const RETRY_CANCELLED: &str = "Retry cancelled";
/// Error text of work that failed inside the agent.
const WORK_PANICKED: &str = "Internal error in the agent.";
impl Work {
    pub fn new(shared: Arc<Shared>, working: &ActiveWork) -> Self {
        let end_guard = WorkEndGuard::new(shared.clone(), working);
        Self {
            shared,
            abort: working.abort.clone(),
            cancel_retry: working.cancel_retry.clone(),
            attempt: 0,
            compacted_once: false,
            end_guard,
        }
    }

    /// Starts the work as a task.
    pub fn start(self, run: Run) {
        let (shared, number) = (self.shared.clone(), self.end_guard.number);
        let task = tokio::spawn(self.drive_to_end(run)).abort_handle();
        if let Some(working) = shared.state().active_work(number) {
            working.task = Some(task);
        }
    }

    /// Hands the work over to the remote agent, which has received the input.
    pub fn start_remote(self, input: Vec<AgentMessage>) {
        let shared = self.shared.clone();
        shared.options.usage_tracker.start(shared.options.clock.now_ms());
        if let Some(remote) = &shared.remote {
            remote.accept_work(self, input);
        }
    }

    /// Drives the work. If a part of it panics, emits the end of the interrupted phase.
    async fn drive_to_end(mut self, run: Run) {
        let shared = self.shared.clone();
        let now = shared.options.clock.now_ms();
        shared.options.usage_tracker.start(now);
        shared.options.usage_tracker.start_run(now);
        let abort = self.abort.clone();
        let work = AssertUnwindSafe(shared.options.fairness.runs.share(self.drive(run))).catch_unwind();
        let done = tokio::select! {
            biased;
            done = work => done,
            never = emit_timed_notices(&shared) => match never {},
            never = enforce_time_limit(&shared, &abort) => match never {},
        };
        if done.is_ok() {
            return;
        }
        tracing::error!("internal error: the work of the agent panicked");
        self.shared.sink.push(Event::Recovered);
        let phase = self.shared.state().active_work(self.end_guard.number).map(|working| working.phase);
        self.shared.sink.push(match phase {
            Some(WorkPhase::Compacting) => Event::CompactionEnded {
                result: None,
                aborted: false,
                will_retry: false,
                error: Some(WORK_PANICKED),
            },
            Some(WorkPhase::RetryPause) => {
                Event::RetryEnded { success: false, attempt: self.attempt, error: Some(WORK_PANICKED) }
            }
            Some(WorkPhase::Running) | None => Event::RunEnded { messages: &[], will_retry: false },
        });
        self.shared.sink.push(Event::Settled { aborted: false });
    }

    async fn drive(&mut self, mut run: Run) {
        if self.needs_compaction() {
            // The result is ignored: the prompt was accepted. After an abort its run ends at once.
            self.compact(CompactionReason::Threshold, false).await;
        }
        self.enter_phase(WorkPhase::Running);
        loop {
            let outcome = run.drive(self.attempt).await;
            let Some(next) = self.continue_after(outcome).await else { return };
            run = next;
        }
    }

    /// Returns the number of the work, unique within the engine.
    pub fn number(&self) -> u64 {
        self.end_guard.number
    }

    /// Returns the token that stops the work.
    pub fn abort_token(&self) -> CancellationToken {
        self.abort.clone()
    }

    /// Returns the token that is cancelled when the work has ended.
    pub fn ended_token(&self) -> CancellationToken {
        self.end_guard.ended.clone()
    }

    fn enter_phase(&self, phase: WorkPhase) {
        self.shared.state().enter_phase(self.end_guard.number, phase);
    }

    /// Returns `true` if the conversation must be compacted before the next message. The last answer decides this,
    /// even if it was aborted. An answer that a compaction kept is ignored, because its counts describe the context
    /// before the compaction.
    fn needs_compaction(&self) -> bool {
        let state = self.shared.state();
        let Some(model) = &state.model else { return false };
        let session = &state.session;
        let is_answer = |message: &Arc<AgentMessage>| matches!(**message, AgentMessage::Assistant(_));
        let Some((later, message)) =
            session.messages_rev().enumerate().find(|(_, message)| is_answer(message))
        else {
            return false;
        };
        let AgentMessage::Assistant(answer) = &*message else { return false };
        let is_before = later >= session.message_count() - session.compacted_messages();
        // Directly after a compaction another one has nothing to do. pi 0.55 emits such a compaction, and so does this.
        let right_behind = || {
            self.shared.options.profile.compaction.idle_events != IdleCompactionEvents::Hidden
                && session.leaf().is_some_and(|leaf| matches!(leaf.body(), Body::Compaction(_)))
        };
        let tokens = match () {
            () if is_before && !right_behind() => None,
            () if answer.stop_reason == StopReason::Error => counted_tokens(session),
            () => Some(tokens(&answer.usage)),
        };
        tokens.is_some_and(|tokens| is_due(&state.compaction, tokens, model))
    }

    /// Ends a run, and starts the work after it. Returns the next run, if there is one.
    async fn continue_after(&mut self, outcome: RunOutcome) -> Option<Run> {
        self.attempt = outcome.attempt;
        if outcome.has_user_input {
            self.compacted_once = false;
        }
        let (decision, error) = self.end_run(&outcome);
        match decision {
            NextAction::RunQueued => self.start_queued_run(),
            NextAction::FollowUpRun(follow_up) => self.start_policy_run(follow_up),
            NextAction::Stop | NextAction::RetriesExhausted { .. } | NextAction::StillTooLong => None,
            NextAction::Retry { attempt, pause } => {
                self.attempt = attempt;
                self.pause(attempt, pause, &error).await
            }
            NextAction::Compact { reason, repeat_request } => {
                self.compacted_once |= repeat_request;
                let compacted = self.compact(reason.clone(), repeat_request).await;
                // The retry that led to the overflow ends with the answer after the compaction, or here.
                if !(repeat_request && compacted) && self.attempt > 0 {
                    let attempt = std::mem::take(&mut self.attempt);
                    self.shared.sink.push(Event::RetryEnded { success: false, attempt, error: Some(&error) });
                }
                if self.abort.is_cancelled() {
                    return self.lock_and_end_work(None);
                }
                if repeat_request && compacted {
                    let mut state = self.shared.state();
                    drop_failed_answer(&mut state);
                    return self.next_run(&mut state, AgentLoop::new(NO_MESSAGES));
                }
                match compacted.then(|| self.policy_run_after_compaction(&reason)).flatten() {
                    Some(follow_up) => self.start_policy_run(follow_up),
                    None => self.start_queued_run(),
                }
            }
        }
    }

    /// Returns the run that a policy requests after a compaction, unless messages are queued.
    fn policy_run_after_compaction(&self, reason: &CompactionReason) -> Option<FollowUpRun> {
        let shared = &self.shared;
        let state = shared.state();
        if state.queues.pending() > 0 {
            return None;
        }
        let mut policies = shared.options.post_run_policies.iter();
        policies.find_map(|policy| policy.after_compaction(reason, shared.sink.as_ref()))
    }

    /// Waits before a retry. Returns the run of the retry. Returns `None` if the retry was cancelled and no
    /// messages are queued.
    async fn pause(&mut self, attempt: u64, pause: Duration, error: &str) -> Option<Run> {
        tracing::info!(attempt, ?pause, error, "trying again after a pause");
        let gone_by = tokio::select! {
            biased;
            () = self.abort.cancelled() => false,
            () = self.cancel_retry.cancelled() => false,
            () = self.shared.options.clock.sleep(pause) => true,
        };
        let mut state = self.shared.state();
        if gone_by {
            return self.next_run(&mut state, AgentLoop::new(NO_MESSAGES));
        }
        let limit = self.shared.options.usage_tracker.reached().map(|reached| reached.to_string());
        let error = Some(limit.as_deref().unwrap_or(RETRY_CANCELLED));
        self.shared.sink.push(Event::RetryEnded { success: false, attempt, error });
        // A prompt that was accepted during the pause is not lost with the cancelled retry, unless all work is aborted.
        if !self.abort.is_cancelled() && state.queues.pending() > 0 {
            return self.next_run(&mut state, AgentLoop::with_queued());
        }
        self.end_work(&mut state);
        None
    }

    /// Starts a run that a policy requests.
    fn start_policy_run(&mut self, follow_up: FollowUpRun) -> Option<Run> {
        let mut state = self.shared.state();
        if follow_up.drops_answer && last_stop_reason(&state).is_some() {
            state.session.hide_last_answer();
        }
        for message in follow_up.silent_messages {
            state.session.append(Arc::new(message));
        }
        self.next_run(&mut state, AgentLoop::new(follow_up.messages))
    }

    /// Starts a run with the messages queued meanwhile, if there are any.
    fn start_queued_run(&mut self) -> Option<Run> {
        let mut state = self.shared.state();
        if state.queues.pending() == 0 {
            self.end_work(&mut state);
            return None;
        }
        self.next_run(&mut state, AgentLoop::with_queued())
    }

    fn lock_and_end_work(&self, run: Option<Run>) -> Option<Run> {
        self.end_work(&mut self.shared.state());
        run
    }

    /// Returns the next run, with the current model and thinking level. Without a model, ends the work and returns
    /// `None`.
    fn next_run(&self, state: &mut EngineState, steps: AgentLoop) -> Option<Run> {
        let run = Run::new(&self.shared, state, steps, self.abort.clone());
        match run {
            Some(_) => state.enter_phase(self.end_guard.number, WorkPhase::Running),
            None => self.end_work(state),
        }
        run
    }

    /// Compacts the conversation with its events. Returns `true` if it was compacted. An abort stops it.
    async fn compact(&self, reason: CompactionReason, will_retry: bool) -> bool {
        self.enter_phase(WorkPhase::Compacting);
        crate::engine::policies::compaction::execution::auto_compact(
            &self.shared,
            &reason,
            will_retry,
            &self.abort,
        )
        .await
    }
}

/// Emits the budget notices that become due because time elapses, as long as the work lasts.
async fn emit_timed_notices(shared: &Shared) -> std::convert::Infallible {
    let options = &shared.options;
    // The budget of the first agent covers its subagents, so it alone watches the time.
    while let Some(pause) =
        options.usage_tracker.until_due(options.clock.now_ms()).filter(|_| options.usage_tracker.is_root())
    {
        options.clock.sleep(pause).await;
        shared.emit_due_notices();
    }
    std::future::pending().await
}

/// Stops a run whose time has elapsed.
async fn enforce_time_limit(shared: &Shared, abort: &CancellationToken) -> std::convert::Infallible {
    let options = &shared.options;
    if let Some(remaining) = options.usage_tracker.until_end(options.clock.now_ms()) {
        options.clock.sleep(remaining).await;
        if !abort.is_cancelled() {
            options.usage_tracker.run_out_of_time();
            abort.cancel();
        }
    }
    std::future::pending().await
}

/// Removes the failed last answer from the context; the session file keeps it.
pub(in crate::engine) fn drop_failed_answer(state: &mut EngineState) {
    if last_stop_reason(state) == Some(StopReason::Error) {
        state.session.hide_last_answer();
    }
}

/// Returns the stop reason of the last answer; `None` if there is no answer.
fn last_stop_reason(state: &EngineState) -> Option<StopReason> {
    state.session.messages_rev().find_map(|message| match &*message {
        AgentMessage::Assistant(answer) => Some(answer.stop_reason),
        _ => None,
    })
}
