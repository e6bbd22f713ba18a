//! Check of the agent's frames: the dialect has to declare each of them.

use std::collections::BTreeSet;

use agentese::framing::FrameText;
use agentese::spec::Spec;
use agentese::types::CheckLevel;

use super::wrong_line;
use crate::Transcript;
use crate::decode::{LineDecoder, LineRole, SentCommands, decode, record_commands};
use crate::transcript::Record;
use crate::verdict::{Finding, Outcome};

/// Problem with a line.
enum LineError {
    /// The line is not a frame of the dialect.
    NotAFrame(String),
    /// The dialect does not declare this event or dialog.
    Undeclared(String),
}

/// Checks that the dialect declares every frame. The failure describes the first wrong frame, and
/// contains the number of all wrong frames. Accepts undeclared events that the golden transcript
/// contains as well, and any if the dialect's set of events is open.
pub(super) fn frames(dialect: &str, golden: Option<&Transcript>, observed: &Transcript) -> Finding {
    let outcome = match decode(dialect) {
        None => Outcome::Unclear(format!("unknown dialect {dialect}")),
        Some((spec, decode)) => outcome(spec, decode, golden, observed),
    };
    Finding { check: "frames".to_owned(), level: CheckLevel::Must, outcome }
}

fn outcome(spec: &Spec, decode: LineDecoder, golden: Option<&Transcript>, observed: &Transcript) -> Outcome {
    let known: BTreeSet<String> = golden
        .map(|golden| line_errors(decode, golden))
        .unwrap_or_default()
        .into_iter()
        .filter_map(|(_, fault)| match fault {
            LineError::Undeclared(name) => Some(name),
            LineError::NotAFrame(_) => None,
        })
        .collect();
    let told = |(at, fault)| match fault {
        LineError::NotAFrame(reason) => Some((at, format!("not a frame of {}: {reason}", spec.id()))),
        // If the set of events is open, clients ignore unknown events.
        LineError::Undeclared(name) if known.contains(&name) || spec.events_open => None,
        LineError::Undeclared(name) => Some((at, format!("`{name}` is not declared in {}", spec.id()))),
    };
    let faults: Vec<(usize, String)> = line_errors(decode, observed).into_iter().filter_map(told).collect();
    let more = match faults.len() {
        0 | 1 => String::new(),
        count => format!(" ({count} such frames)"),
    };
    match faults.into_iter().next() {
        None => Outcome::Held,
        Some((at, fault)) => wrong_line(observed, at, format!("{fault}{more}")),
    }
}

/// Returns the wrong lines of a transcript, each as the index of its record and its error.
fn line_errors(decode: LineDecoder, transcript: &Transcript) -> Vec<(usize, LineError)> {
    let mut commands = SentCommands::default();
    let mut faults = Vec::new();
    for (at, record) in transcript.records.iter().enumerate() {
        match record {
            Record::Sent(line) => record_commands(line, &mut commands),
            Record::Received(line) if is_json(line) => {
                faults.extend(line_error(decode, line, &commands).map(|fault| (at, fault)));
            }
            Record::Received(_) | Record::Control(_) => {}
        }
    }
    faults
}

/// Returns `true` if the line is JSON. Other lines are noise, which another check covers.
pub(super) fn is_json(line: &FrameText) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(line.as_str()).is_ok()
}

fn line_error(decode: LineDecoder, line: &FrameText, commands: &SentCommands) -> Option<LineError> {
    match decode(line, commands) {
        Err(error) => Some(LineError::NotAFrame(error.to_string())),
        Ok(LineRole::Event { name, known: false } | LineRole::Dialog { name, known: false }) => {
            Some(LineError::Undeclared(name))
        }
        Ok(_) => None,
    }
}
