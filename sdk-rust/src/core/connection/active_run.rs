//! The state of a run that has not ended, as the connection stores it.

use super::event_queue::{EventSender, RunEnded};
use crate::error::Error;
use crate::outcome::{OutcomeTracker, RunFailure, RunOutcome};
use crate::run_limits::RunMeter;
use crate::run_tracker::{EndedBy, RunCompletion, RunTracker, TrackerAction, TrackerInput};
use crate::spec::{EventSpec, RunEffect};

/// The state of a run that has not ended.
pub(super) struct ActiveRun {
    pub token: u64,
    pub command_id: String,
    pub session: Option<String>,
    pub tracker: RunTracker,
    pub sender: EventSender,
    pub wake: u64,
    /// Number of unanswered requests for the agent's state.
    pub pending_queries: u8,
    /// `true` if the caller has the handle of the run, which it needs to read events.
    pub has_handle: bool,
    /// Outcome of the run so far.
    pub outcome: OutcomeTracker,
    /// Usage of the run, if it has limits.
    pub meter: Option<RunMeter>,
    /// Failure of the run after it reached a limit; the client then requests its stop.
    pub limit: Option<RunFailure>,
}

impl ActiveRun {
    pub fn token(&self) -> u64 {
        self.token
    }

    pub fn sender(&self) -> &EventSender {
        &self.sender
    }

    /// Returns `true` if the caller has the handle with which it reads the events.
    pub fn has_handle(&self) -> bool {
        self.has_handle
    }

    /// Returns `true` if events of that session belong to the run. An event or a run without a session matches
    /// any.
    pub fn matches_session(&self, session: Option<&str>) -> bool {
        match (&self.session, session) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        }
    }

    /// Records an event of the session.
    pub fn record_event(&mut self) {
        let _ = self.tracker.feed(TrackerInput::OtherEvent);
    }

    /// Returns `true` if the run has limits and has reached none of them.
    pub fn is_metered(&self) -> bool {
        self.meter.is_some() && self.limit.is_none()
    }

    /// Updates the outcome and the usage of the run from an event. Returns `true` if the event makes the run
    /// reach a limit.
    pub fn apply_event(&mut self, spec: &'static EventSpec, body: &str) -> bool {
        let meter = self.meter.as_mut().filter(|_| self.limit.is_none());
        let reached = meter.and_then(|meter| meter.record_event(spec.name, body));
        let is_reached = reached.is_some();
        self.limit = self.limit.take().or(reached);
        self.outcome.apply_event(spec.outcome, body);
        // An end without any other evidence may be the end of earlier work.
        if !matches!(spec.run, RunEffect::MayEnd | RunEffect::Ends) || self.outcome.is_unsuccessful() {
            self.record_event();
        }
        is_reached
    }

    /// Ends the run. If the agent rejects the prompt after its work started, the run has failed. A rejection
    /// with a documented reason remains an error of the prompt.
    pub fn finish(mut self, result: Result<RunCompletion, Error>) {
        let ended = |outcome, verdict| Ok(RunEnded { completion: outcome, run_outcome: verdict });
        if let Some(failure) = self.limit.take() {
            let outcome = match result {
                Ok(outcome) => Ok(outcome),
                Err(Error::Refused(_)) => Ok(RunCompletion { ended_by: EndedBy::Answer, confirmed: true }),
                Err(error) => Err(error),
            };
            return self
                .sender
                .close(outcome.and_then(|outcome| ended(outcome, RunOutcome::Failed(failure))));
        }
        self.sender.close(match result {
            Ok(outcome) if outcome.ended_by == EndedBy::Handled => ended(outcome, RunOutcome::Done),
            Ok(outcome) => ended(outcome, self.outcome.outcome()),
            Err(Error::Refused(refused)) if self.tracker.has_started() && refused.failure.is_none() => {
                self.outcome.record_rejection(&refused.message, refused.code.map(|code| code.to_string()));
                let outcome = RunCompletion { ended_by: EndedBy::Answer, confirmed: true };
                ended(outcome, self.outcome.outcome())
            }
            Err(error) => Err(error),
        });
    }

    /// Ends the run at the end of the connection. If the run was not over, it ends with that error.
    pub fn close(mut self, error: Error) {
        let result = match self.tracker.feed(TrackerInput::Closed) {
            TrackerAction::End(outcome) => Ok(outcome),
            _ => Err(error),
        };
        self.finish(result);
    }
}
