//! Checks of properties that hold for all frames of a kind, or between them.

use agentese::types::{
    AfterExpectation, DuringExpectation, EveryExpectation, ProgressExpectation, UniqueExpectation,
};
use serde_json::Value;

use super::frames::failed;
use super::lines::{AgentLine, AgentLines};
use crate::matching::near::first_difference;
use crate::matching::path;
use crate::matching::pattern::{Pattern, PatternError};
use crate::transcript::{Record, Transcript};
use crate::verdict::Outcome;

/// Values of a frame at some paths.
type Key = Vec<Option<Value>>;

fn key(frame: &Value, paths: &[String]) -> Key {
    paths.iter().map(|at| path::get(frame, at).cloned()).collect()
}

/// Checks that each selected frame fits the pattern.
pub(super) fn every(wanted: &EveryExpectation, lines: &AgentLines<'_>) -> Result<Outcome, PatternError> {
    let pattern = Pattern::new(&wanted.every)?;
    let selected = lines.fitting(&Pattern::new(&wanted.of)?);
    let Some(line) = selected.into_iter().find(|line| !pattern.fits(&line.frame)) else {
        return Ok(Outcome::Held);
    };
    let difference = first_difference(&wanted.every, &line.frame);
    let (what, path) = difference.map_or_else(
        || ("a frame is different".to_owned(), String::new()),
        |difference| (difference.message, difference.path),
    );
    Ok(failed(&wanted.says, what, path, Some((0, &wanted.every)), Some(line), lines))
}

/// Checks that no two selected frames have the same values.
pub(super) fn unique(wanted: &UniqueExpectation, lines: &AgentLines<'_>) -> Result<Outcome, PatternError> {
    let mut seen: Vec<Key> = Vec::new();
    for line in lines.fitting(&Pattern::new(&wanted.of)?) {
        let key = key(&line.frame, &wanted.unique);
        if seen.contains(&key) {
            let path = wanted.unique.last().cloned().unwrap_or_default();
            let what = format!("`{path}` occurs a second time");
            return Ok(failed(&wanted.says, what, path, None, Some(line), lines));
        }
        seen.push(key);
    }
    Ok(Outcome::Held)
}

/// Checks that each selected frame follows one with the same values.
pub(super) fn after(wanted: &AfterExpectation, lines: &AgentLines<'_>) -> Result<Outcome, PatternError> {
    let (of, first) = (Pattern::new(&wanted.of)?, Pattern::new(&wanted.after)?);
    let mut seen: Vec<Key> = Vec::new();
    for line in lines.all() {
        let key = key(&line.frame, &wanted.same);
        if of.fits(&line.frame) && !seen.contains(&key) {
            let what = format!("no frame like {} precedes it", wanted.after);
            return Ok(failed(&wanted.says, what, String::new(), None, Some(line), lines));
        }
        if first.fits(&line.frame) {
            seen.push(key);
        }
    }
    Ok(Outcome::Held)
}

/// Checks that the value never returns to an earlier stage.
pub(super) fn progress(
    wanted: &ProgressExpectation,
    lines: &AgentLines<'_>,
) -> Result<Outcome, PatternError> {
    let mut sequences: Vec<(Key, usize, Value)> = Vec::new();
    for line in lines.fitting(&Pattern::new(&wanted.of)?) {
        let Some(value) = path::get(&line.frame, &wanted.progress).filter(|value| !value.is_null()) else {
            continue;
        };
        let key = key(&line.frame, &wanted.same);
        let stage = wanted.stages.iter().position(|stage| stage.contains(value));
        let last = sequences.iter_mut().find(|(known, ..)| *known == key);
        let what = match (&last, stage) {
            (_, None) => format!("{value} is not a declared value"),
            (Some((_, at, old)), Some(stage)) if stage < *at || (stage == *at && old != value) => {
                format!("{value} follows {old}")
            }
            _ => {
                let stage = stage.unwrap_or_default();
                match last {
                    Some(entry) => (entry.1, entry.2) = (stage, value.clone()),
                    None => sequences.push((key, stage, value.clone())),
                }
                continue;
            }
        };
        return Ok(failed(&wanted.says, what, wanted.progress.clone(), None, Some(line), lines));
    }
    Ok(Outcome::Held)
}

/// A request of the client that is unanswered.
struct OpenRequest {
    id: Value,
    key: Key,
}

/// Checks that each selected frame arrives while a request of the client with the same values is open.
pub(super) fn during(
    wanted: &DuringExpectation,
    lines: &AgentLines<'_>,
    transcript: &Transcript,
) -> Result<Outcome, PatternError> {
    let of = Pattern::new(&wanted.of)?;
    let requests: Vec<Pattern> = wanted.during.iter().map(Pattern::new).collect::<Result<_, _>>()?;
    let mut open: Vec<OpenRequest> = Vec::new();
    let mut received = lines.all();
    for record in &transcript.records {
        match record {
            Record::Sent(text) => {
                let frame: Value = serde_json::from_str(text.as_str()).unwrap_or_default();
                if requests.iter().any(|request| request.fits(&frame)) {
                    open.push(OpenRequest { id: frame["id"].clone(), key: key(&frame, &wanted.same) });
                }
            }
            Record::Received(_) => {
                let Some(line) = received.next() else { break };
                if of.fits(&line.frame) && !is_within(&open, &line.frame, &wanted.same) {
                    return Ok(outside(wanted, line, lines));
                }
                if line.frame.get("method").is_none() {
                    open.retain(|request| request.id != line.frame["id"]);
                }
            }
            Record::Control(_) => {}
        }
    }
    Ok(Outcome::Held)
}

fn is_within(open: &[OpenRequest], frame: &Value, same: &[String]) -> bool {
    let key = key(frame, same);
    open.iter().any(|request| request.key == key)
}

fn outside(wanted: &DuringExpectation, line: &AgentLine<'_>, lines: &AgentLines<'_>) -> Outcome {
    let requests: Vec<String> = wanted.during.iter().map(|request| request["method"].to_string()).collect();
    let what =
        format!("no request {} with the same {} is open", requests.join(" or "), wanted.same.join(", "));
    failed(&wanted.says, what, String::new(), None, Some(line), lines)
}
