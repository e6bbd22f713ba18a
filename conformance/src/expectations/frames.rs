//! Checks over the frames that fit a pattern.

use agentese::types::{Direction, FramesExpectation, TextExpectation};
use serde_json::Value;

use super::lines::{Line, Lines, shown};
use crate::path;
use crate::pattern::{Pattern, PatternError};
use crate::verdict::{Mismatch, Outcome};
use crate::words::counted;

/// The frames are the expected ones, in order, and no others.
pub(super) fn check(wanted: &FramesExpectation, lines: &Lines<'_>) -> Result<Outcome, PatternError> {
    let found = lines.fitting(&Pattern::new(&wanted.of)?);
    let patterns: Vec<Pattern> = wanted.frames.iter().map(Pattern::new).collect::<Result<_, _>>()?;
    let pairs = patterns.iter().zip(&found);
    let fitting = pairs.take_while(|(pattern, line)| pattern.fits(&line.frame)).count();
    let (pattern, line) = (wanted.frames.get(fitting), found.get(fitting));
    let what = match (pattern, line) {
        (None, None) => return Ok(Outcome::Held),
        (Some(_), Some(_)) => format!("frame {} of {} is another one", fitting + 1, patterns.len()),
        (Some(_), None) => format!("{} of {} frames came", found.len(), patterns.len()),
        (None, Some(_)) => {
            format!("{} came, not {}", counted(found.len(), "frame", "frames"), patterns.len())
        }
    };
    let path = match (pattern, line) {
        (Some(pattern), Some(line)) => difference(pattern, &line.frame),
        _ => String::new(),
    };
    Ok(failed(&wanted.says, what, path, pattern.map(|pattern| (fitting, pattern)), line.copied(), lines))
}

/// What the frames say at a path is the text.
pub(super) fn check_text(wanted: &TextExpectation, lines: &Lines<'_>) -> Result<Outcome, PatternError> {
    let mut rest = wanted.text.as_str();
    for line in lines.fitting(&Pattern::new(&wanted.of)?) {
        let Some(piece) = path::at(&line.frame, &wanted.path).and_then(Value::as_str) else { continue };
        match rest.strip_prefix(piece) {
            Some(after) => rest = after,
            None => {
                let what = format!("`{}` is not how the text goes on: `{}`", head(piece), head(rest));
                return Ok(failed(&wanted.says, what, wanted.path.clone(), None, Some(line), lines));
            }
        }
    }
    if rest.is_empty() {
        return Ok(Outcome::Held);
    }
    let what = format!("the text ends before `{}`", head(rest));
    Ok(failed(&wanted.says, what, wanted.path.clone(), None, None, lines))
}

fn failed(
    says: &str,
    what: String,
    path: String,
    expected: Option<(usize, &Value)>,
    found: Option<&Line<'_>>,
    lines: &Lines<'_>,
) -> Outcome {
    Outcome::Failed(Mismatch {
        says: format!("{says}: {what}"),
        path,
        expected: expected.map(|(at, pattern)| shown(at, Direction::S2c, &pattern.to_string())),
        found: found.map(|line| shown(line.record, Direction::S2c, line.text)),
        before: lines.before(found.map_or(lines.end(), |line| line.record)),
    })
}

/// The beginning of a text.
fn head(text: &str) -> String {
    let head: String = text.chars().take(40).collect();
    if head.len() < text.len() { head + "…" } else { head }
}

/// The path to the first member of a pattern that does not fit.
fn difference(pattern: &Value, frame: &Value) -> String {
    let mut path = String::new();
    let (mut pattern, mut frame) = (pattern, frame);
    while let Value::Object(members) = pattern {
        let wrong = members.iter().filter(|(name, _)| !name.starts_with('$')).find(|(name, pattern)| {
            let fits = |value| Pattern::new(pattern).is_ok_and(|pattern| pattern.fits(value));
            !frame.get(name.as_str()).is_some_and(fits)
        });
        let Some((name, inner)) = wrong else { break };
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(name);
        let Some(value) = frame.get(name) else { break };
        (pattern, frame) = (inner, value);
    }
    path
}
