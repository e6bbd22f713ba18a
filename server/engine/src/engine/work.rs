//! The work of a prompt, from its first event to its last: a run, and the work after it.
//!
//! ```text
//! work = [compaction] run { retry | compaction | queued messages | run of a policy  run }
//! ```
//!
//! The end of a run is emitted, and the decision about further work made, in one moment under the lock of the state.
//! When `RunEnded` is emitted, the engine has the state that belongs to it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use agentese::types::{AgentMessage, CompactionReason, StopReason};
use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use super::agent_loop::{AgentLoop, NOBODY};
use super::compaction::{context_tokens, counted_tokens, is_due};
use super::retry::{Ended, OWN, Then};
use super::run::{Outcome, Run};
use super::shared::{End, Work};
use super::state::{Phase, State, Working};
use super::{Event, GoOn, RunOver, Shared};
use crate::providers::{FailureKind, tokens};
use crate::session::{Body, Session};

/// Error text of a cancelled pause before a retry, as in pi 0.55.
const RETRY_CANCELLED: &str = "Retry cancelled";
/// Error text of work that failed inside the agent.
const PANICKED: &str = "Internal error in the agent.";
/// Error text if a conversation is too long even after a compaction.
const STILL_TOO_LONG: &str = "The conversation is too long for the model even after it was compacted.";

impl Work {
    pub fn new(shared: Arc<Shared>, working: &Working) -> Self {
        let end = End::new(shared.clone(), working);
        Self {
            shared,
            abort: working.abort.clone(),
            give_up: working.give_up.clone(),
            attempt: 0,
            made_room: false,
            end,
        }
    }

    /// Starts the work as a task.
    pub fn start(self, run: Run) {
        let (shared, number) = (self.shared.clone(), self.end.number);
        let task = tokio::spawn(self.drive_to_the_end(run)).abort_handle();
        if let Some(working) = shared.state().working(number) {
            working.task = Some(task);
        }
    }

    /// Leaves the work to the remote agent, which has received the input.
    pub fn start_led(self, said: Vec<AgentMessage>) {
        let shared = self.shared.clone();
        shared.options.ledger.begin(shared.options.clock.now_ms());
        if let Some(led) = &shared.led {
            led.begin(self, said);
        }
    }

    /// Drives the work. If a part of it panics, emits the end of the interrupted phase.
    async fn drive_to_the_end(mut self, run: Run) {
        let shared = self.shared.clone();
        let now = shared.options.clock.now_ms();
        shared.options.ledger.begin(now);
        shared.options.ledger.begin_run(now);
        let abort = self.abort.clone();
        let work = AssertUnwindSafe(shared.options.fairness.share(self.drive(run))).catch_unwind();
        let done = tokio::select! {
            biased;
            done = work => done,
            never = watch_time(&shared) => match never {},
            never = end_in_time(&shared, &abort) => match never {},
        };
        if done.is_ok() {
            return;
        }
        tracing::error!("the work failed inside the agent");
        self.shared.sink.push(Event::Recovered);
        let phase = self.shared.state().working(self.end.number).map(|working| working.phase);
        self.shared.sink.push(match phase {
            Some(Phase::Compacting) => Event::CompactionEnded {
                result: None,
                aborted: false,
                will_retry: false,
                error: Some(PANICKED),
            },
            Some(Phase::Waiting) => {
                Event::RetryEnded { success: false, attempt: self.attempt, error: Some(PANICKED) }
            }
            Some(Phase::Running) | None => Event::RunEnded { messages: &[], will_retry: false },
        });
        self.shared.sink.push(Event::Settled { aborted: false });
    }

    async fn drive(&mut self, mut run: Run) {
        if self.is_full() {
            // The result is ignored: the prompt was accepted. After an abort its run ends at once.
            self.compact(CompactionReason::Threshold, false).await;
        }
        self.enter(Phase::Running);
        loop {
            let outcome = run.drive(self.attempt).await;
            let Some(next) = self.follow(outcome).await else { return };
            run = next;
        }
    }

    /// Returns the number of the work, unique within the engine.
    pub fn number(&self) -> u64 {
        self.end.number
    }

