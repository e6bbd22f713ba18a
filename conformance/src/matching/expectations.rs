//! The second way of matching: a case's own expectations, the checks of `expect`, for cases without a
//! recording.
//!
//! A check looks only at the agent's frames that fit a pattern. It requires that they are the expected ones
//! in the expected order, that their values at a path make up a text, or that a property holds for all of them. All frames in between are free, so
//! that a check holds for every agent that follows the document.

mod frames;
mod lines;
mod sequences;

use agentese::types::{CheckLevel, Expectation, Scenario};
use serde_json::Value;

use crate::matching::pattern::{Pattern, PatternError};
use crate::transcript::Transcript;
use crate::verdict::{Finding, Mismatch, Outcome};

use lines::AgentLines;

/// Performs the checks in `expect`. Each finding is named `expect` followed by the name of the check. A case
/// without `expect` has no findings.
pub fn check(case: &Scenario, transcript: &Transcript) -> Vec<Finding> {
    let Some(expectations) = &case.expect else { return Vec::new() };
    let lines = AgentLines::of(transcript);
    let finding = |expectation: &Expectation| {
        let (name, own, outcome) = match expectation {
            Expectation::Frames(it) => (&it.check, &it.level, frames::check(it, &lines)),
            Expectation::Text(it) => (&it.check, &it.level, frames::check_text(it, &lines)),
            Expectation::Exit(it) => (&it.check, &it.level, Ok(exit(it.exit, &it.says, transcript))),
            Expectation::Every(it) => (&it.check, &it.level, sequences::every(it, &lines)),
            Expectation::Unique(it) => (&it.check, &it.level, sequences::unique(it, &lines)),
            Expectation::After(it) => (&it.check, &it.level, sequences::after(it, &lines)),
            Expectation::Progress(it) => (&it.check, &it.level, sequences::progress(it, &lines)),
            Expectation::During(it) => (&it.check, &it.level, sequences::during(it, &lines, transcript)),
        };
        let level = own.as_ref().or(case.level.as_ref()).cloned().unwrap_or(CheckLevel::Should);
        let outcome = outcome.unwrap_or_else(|error| Outcome::Unclear(error.to_string()));
        Finding { check: format!("expect {name}"), level, outcome }
    };
    expectations.iter().map(finding).collect()
}

/// Checks the patterns of an expectation.
///
/// # Errors
/// If a pattern is invalid; the error describes the first one.
pub fn check_patterns(expectation: &Expectation) -> Result<(), PatternError> {
    let patterns: Vec<&Value> = match expectation {
        Expectation::Frames(it) => it.frames.iter().chain([&it.of]).collect(),
        Expectation::Text(it) => vec![&it.of],
        Expectation::Exit(_) => Vec::new(),
        Expectation::Every(it) => vec![&it.of, &it.every],
        Expectation::Unique(it) => vec![&it.of],
        Expectation::After(it) => vec![&it.of, &it.after],
        Expectation::During(it) => it.during.iter().chain([&it.of]).collect(),
        Expectation::Progress(it) => vec![&it.of],
    };
    patterns.into_iter().try_for_each(|pattern| Pattern::new(pattern).map(|_| ()))
}

/// Returns the name of a check, which is unique within its case.
pub fn name(expectation: &Expectation) -> &str {
    match expectation {
        Expectation::Frames(it) => &it.check,
        Expectation::Text(it) => &it.check,
        Expectation::Exit(it) => &it.check,
        Expectation::Every(it) => &it.check,
        Expectation::Unique(it) => &it.check,
        Expectation::After(it) => &it.check,
        Expectation::During(it) => &it.check,
        Expectation::Progress(it) => &it.check,
    }
}

fn exit(wanted: i64, message: &str, transcript: &Transcript) -> Outcome {
    let failed = |what: String| {
        Outcome::Failed(Mismatch { message: format!("{message}: {what}"), ..Mismatch::default() })
    };
    let code = transcript.end().and_then(|end| end.code.as_option().copied());
    match (code, transcript.signals().last()) {
        (Some(code), _) if code == wanted => Outcome::Held,
        (Some(code), None) => failed(format!("the exit code is {code}, not {wanted}")),
        (Some(code), Some(signal)) => {
            failed(format!("the exit code is {code}, not {wanted}, after {signal}"))
        }
        (None, _) => Outcome::Unclear("the transcript does not contain the end of the agent".to_owned()),
    }
}

#[cfg(test)]
mod tests;
