//! The report as text for a terminal.

use std::fmt::Write as _;

use agentese::types::{
    CaseVerdict, CheckLevel, CheckOutcome, Direction, ReportCase, ReportCheck, ReportFrame, SuiteReport,
};

use super::causes::{Cause, causes};
use super::json_spans::{excerpt, span_of};
use crate::judge::{can_fail, is_visible};
use crate::suggestions::counted;

/// Maximum displayed length of a line, in characters.
const LINE: usize = 400;
/// Maximum number of causes that are displayed with their frames. Each further cause gets one line.
const CAUSES: usize = 12;
/// Maximum number of cases that are named for a cause.
const NAMED: usize = 8;

/// Formats the report: each cause once with its cases, a line for each other case that needs attention, and a
/// summary.
pub fn text(report: &SuiteReport) -> String {
    let mut out = String::new();
    failures(&mut out, report);
    if report.cases.iter().all(|case| case.verdict == CaseVerdict::Inconclusive) {
        out = none_judged(report);
    } else {
        inconclusive(&mut out, report);
    }
    known(&mut out, report);
    lenient(&mut out, report);
    not_applicable(&mut out, report);
    summary(&mut out, report);
    out
}

fn failures(out: &mut String, report: &SuiteReport) {
    for (at, cause) in causes(report).iter().enumerate() {
        let Some(case) = cause.cases.first() else { continue };
        if at < CAUSES {
            let _ = writeln!(out, "FAIL  {}", head(cause.check));
            let _ = writeln!(out, "      {}", cases_of(cause));
            out.push_str(&evidence(cause.check));
            if cause.cases.len() > 1 {
                let _ = writeln!(out, "      (from {}: {})", case.name, clip(&case.title));
            }
            out.push('\n');
        } else {
            let _ = writeln!(out, "FAIL  {} [{}]", head(cause.check), cases_of(cause));
        }
    }
    let is_failed = |case: &&ReportCase| case.verdict == CaseVerdict::Fail && case.expected.is_none();
    let failed: Vec<&str> = report.cases.iter().filter(is_failed).map(|case| case.name.as_str()).collect();
    if !failed.is_empty() {
        let _ = writeln!(out, "cases that fail  {}", failed.join(", "));
    }
}

/// Lists the cases of a cause.
fn cases_of(cause: &Cause<'_>) -> String {
    let names: Vec<&str> = cause.cases.iter().take(NAMED).map(|case| case.name.as_str()).collect();
    let more = cause.cases.len() - names.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let count = counted(cause.cases.len(), "case", "cases");
    format!("in {count}: {}{more}", names.join(", "))
}

fn inconclusive(out: &mut String, report: &SuiteReport) {
    let unsure = report.cases.iter().filter(|case| case.verdict == CaseVerdict::Inconclusive);
    for (reason, names) in by_reason(unsure) {
        let _ = writeln!(out, "inconclusive  {}: {}", names.join(", "), clip(reason));
    }
}

/// Groups cases by the reason of their verdict.
fn by_reason<'r>(cases: impl Iterator<Item = &'r ReportCase>) -> Vec<(&'r str, Vec<&'r str>)> {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for case in cases {
        let reason = case.reason.as_deref().unwrap_or_default();
        match by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(&case.name),
            None => by_reason.push((reason, vec![&case.name])),
        }
    }
    by_reason
}

/// Returns the line for a run in which all cases are inconclusive.
fn none_judged(report: &SuiteReport) -> String {
    let mut reasons: Vec<&str> = report.cases.iter().filter_map(|case| case.reason.as_deref()).collect();
    reasons.dedup();
    let shown: Vec<String> = reasons.iter().take(3).map(|reason| clip(reason)).collect();
    format!("inconclusive  no case could be judged: {}\n", shown.join("; "))
}

/// Describes a failed check and the path of the difference.
fn head(check: &ReportCheck) -> String {
    let path = check.path.as_ref().map(|path| format!(" at {path}")).unwrap_or_default();
    let message = check.says.as_deref().unwrap_or_default();
    format!("{} ({}){path}: {}", check.check, check.level, clip(message))
}

/// Formats a failed check: the difference, earlier frames, the expected frame, and the found frame.
pub(super) fn check_text(check: &ReportCheck) -> String {
    format!("    {}\n{}", head(check), evidence(check))
}

/// Formats earlier frames, the expected frame and the found frame. Marks the difference in both.
fn evidence(check: &ReportCheck) -> String {
    let mut out = String::new();
    for frame in check.before.iter().flatten() {
        self::frame(&mut out, "        ", frame, None);
    }
    let path = check.path.as_deref();
    if let Some(frame) = &check.expected {
        self::frame(&mut out, "expected", frame, path);
    }
    if let Some(frame) = &check.found {
        self::frame(&mut out, "   found", frame, path);
    }
    out
}

fn frame(out: &mut String, label: &str, frame: &ReportFrame, path: Option<&str>) {
    let arrow = match frame.dir {
        Direction::C2s => "->",
        Direction::S2c => "<-",
    };
    let line = path.and_then(|path| marked(&frame.line, path)).unwrap_or_else(|| clip(&frame.line));
    let _ = writeln!(out, "      {label} {arrow} {line}");
}

/// Number of displayed characters on each side of a mark.
const AROUND: usize = 160;

/// Returns an excerpt of the line in which the differing member is between `»` and `«`.
fn marked(line: &str, path: &str) -> Option<String> {
    let [before, value, after] = excerpt(line, span_of(line, path)?, AROUND);
    Some(format!("{}»{}«{}", clip(&before), clip(&value), clip(&after)))
}

