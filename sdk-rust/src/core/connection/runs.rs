//! The runs of a connection: start, updates, time limits and end.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::active_run::ActiveRun;
use super::event_queue::EventQueue;
use super::shared::{RawAnswer, Shared, Waiter};
use crate::error::Error;
use crate::outcome::{OutcomeTracker, RunFailure};
use crate::queue;
use crate::run_limits::RunMeter;
use crate::run_tracker::{EndedBy, RunCompletion, RunTracker, TrackerAction, TrackerInput};
use crate::spec::{AnswerTiming, CommandSpec, RunRole};

/// Events and answer of a run, for its handle.
pub(crate) struct RunQueue {
    /// The events of the run. The queue is closed when the run ends.
    pub events: EventQueue,
    /// The answer to the command that started the run.
    pub answer: oneshot::Receiver<Result<RawAnswer, Error>>,
    /// Number of the run on this connection.
    pub token: u64,
}

impl Shared {
    /// Sends a command that starts a run. The queue of the run exists before the command is sent, so the run misses no
    /// event.
    pub fn start_run(
        &self,
        command: &str,
        members: &str,
        session: Option<String>,
        meter: Option<RunMeter>,
    ) -> Result<RunQueue, Error> {
        let (events, receiver) = queue::channel(self.settings.queue_bytes, self.settings.overflow);
        let (sender, answer) = oneshot::channel();
        // If the answer is the end of the run, the caller gets the handle before it.
        let held = self.spec.command(command).is_some_and(|row| row.answer == AnswerTiming::Done);
        let mut token = 0;
        self.send_command(command, members, Waiter::Caller(sender), |state, key| {
            token = state.next_id;
            state.runs.push(ActiveRun {
                token,
                command_id: key.to_owned(),
                session,
                tracker: RunTracker::new(self.run_end()),
                sender: events,
                wake: 0,
                pending_queries: 0,
                has_handle: held,
                outcome: OutcomeTracker::default(),
                meter,
                limit: None,
            });
        })?;
        Ok(RunQueue { events: receiver, answer, token })
    }

    /// Stops a run when its maximum duration has elapsed.
    pub fn limit_time(self: &Arc<Self>, token: u64, after: Duration, failure: RunFailure) {
        self.schedule(after, move |shared| {
            {
                let mut state = shared.state();
                let run = state.runs.iter_mut().find(|run| run.token == token && run.limit.is_none());
                let Some(run) = run else { return };
                run.limit = Some(failure);
            }
            shared.stop_limited(token);
        });
    }

    /// Sends the abort command for a run that has reached a limit. If the command fails, the run is considered
    /// ended anyway.
    pub(super) fn stop_limited(self: &Arc<Self>, token: u64) {
        let stops = |row: &&CommandSpec| row.run == RunRole::Stops;
        let command = self.spec.commands.iter().find(stops).map(|row| row.wire).unwrap_or_default();
        let members = self.session_members(token);
        let (shared, stop) = (self.clone(), self.stop.clone());
        tokio::spawn(async move {
            let limit = shared.timeout(command);
            let stopped = tokio::select! {
                stopped = shared.call(command, &members, limit) => stopped,
                () = stop.cancelled() => return,
            };
            if stopped.is_err() {
                shared.finish_run(token, Ok(RunCompletion { ended_by: EndedBy::Stopped, confirmed: false }));
            }
        });
    }

    /// Removes a run whose handle was dropped. The agent continues the work.
    pub fn forget_run(&self, token: u64) {
        let mut state = self.state();
        if let Some(at) = state.runs.iter().position(|run| run.token == token) {
            let run = state.runs.remove(at);
            state.pending.abandon(&run.command_id);
        }
    }

    /// Records that the caller gets the handle of the run, because its command was answered.
    pub(super) fn attach_handle(&self, token: u64) {
        if let Some(run) = self.state().runs.iter_mut().find(|run| run.token == token) {
            run.has_handle = true;
        }
    }

    /// Returns the run that was started by the command with this id.
    pub(super) fn run_of_command(&self, key: &str) -> Option<u64> {
        self.state().runs.iter().find(|run| run.command_id == key).map(ActiveRun::token)
    }

    /// Records that the agent acknowledged an abort, in all runs of a session.
    pub(super) fn stop_runs(self: &Arc<Self>, session: Option<&str>) {
        for run in self.state().runs.iter_mut().filter(|run| run.matches_session(session)) {
            run.outcome.record_abort();
        }
        self.feed_runs(session, TrackerInput::Stopped);
    }

    /// Passes an input to the trackers of all runs of a session.
    pub(super) fn feed_runs(self: &Arc<Self>, session: Option<&str>, input: TrackerInput) {
        let tokens: Vec<u64> = self
            .state()
            .runs
            .iter()
            .filter(|run| run.matches_session(session))
            .map(ActiveRun::token)
            .collect();
        for token in tokens {
            self.feed_run(token, input);
        }
    }

