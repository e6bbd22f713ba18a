//! Section of the page for one case: its checks and its lines.

use std::collections::BTreeSet;

use agentese::types::{CheckOutcome, ReportCase, ReportCheck, ReportFrame};
use maud::{Markup, html};

use super::super::json_spans::{excerpt, span_of};
use super::frames::{LONGEST, anchor, clip, frames};
use super::{kind, seconds};
use crate::recording::Recording;

/// Renders a case. If `has_room` is `true`, failed, known and inconclusive cases are rendered with whole
/// lines.
pub(super) fn case(at: usize, case: &ReportCase, recording: Option<&Recording>, has_room: bool) -> Markup {
    let (class, word) = kind(case);
    let whole = has_room && matches!(class, "fail" | "known" | "unsure");
    let mut told: Vec<&ReportCheck> =
        case.checks.iter().filter(|check| check.outcome != CheckOutcome::Held).collect();
    told.sort_by_key(|check| check.outcome == CheckOutcome::Allowed);
    let held = case.checks.len() - told.len();
    let few = if whole { usize::MAX } else { FEW };
    html! {
        details.case.(class) id={ "case-" (at) } data-covers=(case.covers.join(" ")) {
            summary {
                span.badge { (word) }
                span.what { strong { (case.name) } " " span { (case.title) } }
                span.facts {
                    (case.level) @if case.frames > 0 { " · " (case.agreed) "/" (case.frames) " frames" }
                    @if let Some(ms) = case.ms { " · " (seconds(ms)) }
                }
            }
            div.inside {
                @if let Some(reason) = &case.reason { p.reason { (reason) } }
                @for found in told.iter().take(few) { (check(at, found, whole)) }
                @if told.len() > few { p.reason { (told.len() - few) " more; the report in JSON has all of them." } }
                @if held > 0 && told.is_empty() { p.reason { (if held == 1 { "The only check passes.".to_owned() } else { format!("All {held} checks pass.") }) } }
                @if !case.covers.is_empty() { p.covers { "Covers " (case.covers.join(", ")) "." } }
                @if let Some(recording) = recording {
                    h2 { "Frames" }
                    (frames(at, recording, &failed_records(&told), whole))
                }
            }
        }
    }
}

/// Returns the records of the lines at which a check failed.
fn failed_records(checks: &[&ReportCheck]) -> BTreeSet<u64> {
    let failed = checks.iter().filter(|check| check.outcome == CheckOutcome::Failed);
    failed.filter_map(|check| check.found.as_ref().map(|frame| frame.record)).collect()
}

fn check(at: usize, check: &ReportCheck, whole: bool) -> Markup {
    let class = match check.outcome {
        CheckOutcome::Allowed => "allowed",
        CheckOutcome::Unclear => "unclear",
        _ if check.known.is_some() => "expected",
        _ => "failed",
    };
    let whole = whole && check.outcome != CheckOutcome::Allowed;
    let path = check.path.as_deref();
    let head = html! {
        span.name { (check.check) } " " span.level { (check.level) }
        @if let Some(allowance) = &check.allowance { " allowed: " (allowance) }
        @if let Some(path) = &check.path { " at " code { (path) } }
        @if let Some(message) = &check.says { ": " (message) }
    };
    let body = html! {
        @if let Some(reason) = &check.known { p.known { "Known: " (reason) } }
        div.pair {
            @if let Some(frame) = &check.expected { (frame_markup("expected", "wanted", None, frame, path, whole)) }
            @if let Some(frame) = &check.found { (frame_markup("found", "came", Some(at), frame, path, whole)) }
        }
    };
    html! {
        @if check.outcome == CheckOutcome::Allowed {
            details.check.(class) { summary { (head) } (body) }
        } @else {
            div.check.(class) { p { (head) } (body) }
        }
    }
}

/// Maximum length in bytes of a line in which the differing member is marked.
const MARKED: usize = 20_000;
/// Maximum number of characters on each side of the differing member, and of the member itself, if lines
/// are shortened.
const AROUND: usize = 80;
/// Maximum number of checks that are displayed if lines are shortened.
const FEW: usize = 5;

fn frame_markup(
    label: &str,
    class: &str,
    of: Option<usize>,
    frame: &ReportFrame,
    path: Option<&str>,
    whole: bool,
) -> Markup {
    let around = if whole { usize::MAX } else { AROUND };
    let found = path.and_then(|path| span_of(&frame.line, path));
    let marked = found.filter(|_| !whole || frame.line.len() < MARKED);
    html! {
        span {
            @match of {
                Some(at) => { a href={ "#" (anchor(at, frame.record)) } { (label) } }
                None => { (label) }
            }
        }
        pre.(class) {
            @match marked.map(|found| excerpt(&frame.line, found, around)) {
                Some([before, value, after]) => { (before) mark { (clip(&value, around)) } (after) }
                None if whole => { (clip(&frame.line, LONGEST)) }
                None => { (clip(&frame.line, 2 * AROUND)) }
            }
        }
    }
}
