//! Checks of the frames that fit a pattern.

use agentese::types::{Direction, FramesExpectation, TextExpectation};
use serde_json::Value;

use super::lines::{AgentLine, AgentLines};
use crate::matching::difference::Difference;
use crate::matching::excerpts::excerpt;
use crate::matching::near::{first_difference, near_miss};
use crate::matching::path;
use crate::matching::pattern::{Pattern, PatternError};
use crate::suggestions::counted;
use crate::verdict::{Mismatch, Outcome};

/// Checks that the frames that fit the pattern are exactly the expected ones, in order.
pub(super) fn check(wanted: &FramesExpectation, lines: &AgentLines<'_>) -> Result<Outcome, PatternError> {
    let found = lines.fitting(&Pattern::new(&wanted.of)?);
    let patterns: Vec<Pattern> = wanted.frames.iter().map(Pattern::new).collect::<Result<_, _>>()?;
    let pairs = patterns.iter().zip(&found);
    let fitting = pairs.take_while(|(pattern, line)| pattern.fits(&line.frame)).count();
    let (pattern, line) = (wanted.frames.get(fitting), found.get(fitting));
    let what = match (pattern, line) {
        (None, None) => return Ok(Outcome::Held),
        (Some(pattern), Some(line)) => {
            let place = format!("frame {} of {}", fitting + 1, patterns.len());
            match first_difference(pattern, &line.frame) {
                Some(difference) => format!("{place}: {}", difference.message),
                None => format!("{place} is different"),
            }
        }
        (Some(pattern), None) => {
            if let Some((line, Difference { message: says, path, .. })) =
                nearest_frame(&wanted.of, pattern, lines)
            {
                let pattern = Some((fitting, pattern));
                return Ok(failed(&wanted.says, says, path, pattern, Some(line), lines));
            }
            let next = pattern_names(&wanted.of, pattern);
            format!("{} of {} frames; {next} is missing", found.len(), patterns.len())
        }
        (None, Some(_)) => {
            format!("{} instead of {}", counted(found.len(), "frame", "frames"), patterns.len())
        }
    };
    let path = match (pattern, line) {
        (Some(pattern), Some(line)) => {
            first_difference(pattern, &line.frame).map(|difference| difference.path).unwrap_or_default()
        }
        _ => String::new(),
    };
    Ok(failed(&wanted.says, what, path, pattern.map(|pattern| (fitting, pattern)), line.copied(), lines))
}

/// Checks that the texts at a path, joined in order, form the expected text.
pub(super) fn check_text(wanted: &TextExpectation, lines: &AgentLines<'_>) -> Result<Outcome, PatternError> {
    let mut rest = wanted.text.as_str();
    for line in lines.fitting(&Pattern::new(&wanted.of)?) {
        let Some(piece) = path::get(&line.frame, &wanted.path).and_then(Value::as_str) else { continue };
        match rest.strip_prefix(piece) {
            Some(after) => rest = after,
            None => {
                let what = format!("`{}` is not the continuation of the text: `{}`", head(piece), head(rest));
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

/// Creates the outcome of a failed check.
pub(super) fn failed(
    message: &str,
    what: String,
    path: String,
    expected: Option<(usize, &Value)>,
    found: Option<&AgentLine<'_>>,
    lines: &AgentLines<'_>,
) -> Outcome {
    Outcome::Failed(Mismatch {
        message: format!("{message}: {what}"),
        path,
        expected: expected.map(|(at, pattern)| excerpt(at, Direction::S2c, &pattern.to_string())),
        found: found.map(|line| excerpt(line.record, Direction::S2c, line.text)),
        before: lines.before(found.map_or(lines.end(), |line| line.record)),
    })
}

/// Returns the first 40 characters of a text.
fn head(text: &str) -> String {
    let head: String = text.chars().take(40).collect();
    if head.len() < text.len() { head + "…" } else { head }
}

/// Finds a frame that fits the pattern `of` except for one member, and returns that difference. The frame
/// must also fit the pattern of the check.
fn nearest_frame<'l, 'a>(
    of: &Value,
    pattern: &Value,
    lines: &'l AgentLines<'a>,
) -> Option<(&'l AgentLine<'a>, Difference)> {
    let fits = Pattern::new(of).ok()?;
    let mut others = lines.all().filter(|line| !fits.fits(&line.frame));
    others.find_map(|line| {
        near_miss(of, &line.frame)?;
        // The pattern of the check distinguishes the frame from others of its type.
        let is_meant = Pattern::new(pattern).is_ok_and(|pattern| pattern.fits(&line.frame));
        first_difference(of, &line.frame).filter(|_| is_meant).map(|difference| (line, difference))
    })
}

/// Describes a missing frame by its pattern, in few characters.
fn pattern_names(of: &Value, pattern: &Value) -> String {
    let is_object = |value: &&Value| value.as_object().is_some_and(|members| !members.is_empty());
    let named = [pattern, of].into_iter().find(is_object).unwrap_or(of);
    format!("`{}`", head(&named.to_string()))
}
