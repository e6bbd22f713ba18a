//! A case on the page: what its checks say, and what was said.

use std::collections::BTreeSet;

use agentese::types::{CheckOutcome, ReportCase, ReportCheck, ReportFrame};
use maud::{Markup, html};

use super::super::place::place;
use super::frames::{anchor, clip, frames};
use super::{kind, seconds};
use crate::recording::Recording;

pub(super) fn case(at: usize, case: &ReportCase, recording: Option<&Recording>) -> Markup {
    let (class, word) = kind(case);
    let mut told: Vec<&ReportCheck> =
        case.checks.iter().filter(|check| check.outcome != CheckOutcome::Held).collect();
    told.sort_by_key(|check| check.outcome == CheckOutcome::Allowed);
    let held = case.checks.len() - told.len();
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
                @for found in &told { (check(at, found)) }
                @if held > 0 && told.is_empty() { p.reason { (if held == 1 { "The one check holds.".to_owned() } else { format!("All {held} checks hold.") }) } }
                @if !case.covers.is_empty() { p.covers { "Covers " (case.covers.join(", ")) "." } }
                @if let Some(recording) = recording {
                    h2 { "What was said" }
                    (frames(at, recording, &blamed(&told), matches!(class, "fail" | "known" | "unsure")))
                }
            }
        }
    }
}

/// The lines that checks blame.
fn blamed(checks: &[&ReportCheck]) -> BTreeSet<u64> {
    let failed = checks.iter().filter(|check| check.outcome == CheckOutcome::Failed);
    failed.filter_map(|check| check.found.as_ref().map(|frame| frame.record)).collect()
}

fn check(at: usize, check: &ReportCheck) -> Markup {
    let class = match check.outcome {
        CheckOutcome::Allowed => "allowed",
        CheckOutcome::Unclear => "unclear",
        _ if check.known.is_some() => "expected",
        _ => "failed",
    };
    let head = html! {
        span.name { (check.check) } " " span.level { (check.level) }
        @if let Some(allowance) = &check.allowance { " allowed: " (allowance) }
        @if let Some(path) = &check.path { " at " code { (path) } }
        @if let Some(says) = &check.says { ": " (says) }
    };
    let body = html! {
        @if let Some(reason) = &check.known { p.known { "Known: " (reason) } }
        div.pair {
            @if let Some(frame) = &check.expected { (shown("expected", "wanted", None, frame, check.path.as_deref())) }
            @if let Some(frame) = &check.found { (shown("found", "came", Some(at), frame, check.path.as_deref())) }
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

/// Lines that are shorter have the member that differs marked.
const MARKED: usize = 20_000;

fn shown(label: &str, class: &str, of: Option<usize>, frame: &ReportFrame, path: Option<&str>) -> Markup {
    html! {
        span {
            @match of {
                Some(at) => { a href={ "#" (anchor(at, frame.record)) } { (label) } }
                None => { (label) }
            }
        }
        pre.(class) {
            @match path.and_then(|path| place(&frame.line, path)).filter(|_| frame.line.len() < MARKED) {
                Some((from, to)) => { (frame.line[..from]) mark { (frame.line[from..to]) } (frame.line[to..]) }
                None => { (clip(&frame.line)) }
            }
        }
    }
}
