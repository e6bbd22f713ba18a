//! Every line of JSON is a frame that the dialect declares.

use std::collections::{BTreeSet, HashMap};

use agentese::framing::FrameText;
use agentese::spec::{Dialect, Spec};
use agentese::types::CheckLevel;
use agentese::wire::Eventful as _;
use agentese::{frame::ServerFrame, omp, opal, operator, pi, pisces};
use serde_json::Value;

use super::wrong_line;
use crate::Transcript;
use crate::transcript::Record;
use crate::verdict::{Finding, Outcome};

/// What is wrong with a line.
enum Fault {
    /// It is no frame of the dialect.
    NoFrame(String),
    /// It is an event or a dialog that the dialect does not have.
    Unknown(String),
}

/// Looks at a line. The map has the commands that answers belong to, by their ids.
type Check = fn(&FrameText, &HashMap<String, String>) -> Option<Fault>;

/// The dialects with their types.
const DIALECTS: [(&Spec, Check); 5] = [
    (pi::Pi::SPEC, fault::<pi::Pi>),
    (omp::Omp::SPEC, fault::<omp::Omp>),
    (pisces::Pisces::SPEC, fault::<pisces::Pisces>),
    (operator::Operator::SPEC, fault::<operator::Operator>),
    (opal::Opal::SPEC, fault::<opal::Opal>),
];

/// The first frame that the dialect does not declare fails the check; how many there are is said. What
/// the golden transcript has may come although the document does not name it.
pub(super) fn frames(dialect: &str, golden: Option<&Transcript>, observed: &Transcript) -> Finding {
    let outcome = match DIALECTS.iter().find(|(spec, _)| spec.id() == dialect) {
        None => Outcome::Unclear(format!("the dialect {dialect} is not known")),
        Some((spec, check)) => outcome(spec, *check, golden, observed),
    };
    Finding { check: "frames".to_owned(), level: CheckLevel::Must, outcome }
}

fn outcome(spec: &Spec, check: Check, golden: Option<&Transcript>, observed: &Transcript) -> Outcome {
    let known: BTreeSet<String> = golden
        .map(|golden| faults(check, golden))
        .unwrap_or_default()
        .into_iter()
        .filter_map(|(_, fault)| match fault {
            Fault::Unknown(name) => Some(name),
            Fault::NoFrame(_) => None,
        })
        .collect();
    let told = |(at, fault)| match fault {
        Fault::NoFrame(reason) => Some((at, format!("no frame of {}: {reason}", spec.id()))),
        Fault::Unknown(name) if known.contains(&name) => None,
        Fault::Unknown(name) => Some((at, format!("`{name}` is nothing that {} has", spec.id()))),
    };
    let faults: Vec<(usize, String)> = faults(check, observed).into_iter().filter_map(told).collect();
    let more = match faults.len() {
        0 | 1 => String::new(),
        count => format!(" ({count} such frames)"),
    };
    match faults.into_iter().next() {
        None => Outcome::Held,
        Some((at, fault)) => wrong_line(observed, at, format!("{fault}{more}")),
    }
}

/// What is wrong in a transcript, with the places of the lines.
fn faults(check: Check, transcript: &Transcript) -> Vec<(usize, Fault)> {
    let mut asked = HashMap::new();
    let mut faults = Vec::new();
    for (at, record) in transcript.records.iter().enumerate() {
        match record {
            Record::Sent(line) => note_request(line, &mut asked),
            Record::Received(line) if is_json(line) => {
                faults.extend(check(line, &asked).map(|fault| (at, fault)));
            }
            Record::Received(_) | Record::Control(_) => {}
        }
    }
    faults
}

/// Remembers which command an id belongs to, for dialects whose answers do not name it.
fn note_request(line: &FrameText, asked: &mut HashMap<String, String>) {
    let Ok(frame) = serde_json::from_str::<Value>(line.as_str()) else { return };
    if let (Some(id), Some(method)) = (frame.get("id"), frame["method"].as_str()) {
        asked.insert(id.to_string(), method.to_owned());
    }
}

/// Whether a line is JSON. What is none is not a wrong frame, but noise.
pub(super) fn is_json(line: &FrameText) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(line.as_str()).is_ok()
}

fn fault<D: Dialect>(line: &FrameText, asked: &HashMap<String, String>) -> Option<Fault> {
    match ServerFrame::<D>::decode(line, |id| asked.get(&id.to_string()).cloned()) {
        Err(error) => Some(Fault::NoFrame(error.to_string())),
        Ok(ServerFrame::Event(event)) if !event.is_known() => {
            Some(Fault::Unknown(event.event_type().to_owned()))
        }
        Ok(ServerFrame::UnknownDialog(members)) => {
            Some(Fault::Unknown(members.get("method").and_then(Value::as_str).unwrap_or_default().to_owned()))
        }
        Ok(_) => None,
    }
}
