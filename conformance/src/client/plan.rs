//! Plan of a case for clients: the golden transcript as a list of actions.
//!
//! A case that no client library can play has no plan; the error is the reason.

use agentese::frame::{ClientFrame, FrameError};
use agentese::framing::FrameText;
use agentese::route::{RoutedFrame, route};
use agentese::spec::Spec;
use agentese::types::{Scenario, ScenarioStep};
use agentese::{omp, opal, operator, pi, pisces};
use serde_json::{Map, Value};

use crate::transcript::{Record, Transcript};

/// One action, in the order of the transcript.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PlannedAction {
    /// The client calls a command.
    Call(PlannedCall),
    /// The client answers a dialog.
    Answer(PlannedAnswer),
    /// The agent sends a line.
    SendLine(FrameText),
    /// The client closes the connection.
    Close,
    /// The agent ends, with this exit code or the negative number of this signal.
    End(i64),
    /// The agent sends the beginning of a line, but never the rest.
    SendPartialLine(String),
    /// The agent writes that number of bytes to stderr.
    WriteStderr(usize),
    /// The agent closes its stdin. After that, the client makes at most one call, and the agent ends.
    CloseStdin,
}

/// A command that the recorded client sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlannedCall {
    /// Name of the command on the wire.
    pub(super) command: String,
    /// Parameters of the command.
    pub(super) params: Map<String, Value>,
    /// The line of the recorded client.
    pub(super) line: FrameText,
    /// Id as JSON text in the transcript, if the command has an id.
    pub(super) id: Option<String>,
}

/// The recorded client's answer to a dialog.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlannedAnswer {
    /// Id of the dialog.
    pub(super) id: Value,
    /// Members of the answer; `None` dismisses the dialog.
    pub(super) members: Option<Map<String, Value>>,
    /// The line of the recorded client.
    pub(super) line: FrameText,
}

/// Returns the actions of a case.
///
/// # Errors
/// If no client library can play the case; the error is the reason.
pub(super) fn plan(
    spec: &'static Spec,
    case: &Scenario,
    golden: &Transcript,
) -> Result<Vec<PlannedAction>, String> {
    reject_raw_lines(&case.steps)?;
    let mut planner = Planner { spec, open_dialogs: Vec::new(), actions: Vec::new() };
    for record in &golden.records {
        match record {
            Record::Sent(line) => planner.sent(line)?,
            Record::Received(line) => planner.received(line),
            Record::Control(control) if control.event == "stdin_closed" => {
                planner.actions.push(PlannedAction::Close)
            }
            Record::Control(control) if control.event == "exit" => {
                planner.actions.push(PlannedAction::End(control.code.as_option().copied().unwrap_or(0)));
                return Ok(planner.actions);
            }
            Record::Control(_) => {}
        }
    }
    Err("the golden transcript does not contain the end of the agent".to_owned())
}

/// Fails if a step sends a line that no library would write.
fn reject_raw_lines(steps: &[ScenarioStep]) -> Result<(), String> {
    let what = steps.iter().enumerate().find_map(|(at, step)| match step {
        ScenarioStep::Raw(_) => Some((at, "a raw line")),
        ScenarioStep::Bytes(_) => Some((at, "raw bytes")),
        _ => None,
    });
    what.map_or(Ok(()), |(at, what)| {
        Err(format!("step {} sends {what}; a client library creates its own lines", at + 1))
    })
}

struct Planner {
    spec: &'static Spec,
    /// Dialogs of the agent that have no answer yet: ids as JSON text, and methods.
    open_dialogs: Vec<(String, String)>,
    actions: Vec<PlannedAction>,
}

impl Planner {
    fn received(&mut self, line: &FrameText) {
        if let Ok(RoutedFrame::Dialog { id, method, .. }) = route(self.spec, line)
            && self.spec.dialog(&method).is_some_and(|dialog| dialog.answered)
        {
            self.open_dialogs.push((id.as_str().to_owned(), method));
        }
        self.actions.push(PlannedAction::SendLine(line.clone()));
    }

