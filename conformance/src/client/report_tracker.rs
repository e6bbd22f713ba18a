//! Lines of a case that the driver has to report, and the reports so far.

use agentese::framing::FrameText;
use agentese::types::DriverTerminated;
use serde_json::Value;

use super::plan::PlannedCall;

/// A line with the index of its record.
#[derive(Debug, Clone)]
pub(super) struct RecordedLine {
    pub(super) record: usize,
    pub(super) line: FrameText,
}

/// The agent's answer to a call.
#[derive(Debug, Clone)]
pub(super) struct AgentAnswer {
    pub(super) recorded: RecordedLine,
    pub(super) outcome: Result<Value, AnswerError>,
    /// `true` if the agent answered after the driver was instructed to close.
    pub(super) is_late: bool,
}

/// The error in a failed answer of the agent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AnswerError {
    pub(super) message: String,
    pub(super) code: Option<i64>,
}

impl AnswerError {
    /// Reads the `error` of an answer: a text, or a JSON-RPC error object.
    pub(super) fn parse(error: &Value) -> Self {
        let message = error.as_str().or_else(|| error["message"].as_str());
        let message = message.map_or_else(|| error.to_string(), str::to_owned);
        Self { message, code: error["code"].as_i64() }
    }
}

/// A call that the driver was instructed to make.
#[derive(Debug)]
pub(super) struct Call {
    /// Name of the call in the driver's reports.
    pub(super) name: String,
    pub(super) planned: PlannedCall,
    /// `true` if the command starts a run.
    pub(super) starts_run: bool,
    /// Id that the client chose. The outer option is `None` before the client has sent the call; the
    /// inner one is `None` without an id.
    pub(super) sent: Option<Option<Value>>,
    pub(super) answer: Option<AgentAnswer>,
    /// Error of a second, failed answer that followed the first answer.
    pub(super) late_error: Option<AnswerError>,
    /// `true` after the driver has reported the end of the call.
    pub(super) settled: bool,
    /// `true` after the driver has reported the end of the call's run.
    pub(super) run_ended: bool,
}

/// An event that the agent sent.
#[derive(Debug)]
pub(super) struct SentEvent {
    pub(super) recorded: RecordedLine,
    pub(super) event: Value,
}

/// A question or a notice of the agent.
#[derive(Debug)]
pub(super) struct SentDialog {
    pub(super) recorded: RecordedLine,
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Value,
    /// `true` if the dialog needs an answer.
    pub(super) needs_answer: bool,
    /// `true` if the agent has withdrawn the dialog.
    pub(super) withdrawn: bool,
    /// Name that the driver has given the dialog in its report; `None` if it has not reported the dialog.
    pub(super) reported: Option<String>,
}

/// A failed answer without an id.
#[derive(Debug)]
pub(super) struct UnattributedError {
    pub(super) recorded: RecordedLine,
    pub(super) error: AnswerError,
    /// Index of the call to which the client has to assign the failure, by the declared rule.
    pub(super) call: usize,
    pub(super) settled: bool,
}

/// All lines of a case that the driver has to report, with its reports so far.
#[derive(Debug, Default)]
pub(super) struct ReportTracker {
    pub(super) calls: Vec<Call>,
    pub(super) events: Vec<SentEvent>,
    /// Number of events that the driver has reported.
    pub(super) reported: usize,
    /// Number of events that the driver has to report. Events after the instruction to close are not
    /// included.
    pub(super) required: usize,
    pub(super) dialogs: Vec<SentDialog>,
    /// Ids of dialogs with an undeclared method.
    pub(super) unknown_dialogs: Vec<Value>,
    pub(super) unattributed_errors: Vec<UnattributedError>,
    pub(super) terminated: Option<DriverTerminated>,
}

impl ReportTracker {
    /// Returns the number of the agent's frames that the driver has to report, and the number that it has
    /// reported.
    pub(super) fn count(&self) -> (usize, usize) {
        let answers = || self.calls.iter().filter(|call| call.answer.as_ref().is_some_and(|it| !it.is_late));
        let frames = self.required + answers().count() + self.dialogs.len();
        let settled = answers().filter(|call| call.settled).count();
        let dialog = self.dialogs.iter().filter(|asked| asked.reported.is_some()).count();
        (frames, self.reported.min(self.required) + settled + dialog)
    }

    pub(super) fn call(&mut self, name: &str) -> Option<&mut Call> {
        self.calls.iter_mut().find(|call| call.name == name)
    }

    /// Returns the index of the call that an answer belongs to, by the recorded ids.
    pub(super) fn call_of(&self, id: Option<&str>, command: Option<&str>) -> Option<usize> {
        let fits = |call: &Call| match id {
            Some(_) => call.planned.id.as_deref() == id,
            None => call.planned.id.is_none() && command == Some(call.planned.command.as_str()),
        };
        let open = self.calls.iter().position(|call| fits(call) && call.answer.is_none());
        // A failure after an answer has the id of that answer.
        open.or_else(|| id.and_then(|_| self.calls.iter().rposition(fits)))
    }

    /// Returns the first event that the driver has not reported.
    pub(super) fn unreported_event(&self) -> Option<&SentEvent> {
        self.events.get(self.reported).filter(|_| self.reported < self.required)
    }

    /// Returns the first answered call that the driver has not reported.
    pub(super) fn unreported_answer(&self) -> Option<&Call> {
        self.calls.iter().find(|call| call.answer.as_ref().is_some_and(|it| !it.is_late) && !call.settled)
    }

    /// Returns the first question that the driver has not reported.
    pub(super) fn unreported_dialog(&self) -> Option<&SentDialog> {
        self.dialogs.iter().find(|asked| asked.needs_answer && !asked.withdrawn && asked.reported.is_none())
    }

    /// Returns the first notice that the driver has not reported.
    pub(super) fn unreported_notice(&self) -> Option<&SentDialog> {
        self.dialogs.iter().find(|asked| !asked.needs_answer && asked.reported.is_none())
    }

    /// Returns the first failure without an id that the client has not assigned to a call.
    pub(super) fn unreported_error(&self) -> Option<&UnattributedError> {
        self.unattributed_errors.iter().find(|stray| !stray.settled)
    }

    /// Returns the first call with an accepted run whose end the driver has not reported.
    pub(super) fn unreported_run_end(&self) -> Option<&Call> {
        self.calls.iter().find(|call| {
            let accepted = call.answer.as_ref().is_some_and(|it| it.outcome.is_ok());
            call.starts_run && accepted && !call.run_ended
        })
    }
}