    /// Returns the token that stops the work.
    pub fn aborted(&self) -> CancellationToken {
        self.abort.clone()
    }

    /// Returns the token that is cancelled when the work has ended.
    pub fn ended(&self) -> CancellationToken {
        self.end.ended.clone()
    }

    fn enter(&self, phase: Phase) {
        self.shared.state().enter(self.end.number, phase);
    }

    /// Returns `true` if the conversation must be compacted before the next message. Aborted answers are included. An
    /// answer that a compaction kept is ignored, because its counts are of the context before.
    fn is_full(&self) -> bool {
        let state = self.shared.state();
        let Some(model) = &state.model else { return false };
        let session = &state.session;
        let is_answer = |message: &Arc<AgentMessage>| matches!(**message, AgentMessage::Assistant(_));
        let Some((later, message)) =
            session.messages_back().enumerate().find(|(_, message)| is_answer(message))
        else {
            return false;
        };
        let AgentMessage::Assistant(answer) = &*message else { return false };
        let is_before = later >= session.message_count() - session.compacted_messages();
        // Directly after a compaction another one has nothing to do. pi 0.55 emits such a compaction, and so does this.
        let right_behind = || {
            self.shared.options.customs.tells_of_idle_compactions
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
    async fn follow(&mut self, outcome: Outcome) -> Option<Run> {
        self.attempt = outcome.attempt;
        if outcome.user_spoke {
            self.made_room = false;
        }
        let (decision, error) = self.end_run(&outcome);
        match decision {
            Then::Queued => self.go_on_with_what_waits(),
            Then::GoOn(go_on) => self.go_on(go_on),
            Then::Rest | Then::GiveUp { .. } | Then::StillTooLong => None,
            Then::Retry { attempt, pause } => {
                self.attempt = attempt;
                self.pause(attempt, pause, &error).await
            }
            Then::Compact { reason, again } => {
                self.made_room |= again;
                let compacted = self.compact(reason.clone(), again).await;
                // The retry that led to the overflow ends with the answer after the compaction, or here.
                if !(again && compacted) && self.attempt > 0 {
                    let attempt = std::mem::take(&mut self.attempt);
                    self.shared.sink.push(Event::RetryEnded { success: false, attempt, error: Some(&error) });
                }
                if self.abort.is_cancelled() {
                    return self.rest(None);
                }
                if again && compacted {
                    let mut state = self.shared.state();
                    forget_failed_answer(&mut state);
                    return self.next_run(&mut state, AgentLoop::new(NOBODY));
                }
                match compacted.then(|| self.after_compaction(&reason)).flatten() {
                    Some(go_on) => self.go_on(go_on),
                    None => self.go_on_with_what_waits(),
                }
            }
        }
    }

    /// Emits the end of a run and the start of the work after it. Returns the decision, and the text of the failure.
    fn end_run(&mut self, outcome: &Outcome) -> (Then, String) {
        let mut state = self.shared.state();
        let number = self.end.number;
        let error = outcome.failure.as_ref().map(|failure| failure.text.clone()).unwrap_or_default();
        let sink = &self.shared.sink;
        let own = self.own(&state, outcome).filter(|_| !self.abort.is_cancelled());
        let customs = &self.shared.options.customs;
        let will_retry = match own {
            Some(Then::Retry { .. }) => true,
            Some(Then::Compact { again, .. }) => again && !customs.takes_back_first,
            _ => false,
        };
        sink.push(Event::RunEnded { messages: &outcome.messages, will_retry });
        let decision = self.decide(own, &state, outcome);
        match &decision {
            Then::GoOn(_) | Then::Queued => {}
            Then::Rest => self.over(&mut state),
            Then::GiveUp { attempt } => {
                sink.push(Event::RetryEnded { success: false, attempt: *attempt, error: Some(&error) });
                self.over(&mut state);
            }
            Then::StillTooLong => {
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
                self.over(&mut state);
            }
            Then::Retry { attempt, pause } => {
                forget_failed_answer(&mut state);
                let limit = u64::from(state.retry.max_retries);
                sink.push(Event::RetryStarted { attempt: *attempt, limit, pause: *pause, error: &error });
                self.note_edits(&mut state);
                state.enter(number, Phase::Waiting);
            }
            Then::Compact { again, .. } => {
                if *again && customs.takes_back_first {
                    state.session.forget_last_answer();
                    self.note_edits(&mut state);
                }
                state.enter(number, Phase::Compacting);
            }
        }
        (decision, error)
    }

    /// Records the messages removed from the context, with events, if the customs enable it.
    fn note_edits(&self, state: &mut State) {
        if self.shared.options.customs.notes_edits {
            for entry in state.session.note_edits() {
                self.shared.sink.push(Event::Entered(entry.as_str()));
            }
        }
    }

    /// Returns the run that a policy requests after a run.
    fn afterwards(&self, outcome: &Outcome, session: &Session) -> Option<GoOn> {
        let answer = match outcome.answer.as_deref() {
            Some(AgentMessage::Assistant(answer)) => Some(answer),
            _ => None,
        };
        let over = RunOver { answer, messages: &outcome.messages, stopped: outcome.stopped, session };
        let shared = &self.shared;
        shared.options.afterwards.iter().find_map(|policy| policy.after(&over, shared.sink.as_ref()))
    }

    /// Returns the run that a policy requests after a compaction, unless messages are queued.
    fn after_compaction(&self, reason: &CompactionReason) -> Option<GoOn> {
        let shared = &self.shared;
        let state = shared.state();
        if state.queues.pending() > 0 {
            return None;
        }
        let mut policies = shared.options.afterwards.iter();
        policies.find_map(|policy| policy.after_compaction(reason, shared.sink.as_ref()))
    }

    /// Decides about the work after a run; the first request wins. The agent's own policies come first, then queued
    /// messages, then other policies. If a hook stopped the answer, other policies precede queued messages.
    fn decide(&self, own: Option<Then>, state: &State, outcome: &Outcome) -> Then {
        if self.abort.is_cancelled() {
            return Then::Rest;
        }
        if own.is_some() || outcome.failure.is_some() {
            return own.unwrap_or(Then::Rest);
        }
        let queued = (state.queues.pending() > 0).then_some(Then::Queued);
        let others = || self.afterwards(outcome, &state.session).map(Then::GoOn);
        let next = if outcome.stopped { others().or(queued) } else { queued.or_else(others) };
        next.unwrap_or(Then::Rest)
    }

    /// Returns the decision of the agent's own policies.
    fn own(&self, state: &State, outcome: &Outcome) -> Option<Then> {
        let Some(AgentMessage::Assistant(answer)) = outcome.answer.as_deref() else { return None };
        if answer.stop_reason == StopReason::Aborted {
            return None;
        }
        if outcome.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Limit) {
            return (self.attempt > 0).then_some(Then::GiveUp { attempt: self.attempt });
        }
        let ended = Ended {
            answer,
            failure: outcome.failure.as_ref(),
            attempt: self.attempt,
            made_room: self.made_room,
            tokens: match outcome.failure {
                // A failure has no token count: only an answer since the last compaction has one.
                Some(_) => counted_tokens(&state.session).unwrap_or_default(),
                None => context_tokens(&state.session),
            },
            model: &outcome.model,
            mends_cuts: self.shared.options.customs.takes_back_first,
            repeats_begun: self.shared.options.customs.repeats_begun,
        };
        // Another model may have a larger context, so the result of the previous model does not apply.
        let same = state
            .model
            .as_ref()
            .is_some_and(|model| model.id == outcome.model.id && model.provider == outcome.model.provider);
        match OWN.into_iter().find_map(|policy| policy(&ended, &state.retry, &state.compaction))? {
            Then::Compact { .. } | Then::StillTooLong if !same => {
                (self.attempt > 0).then_some(Then::GiveUp { attempt: self.attempt })
            }
            decision => Some(decision),
        }
    }

    /// Waits before a retry. Returns the run of the retry; `None` if the retry was cancelled and no messages are
    /// queued.
    async fn pause(&mut self, attempt: u64, pause: Duration, error: &str) -> Option<Run> {
        tracing::info!(attempt, ?pause, error, "trying again after a pause");
        let gone_by = tokio::select! {
            biased;
            () = self.abort.cancelled() => false,
            () = self.give_up.cancelled() => false,
            () = self.shared.options.clock.sleep(pause) => true,
        };
        let mut state = self.shared.state();
        if gone_by {
            return self.next_run(&mut state, AgentLoop::new(NOBODY));
        }
        let limit = self.shared.options.ledger.reached().map(|reached| reached.to_string());
        let error = Some(limit.as_deref().unwrap_or(RETRY_CANCELLED));
        self.shared.sink.push(Event::RetryEnded { success: false, attempt, error });
        // A prompt that was accepted during the pause is not lost with the cancelled retry, unless all work is aborted.
        if !self.abort.is_cancelled() && state.queues.pending() > 0 {
            return self.next_run(&mut state, AgentLoop::with_what_waits());
        }
        self.over(&mut state);
        None
    }

    /// Starts a run that a policy requests.
    fn go_on(&mut self, go_on: GoOn) -> Option<Run> {
        let mut state = self.shared.state();
        if go_on.forgets_answer && last_answer(&state).is_some() {
            state.session.forget_last_answer();
        }
        for message in go_on.unseen {
            state.session.append(Arc::new(message));
        }
        self.next_run(&mut state, AgentLoop::new(go_on.messages))
    }

    /// Starts a run with the messages queued meanwhile, if there are any.
    fn go_on_with_what_waits(&mut self) -> Option<Run> {
        let mut state = self.shared.state();
        if state.queues.pending() == 0 {
            self.over(&mut state);
            return None;
        }
        self.next_run(&mut state, AgentLoop::with_what_waits())
    }

    /// Ends the work: no automatic work follows.
    fn over(&self, state: &mut State) {
        state.end(self.end.number);
        if self.shared.options.customs.runs_until_settled {
            state.keep_deferred();
        }
        let aborted = self.abort.is_cancelled() && self.shared.options.ledger.reached().is_none();
        self.shared.sink.push(Event::Settled { aborted });
    }

    fn rest(&self, run: Option<Run>) -> Option<Run> {
        self.over(&mut self.shared.state());
        run
    }

    /// Returns the next run, with the current model and level.
    fn next_run(&self, state: &mut State, steps: AgentLoop) -> Option<Run> {
        let run = Run::new(&self.shared, state, steps, self.abort.clone());
        match run {
            Some(_) => state.enter(self.end.number, Phase::Running),
            None => self.over(state),
        }
        run
    }

    /// Compacts the conversation with its events. Returns `true` if it was compacted. An abort stops it.
    async fn compact(&self, reason: CompactionReason, will_retry: bool) -> bool {
        self.enter(Phase::Compacting);
        super::compact::compact_on_its_own(&self.shared, &reason, will_retry, &self.abort).await
    }
}

/// Emits the budget notices that become due by time alone, while the work lasts.
async fn watch_time(shared: &Shared) -> std::convert::Infallible {
    let options = &shared.options;
    // The budget of the first agent covers its children, so it alone watches the time.
    while let Some(pause) =
        options.ledger.until_due(options.clock.now_ms()).filter(|_| options.ledger.is_root())
    {
        options.clock.sleep(pause).await;
        shared.tell_what_is_due();
    }
    std::future::pending().await
}

/// Stops a run whose time has elapsed.
async fn end_in_time(shared: &Shared, abort: &CancellationToken) -> std::convert::Infallible {
    let options = &shared.options;
    if let Some(left) = options.ledger.until_end(options.clock.now_ms()) {
        options.clock.sleep(left).await;
        if !abort.is_cancelled() {
            options.ledger.run_out_of_time();
            abort.cancel();
        }
    }
    std::future::pending().await
}

/// Removes the failed last answer from the context; the session file keeps it.
pub(super) fn forget_failed_answer(state: &mut State) {
    if last_answer(state) == Some(StopReason::Error) {
        state.session.forget_last_answer();
    }
}

/// Returns the stop reason of the last answer; `None` if there is no answer.
fn last_answer(state: &State) -> Option<StopReason> {
    state.session.messages_back().find_map(|message| match &*message {
        AgentMessage::Assistant(answer) => Some(answer.stop_reason),
        _ => None,
    })
}