/// Formats a text as one line of limited length, without control characters.
fn clip(text: &str) -> String {
    let plain = |character: char| if character.is_control() { '\u{fffd}' } else { character };
    let line: String = text.trim_end().replace('\n', " ").chars().map(plain).collect();
    match line.char_indices().nth(LINE) {
        None => line,
        Some((end, _)) => format!("{} … ({} characters)", &line[..end], line.chars().count()),
    }
}

fn known(out: &mut String, report: &SuiteReport) {
    for case in report.cases.iter().filter(|case| case.expected == Some(true)) {
        let mut reasons: Vec<&str> = case.checks.iter().filter_map(|check| check.known.as_deref()).collect();
        reasons.dedup();
        let _ = writeln!(out, "known failure  {}: {}", case.name, clip(&reasons.join("; ")));
    }
}

fn lenient(out: &mut String, report: &SuiteReport) {
    for case in report.cases.iter().filter(|case| case.verdict == CaseVerdict::Lenient) {
        let is_allowed = |check: &&ReportCheck| {
            check.outcome == CheckOutcome::Allowed && can_fail(check.level, report.level)
        };
        let mut names: Vec<&str> =
            case.checks.iter().filter(is_allowed).filter_map(|check| check.allowance.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        let _ = writeln!(out, "lenient  {}: {}", case.name, names.join(", "));
    }
}

/// Lists cases that do not apply to the agent, by their reason.
fn not_applicable(out: &mut String, report: &SuiteReport) {
    let others = report.cases.iter().filter(|case| case.verdict == CaseVerdict::NotApplicable);
    for (reason, names) in by_reason(others) {
        let _ = writeln!(out, "not applicable  {}: {reason}", names.join(", "));
    }
}

fn summary(out: &mut String, report: &SuiteReport) {
    for problem in &report.problems {
        let _ = writeln!(out, "WRONG  {}", clip(problem));
    }
    if !out.is_empty() {
        out.push('\n');
    }
    let totals = &report.totals;
    let counts = [
        (totals.pass, "pass"),
        (totals.lenient, "lenient"),
        (totals.fail, "fail"),
        (totals.expected_failure, "known to fail"),
        (totals.inconclusive, "inconclusive"),
        (totals.not_applicable, "not applicable"),
    ];
    let told: Vec<String> = counts
        .iter()
        .filter(|(count, what)| *count > 0 || *what == "fail")
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let seconds = report.ms as f64 / 1000.0;
    let _ = writeln!(
        out,
        "{} of {} against {} in {seconds:.1} s: {}",
        counted(report.cases.len(), "case", "cases"),
        report.dialect,
        report.agent,
        told.join(", ")
    );
    if report.cases.iter().any(|case| case.ms.is_some()) {
        levels(out, report);
        let _ = writeln!(out, "shown by cases that pass: {}", covered(report));
    }
    for note in report.notes.iter().flatten() {
        let _ = writeln!(out, "NOTE  {}", clip(note));
    }
    if report.interrupted == Some(true) {
        out.push_str("The run was interrupted.\n");
    }
}

/// Counts failures by level, because a failure of the level *must* is more severe.
fn levels(out: &mut String, report: &SuiteReport) {
    let of_level = |level: CheckLevel| {
        let checks = report.cases.iter().flat_map(|case| &case.checks).filter(|check| check.level == level);
        let failed = |check: &&ReportCheck| check.outcome == CheckOutcome::Failed && check.known.is_none();
        (checks.clone().count(), checks.filter(failed).count())
    };
    let told: Vec<String> = CheckLevel::ALL
        .iter()
        .filter(|level| is_visible(**level, report.level))
        .map(|level| {
            let (all, failed) = of_level(*level);
            format!("{failed} of {all} `{level}`")
        })
        .collect();
    let _ = writeln!(out, "checks that fail: {}", told.join(", "));
}

/// Describes how much of the dialect the passed cases cover.
pub(super) fn covered(report: &SuiteReport) -> String {
    let told: Vec<String> = shares(report)
        .into_iter()
        .filter(|(_, _, of)| *of > 0)
        .map(|(plural, shown, of)| format!("{shown} of {of} {plural}"))
        .collect();
    told.join(", ")
}

/// Returns the number of items that passed cases cover, and the number of all items, for commands, events and
/// dialogs.
pub(super) fn shares(report: &SuiteReport) -> Vec<(&'static str, usize, usize)> {
    let Ok(spec) = crate::spec(&report.dialect) else { return Vec::new() };
    let good = |case: &&ReportCase| matches!(case.verdict, CaseVerdict::Pass | CaseVerdict::Lenient);
    let shown: Vec<&str> =
        report.cases.iter().filter(good).flat_map(|case| case.covers.iter().map(String::as_str)).collect();
    let kinds = [
        ("command", "commands", spec.commands.iter().map(|row| row.wire).collect::<Vec<_>>()),
        ("event", "events", spec.events.iter().map(|row| row.name).collect()),
        ("dialog", "dialogs", spec.dialogs.iter().map(|row| row.wire).collect()),
    ];
    let share = |(kind, plural, names): (&str, &'static str, Vec<&str>)| {
        let is_shown = |name: &&&str| shown.contains(&format!("{kind} {name}").as_str());
        (plural, names.iter().filter(is_shown).count(), names.len())
    };
    kinds.into_iter().map(share).collect()
}