    /// Passes an input to the tracker of one run, and carries out the action that the tracker requests.
    pub(super) fn feed_run(self: &Arc<Self>, token: u64, input: TrackerInput) {
        let rules = self.run_end();
        let (action, wake) = {
            let mut state = self.state();
            let Some(run) = state.runs.iter_mut().find(|run| run.token == token) else { return };
            run.tracker.set_rules(rules);
            let action = run.tracker.feed(input);
            // A new wake request makes earlier ones void.
            run.wake += u64::from(matches!(action, TrackerAction::Wake(_)));
            (action, run.wake)
        };
        match action {
            TrackerAction::None => {}
            TrackerAction::End(outcome) => self.finish_run(token, Ok(outcome)),
            TrackerAction::QueryState => self.query_state(token, input == TrackerInput::LineLost),
            TrackerAction::Wake(after) => self.schedule(after, move |shared| {
                let current = shared.state().runs.iter().any(|run| run.token == token && run.wake == wake);
                if current {
                    shared.feed_run(token, TrackerInput::Elapsed);
                }
            }),
        }
    }

    /// Queries the agent's state for a run. The query has a declared time limit, because a mute agent must not
    /// keep the run open forever. `is_lost` is `true` directly after a line was lost.
    fn query_state(self: &Arc<Self>, token: u64, is_lost: bool) {
        let Some(asked) = self.run_end().state else { return };
        // A pending query suffices, because its response follows all earlier events; but that response may have been
        // lost.
        if !self.begin_query(token, 1 + u8::from(is_lost)) {
            return;
        }
        let members = self.session_members(token);
        match self.send_command(asked.command, &members, Waiter::Run { token }, |_, _| {}) {
            Ok(id) => self.schedule(asked.limit, move |shared| {
                if shared.state().pending.abandon(&id).is_some() {
                    shared.handle_state(token, TrackerInput::NoState);
                }
            }),
            Err(_) => self.handle_state(token, TrackerInput::NoState),
        }
    }

    /// Returns the parameters of a command for a run: only the session, if the dialect has this parameter.
    fn session_members(&self, token: u64) -> String {
        let state = self.state();
        let run = state.runs.iter().find(|run| run.token == token);
        match (self.spec.session_member, run.and_then(|run| run.session.clone())) {
            (Some(member), Some(session)) => serde_json::json!({ member: session }).to_string(),
            _ => "{}".to_owned(),
        }
    }

    /// Fails a run if its command is not answered in time. Used only if the answer is the end of the run.
    pub fn limit_run(self: &Arc<Self>, token: u64, command: &str, after: Duration) {
        let command = command.to_owned();
        self.schedule(after, move |shared| drop(shared.time_out_run(token, &command, after)));
    }

    /// Fails a run whose command was not answered in time. Returns the failure.
    pub fn time_out_run(&self, token: u64, command: &str, after: Duration) -> Error {
        let error = self.timeout_error(command, after);
        let is_open = {
            let mut state = self.state();
            let run = state.runs.iter().find(|run| run.token == token);
            let id = run.map(|run| run.command_id.clone());
            id.is_some_and(|id| state.pending.abandon(&id).is_some())
        };
        if is_open {
            self.finish_run(token, Err(error.clone()));
        }
        error
    }

    /// Processes the response to a state query, or its absence. The absence has no effect while another query
    /// is unanswered.
    pub(super) fn handle_state(self: &Arc<Self>, token: u64, input: TrackerInput) {
        let is_asking = {
            let mut state = self.state();
            let Some(run) = state.runs.iter_mut().find(|run| run.token == token) else { return };
            run.pending_queries = run.pending_queries.saturating_sub(1);
            run.pending_queries > 0
        };
        if input != TrackerInput::NoState || !is_asking {
            self.feed_run(token, input);
        }
    }

    /// Counts a new state query of a run. Returns `false` if `most` queries are already unanswered; then the
    /// query must not be sent.
    fn begin_query(&self, token: u64, most: u8) -> bool {
        let mut state = self.state();
        let run = state.runs.iter_mut().find(|run| run.token == token && run.pending_queries < most);
        run.map(|run| run.pending_queries += 1).is_some()
    }

    /// Calls `act` after a delay, unless the connection has ended by then.
    pub(super) fn schedule(self: &Arc<Self>, after: Duration, act: impl FnOnce(&Arc<Self>) + Send + 'static) {
        let shared = Arc::downgrade(self);
        let stop = self.stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(after) => {}
                () = stop.cancelled() => return,
            }
            if let Some(shared) = shared.upgrade() {
                act(&shared);
            }
        });
    }
}
