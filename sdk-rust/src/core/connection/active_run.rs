//! The entry of a run in the tables of its connection: the queue of its events, and its state until the end.

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
    /// Number of unanswered queries of the state.
    pub pending_queries: u8,
    /// `true` if the caller has the handle of the run, which it needs to read events.
    pub has_handle: bool,
    /// Outcome of the run so far.
    pub outcome: OutcomeTracker,
    /// Usage of the run, if it has limits.
    pub meter: Option<RunMeter>,
    /// Failure of the limit for which the client stopped the run.
    pub limit: Option<RunFailure>,
}

impl ActiveRun {
    pub fn token(&self) -> u64 {
        self.token
    }

    pub fn sender(&self) -> &EventSender {
        &self.sender
    }

    /// Returns `true` if the caller can read the events of the run.
    pub fn has_handle(&self) -> bool {
        self.has_handle
    }

    /// Returns `true` if events of the given session belong to the run.
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

    /// Returns `true` if the run has limits.
    pub fn is_metered(&self) -> bool {
        self.meter.is_some() && self.limit.is_none()
    }

    /// Updates the outcome and the usage of the run with the values in an event of the session. Returns
    /// `true` if the run has reached a limit.
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

    /// Ends the run. A rejection after the start of its work is a failure of the run, unless the document lists that
    /// reason.
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

    /// Ends the run because the connection has ended. If the run was not over, it fails with `error`.
    pub fn close(mut self, error: Error) {
        let result = match self.tracker.feed(TrackerInput::Closed) {
            TrackerAction::End(outcome) => Ok(outcome),
            _ => Err(error),
        };
        self.finish(result);
    }
}
