//! Every line of JSON is a frame that the dialect declares.

use std::collections::HashMap;

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

/// Why a line is no frame. The function gives the command of an answer by its id.
type Check = fn(&FrameText, &HashMap<String, String>) -> Option<String>;

/// The dialects with their types.
const DIALECTS: [(&Spec, Check); 5] = [
    (pi::Pi::SPEC, fault::<pi::Pi>),
    (omp::Omp::SPEC, fault::<omp::Omp>),
    (pisces::Pisces::SPEC, fault::<pisces::Pisces>),
    (operator::Operator::SPEC, fault::<operator::Operator>),
    (opal::Opal::SPEC, fault::<opal::Opal>),
];

/// The first frame that the dialect does not declare fails the check; how many there are is said.
pub(super) fn frames(dialect: &str, observed: &Transcript) -> Finding {
    Finding { check: "frames".to_owned(), level: CheckLevel::Must, outcome: outcome(dialect, observed) }
}

fn outcome(dialect: &str, observed: &Transcript) -> Outcome {
    let Some((_, check)) = DIALECTS.iter().find(|(spec, _)| spec.id() == dialect) else {
        return Outcome::Unclear(format!("the dialect {dialect} is not known"));
    };
    let mut asked = HashMap::new();
    let mut faults = Vec::new();
    for (at, record) in observed.records.iter().enumerate() {
        match record {
            Record::Sent(line) => note_request(line, &mut asked),
            Record::Received(line) if is_json(line) => {
                faults.extend(check(line, &asked).map(|fault| (at, fault)));
            }
            Record::Received(_) | Record::Control(_) => {}
        }
    }
    let more = match faults.len() {
        0 | 1 => String::new(),
        count => format!(" ({count} such frames)"),
    };
    match faults.into_iter().next() {
        None => Outcome::Held,
        Some((at, fault)) => wrong_line(observed, at, format!("{fault}{more}")),
    }
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

fn fault<D: Dialect>(line: &FrameText, asked: &HashMap<String, String>) -> Option<String> {
    match ServerFrame::<D>::decode(line, |id| asked.get(&id.to_string()).cloned()) {
        Err(error) => Some(format!("no frame of {}: {error}", D::SPEC.id())),
        Ok(ServerFrame::Event(event)) if !event.is_known() => {
            Some(format!("`{}` is no event of {}", event.event_type(), D::SPEC.id()))
        }
        Ok(ServerFrame::UnknownDialog(_)) => Some(format!("it is no dialog of {}", D::SPEC.id())),
        Ok(_) => None,
    }
}