    fn sent(&mut self, line: &FrameText) -> Result<(), String> {
        let frame: Value = agentese::wire::decode(line.as_str())
            .map_err(|_| "the case sends a line that is not JSON, which no client library does".to_owned())?;
        if is_answer(self.spec, &frame) {
            return self.answer(line, &frame);
        }
        let command = command_name(self.spec, &frame).unwrap_or_default().to_owned();
        if self.spec.command(&command).is_none() {
            return Err(format!("the case sends `{command}`, which is not a command of the dialect"));
        }
        fits(self.spec, line).map_err(|error| {
            format!("the case sends `{command}` with parameters that no client library sends: {error}")
        })?;
        let id = frame.get("id").map(Value::to_string);
        let params = command_params(self.spec, frame);
        self.actions.push(PlannedAction::Call(PlannedCall { command, params, line: line.clone(), id }));
        Ok(())
    }

    fn answer(&mut self, line: &FrameText, frame: &Value) -> Result<(), String> {
        let id = frame.get("id").cloned().unwrap_or(Value::Null);
        let raw = id.to_string();
        let Some(at) = self.open_dialogs.iter().position(|(asked, _)| *asked == raw) else {
            return Err(
                "the case answers a dialog that is not open; a client library answers each dialog once"
                    .to_owned(),
            );
        };
        let (_, method) = self.open_dialogs.remove(at);
        let members = match answer_content(self.spec, frame) {
            Some(Value::Object(members)) => members,
            _ => {
                return Err(
                    "the case answers a dialog without an object, which no client library does".to_owned()
                );
            }
        };
        let fallback = self.spec.dialog(&method).and_then(|dialog| dialog.fallback);
        let fallback: Option<Value> = fallback.and_then(|text| serde_json::from_str(text).ok());
        let dismisses = fallback.as_ref().is_some_and(|fallback| *fallback == Value::Object(members.clone()));
        let sound =
            members.len() == 1 && members.values().all(|value| value.is_string() || value.is_boolean());
        if !dismisses && !sound {
            let shown = Value::Object(members);
            return Err(format!("the case answers a dialog with {shown}, which no client library can send"));
        }
        let members = (!dismisses).then_some(members);
        self.actions.push(PlannedAction::Answer(PlannedAnswer { id, members, line: line.clone() }));
        Ok(())
    }
}

/// Returns the name of a command or request.
pub(super) fn command_name<'a>(spec: &Spec, frame: &'a Value) -> Option<&'a str> {
    frame.get(if spec.framing_is_flat() { "type" } else { "method" })?.as_str()
}

/// Returns `true` if a frame of the client answers a dialog.
pub(super) fn is_answer(spec: &Spec, frame: &Value) -> bool {
    match spec.dialog_frames {
        Some(_) => command_name(spec, frame).is_some_and(|kind| spec.is_answer(kind)),
        None if spec.framing_is_flat() => false,
        None => {
            frame.get("method").is_none() && (frame.get("result").is_some() || frame.get("error").is_some())
        }
    }
}

/// Returns the content of an answer to a dialog.
pub(super) fn answer_content(spec: &Spec, frame: &Value) -> Option<Value> {
    if spec.framing_is_flat() {
        let mut members = frame.as_object()?.clone();
        members.shift_remove("type");
        members.shift_remove("id");
        return Some(Value::Object(members));
    }
    frame.get("result").cloned()
}

fn command_params(spec: &Spec, frame: Value) -> Map<String, Value> {
    let Value::Object(mut members) = frame else { return Map::new() };
    if spec.framing_is_flat() {
        members.shift_remove("type");
        members.shift_remove("id");
        return members;
    }
    match members.shift_remove("params") {
        Some(Value::Object(params)) => params,
        _ => Map::new(),
    }
}

/// Checks that a typed client could have sent the line.
fn fits(spec: &Spec, line: &FrameText) -> Result<(), FrameError> {
    match spec.name {
        "omp" => ClientFrame::<omp::Omp>::decode(line).map(drop),
        "pisces" => ClientFrame::<pisces::Pisces>::decode(line).map(drop),
        "operator" => ClientFrame::<operator::Operator>::decode(line).map(drop),
        "opal" => ClientFrame::<opal::Opal>::decode(line).map(drop),
        _ => ClientFrame::<pi::Pi>::decode(line).map(drop),
    }
}
