//! What was said and reported so far, and what is still owed.

use agentese::framing::FrameText;
use agentese::types::DriverTerminated;
use serde_json::Value;

use super::plan::PlannedCall;

/// A line with its place among the records.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) record: usize,
    pub(super) line: FrameText,
}

/// What the agent answered to a call.
#[derive(Debug, Clone)]
pub(super) struct Answered {
    pub(super) said: Said,
    pub(super) outcome: Result<Value, Failure>,
    /// The client had been told to close before.
    pub(super) late: bool,
}

/// A failure that the agent answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Failure {
    pub(super) message: String,
    pub(super) code: Option<i64>,
}

impl Failure {
    /// From the `error` of an answer: a text, or a JSON-RPC error object.
    pub(super) fn of(error: &Value) -> Self {
        let message = error.as_str().or_else(|| error["message"].as_str());
        let message = message.map_or_else(|| error.to_string(), str::to_owned);
        Self { message, code: error["code"].as_i64() }
    }
}

/// A call that the driver was told to make.
#[derive(Debug)]
pub(super) struct Call {
    /// Its name in reports.
    pub(super) name: String,
    pub(super) planned: PlannedCall,
    /// Whether its answer accepts a run, or ends one.
    pub(super) starts: bool,
    /// The id that the client gave it; none while it is not sent.
    pub(super) sent: Option<Option<Value>>,
    pub(super) answered: Option<Answered>,
    /// A failure with its id that came after its answer.
    pub(super) late: Option<Failure>,
    /// Its end was reported.
    pub(super) settled: bool,
    /// The end of its run was reported.
    pub(super) run_over: bool,
}

/// An event that the agent sent.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) said: Said,
    pub(super) event: Value,
}

/// A question or notice of the agent.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) said: Said,
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Value,
    /// Whether it wants an answer.
    pub(super) answered: bool,
    /// Whether the agent has taken it back.
    pub(super) withdrawn: bool,
    /// The driver's name for it, once it was reported.
    pub(super) reported: Option<String>,
}

/// A failure that does not say whose it is.
#[derive(Debug)]
pub(super) struct Stray {
    pub(super) said: Said,
    pub(super) failure: Failure,
    /// The call that it belongs to by the declared rule.
    pub(super) call: usize,
    pub(super) settled: bool,
}

/// Everything that was said, and what of it was reported.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) calls: Vec<Call>,
    pub(super) events: Vec<Told>,
    /// How many events were reported.
    pub(super) reported: usize,
    /// How many have to be: those that came before the client was told to close.
    pub(super) required: usize,
    pub(super) asked: Vec<Asked>,
    /// Ids of dialogs that the dialect does not have.
    pub(super) foreign: Vec<Value>,
    pub(super) strays: Vec<Stray>,
    pub(super) terminated: Option<DriverTerminated>,
}

impl Ledger {
    /// How many frames of the agent had to be reported, and how many were.
    pub(super) fn count(&self) -> (usize, usize) {
        let answers = || self.calls.iter().filter(|call| call.answered.as_ref().is_some_and(|it| !it.late));
        let frames = self.required + answers().count() + self.asked.len();
        let settled = answers().filter(|call| call.settled).count();
        let asked = self.asked.iter().filter(|asked| asked.reported.is_some()).count();
        (frames, self.reported.min(self.required) + settled + asked)
    }

    pub(super) fn call(&mut self, name: &str) -> Option<&mut Call> {
        self.calls.iter_mut().find(|call| call.name == name)
    }

    /// The call that an answer belongs to, by what stood in the transcript.
    pub(super) fn call_of(&self, id: Option<&str>, command: Option<&str>) -> Option<usize> {
        let fits = |call: &Call| match id {
            Some(_) => call.planned.id.as_deref() == id,
            None => call.planned.id.is_none() && command == Some(call.planned.command.as_str()),
        };
        let open = self.calls.iter().position(|call| fits(call) && call.answered.is_none());
        // A failure that follows an answer has the same id.
        open.or_else(|| id.and_then(|_| self.calls.iter().rposition(fits)))
    }

    /// The first event that has to be reported and was not.
    pub(super) fn event_owed(&self) -> Option<&Told> {
        self.events.get(self.reported).filter(|_| self.reported < self.required)
    }

    /// The first call whose answer has to be reported and was not.
    pub(super) fn answer_owed(&self) -> Option<&Call> {
        self.calls.iter().find(|call| call.answered.as_ref().is_some_and(|it| !it.late) && !call.settled)
    }

    /// The first question that has to be reported and was not.
    pub(super) fn dialog_owed(&self) -> Option<&Asked> {
        self.asked.iter().find(|asked| asked.answered && !asked.withdrawn && asked.reported.is_none())
    }

    /// The first notice that has to be reported and was not.
    pub(super) fn notice_owed(&self) -> Option<&Asked> {
        self.asked.iter().find(|asked| !asked.answered && asked.reported.is_none())
    }

    /// The first failure without an id that nobody was given.
    pub(super) fn stray_owed(&self) -> Option<&Stray> {
        self.strays.iter().find(|stray| !stray.settled)
    }

    /// The first run that was accepted and whose end was not reported.
    pub(super) fn run_owed(&self) -> Option<&Call> {
        self.calls.iter().find(|call| {
            let accepted = call.answered.as_ref().is_some_and(|it| it.outcome.is_ok());
            call.starts && accepted && !call.run_over
        })
    }
}
