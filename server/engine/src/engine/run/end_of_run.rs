//! The end of a run: the decision about the work after it, and its events.

use agentese::types::{AgentMessage, StopReason};

use super::driver::RunOutcome;
use super::lifecycle::drop_failed_answer;
use super::policy::RunSpan;
use crate::engine::policies::built_in::{BUILT_IN, NextAction, PolicyInput};
use crate::engine::policies::compaction::{context_tokens, counted_tokens};
use crate::engine::shared::Work;
use crate::engine::state::{EngineState, WorkPhase};
use crate::engine::{Event, FollowUpRun, RunSummary};
use crate::providers::ProviderErrorKind;
use crate::session::Session;

/// Error text if a conversation is too long even after a compaction.
const STILL_TOO_LONG: &str = "The conversation is too long for the model even after it was compacted.";

impl Work {
    /// Emits the end of a run, and the start of the work that follows it. Returns the decision about that work, and
    /// the error text of the run.
    pub(super) fn end_run(&mut self, outcome: &RunOutcome) -> (NextAction, String) {
        let mut state = self.shared.state();
        let number = self.end_guard.number;
        let error = outcome.failure.as_ref().map(|failure| failure.text.clone()).unwrap_or_default();
        let sink = &self.shared.sink;
        let own = self.built_in_decision(&state, outcome).filter(|_| !self.abort.is_cancelled());
        let policy = &self.shared.options.profile.retry;
        let will_retry = match own {
            Some(NextAction::Retry { .. }) => true,
            Some(NextAction::Compact { repeat_request: again, .. }) => {
                again && !policy.drops_answer_before_compaction
            }
            _ => false,
        };
        sink.push(Event::RunEnded { messages: &outcome.messages, will_retry });
        let decision = self.decide(own, &state, outcome);
        match &decision {
            NextAction::FollowUpRun(_) | NextAction::RunQueued => {}
            NextAction::Stop => self.end_work(&mut state),
            NextAction::RetriesExhausted { attempt } => {
                sink.push(Event::RetryEnded { success: false, attempt: *attempt, error: Some(&error) });
                self.end_work(&mut state);
            }
            NextAction::StillTooLong => {
                if self.attempt > 0 {
                    let attempt = self.attempt;
                    sink.push(Event::RetryEnded { success: false, attempt, error: Some(&error) });
                }
                sink.push(Event::CompactionEnded {
                    result: None,
                    aborted: false,
                    will_retry: false,
                    error: Some(STILL_TOO_LONG),
                });
                self.end_work(&mut state);
            }
            NextAction::Retry { attempt, pause } => {
                drop_failed_answer(&mut state);
                let limit = u64::from(state.retry.max_retries);
                sink.push(Event::RetryStarted { attempt: *attempt, limit, pause: *pause, error: &error });
                self.record_context_edits(&mut state);
                state.enter_phase(number, WorkPhase::RetryPause);
            }
            NextAction::Compact { repeat_request: again, .. } => {
                if *again && policy.drops_answer_before_compaction {
                    state.session.hide_last_answer();
                    self.record_context_edits(&mut state);
                }
                state.enter_phase(number, WorkPhase::Compacting);
            }
        }
        (decision, error)
    }

    /// Records the messages removed from the context, with events, if the profile enables it.
    fn record_context_edits(&self, state: &mut EngineState) {
        if self.shared.options.profile.retry.records_context_edits {
            for entry in state.session.record_hidden() {
                self.shared.sink.push(Event::EntryAppended(entry.as_str()));
            }
        }
    }

    /// Returns the run that a policy requests after a run.
    fn policy_run(&self, outcome: &RunOutcome, session: &Session) -> Option<FollowUpRun> {
        let answer = match outcome.answer.as_deref() {
            Some(AgentMessage::Assistant(answer)) => Some(answer),
            _ => None,
        };
        let summary = RunSummary { answer, messages: &outcome.messages, stopped: outcome.stopped, session };
        let shared = &self.shared;
        shared
            .options
            .post_run_policies
            .iter()
            .find_map(|policy| policy.after_run(&summary, shared.sink.as_ref()))
    }

    /// Decides about the work after a run. The agent's own policies decide first. Next come queued messages, then
    /// other policies. If a hook stopped the answer, other policies precede queued messages.
    fn decide(&self, own: Option<NextAction>, state: &EngineState, outcome: &RunOutcome) -> NextAction {
        if self.abort.is_cancelled() {
            return NextAction::Stop;
        }
        if own.is_some() || outcome.failure.is_some() {
            return own.unwrap_or(NextAction::Stop);
        }
        let queued = (state.queues.pending() > 0).then_some(NextAction::RunQueued);
        let others = || self.policy_run(outcome, &state.session).map(NextAction::FollowUpRun);
        let next = if outcome.stopped { others().or(queued) } else { queued.or_else(others) };
        next.unwrap_or(NextAction::Stop)
    }

    /// Returns the decision of the agent's own policies.
    fn built_in_decision(&self, state: &EngineState, outcome: &RunOutcome) -> Option<NextAction> {
        let Some(AgentMessage::Assistant(answer)) = outcome.answer.as_deref() else { return None };
        if answer.stop_reason == StopReason::Aborted {
            return None;
        }
        if outcome.failure.as_ref().is_some_and(|failure| failure.kind == ProviderErrorKind::Limit) {
            return (self.attempt > 0).then_some(NextAction::RetriesExhausted { attempt: self.attempt });
        }
        let ended = PolicyInput {
            answer,
            failure: outcome.failure.as_ref(),
            attempt: self.attempt,
            compacted_once: self.compacted_once,
            tokens: match outcome.failure {
                // A failure has no token count: only an answer since the last compaction has one.
                Some(_) => counted_tokens(&state.session).unwrap_or_default(),
                None => context_tokens(&state.session),
            },
            model: &outcome.model,
            policy: &self.shared.options.profile.retry,
        };
        // Another model may have a larger context, so the result of the previous model does not apply.
        let same = state
            .model
            .as_ref()
            .is_some_and(|model| model.id == outcome.model.id && model.provider == outcome.model.provider);
        match BUILT_IN.into_iter().find_map(|policy| policy(&ended, &state.retry, &state.compaction))? {
            NextAction::Compact { .. } | NextAction::StillTooLong if !same => {
                (self.attempt > 0).then_some(NextAction::RetriesExhausted { attempt: self.attempt })
            }
            decision => Some(decision),
        }
    }

    /// Ends the work: no automatic work follows.
    pub(super) fn end_work(&self, state: &mut EngineState) {
        state.end_work(self.end_guard.number);
        if self.shared.options.profile.run.span == RunSpan::UntilSettled {
            state.append_deferred();
        }
        let aborted = self.abort.is_cancelled() && self.shared.options.usage_tracker.reached().is_none();
        self.shared.sink.push(Event::Settled { aborted });
    }
}
