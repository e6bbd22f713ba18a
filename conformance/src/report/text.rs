//! The report for people at a terminal.

use std::fmt::Write as _;

use agentese::dynamic;
use agentese::types::{
    CaseVerdict, CheckLevel, CheckOutcome, Direction, ReportCase, ReportCheck, ReportFrame, SuiteReport,
};

use crate::judge::{counts, shows};
use crate::words::counted;

/// How much of a line is shown, in characters.
const LINE: usize = 400;
/// How many checks of a case are shown in full.
const CHECKS: usize = 4;

/// Cases that fail with what differs, cases that are not plain passes in one line each, and a summary.
pub fn text(report: &SuiteReport) -> String {
    let mut out = String::new();
    for case in &report.cases {
        match case.verdict {
            CaseVerdict::Fail if case.expected.is_none() => failure(&mut out, case, report.level),
            CaseVerdict::Inconclusive => {
                let reason = case.reason.as_deref().unwrap_or_default();
                let _ = writeln!(out, "inconclusive  {}: {}", case.name, clip(reason));
            }
            _ => {}
        }
    }
    if report.cases.iter().all(|case| case.verdict == CaseVerdict::Inconclusive) {
        out = none_judged(report);
    }
    known(&mut out, report);
    lenient(&mut out, report);
    not_applicable(&mut out, report);
    summary(&mut out, report);
    out
}

/// One line where all cases are inconclusive for one reason.
fn none_judged(report: &SuiteReport) -> String {
    let mut reasons: Vec<&str> = report.cases.iter().filter_map(|case| case.reason.as_deref()).collect();
    reasons.dedup();
    let shown: Vec<String> = reasons.iter().take(3).map(|reason| clip(reason)).collect();
    format!("inconclusive  no case could be judged: {}\n", shown.join("; "))
}

fn failure(out: &mut String, case: &ReportCase, level: CheckLevel) {
    let _ = writeln!(out, "FAIL  {} ({}): {}", case.name, case.level, clip(&case.title));
    let failed = case.checks.iter().filter(|check| {
        check.outcome == CheckOutcome::Failed && check.known.is_none() && shows(check.level, level)
    });
    let failed: Vec<&ReportCheck> = failed.collect();
    for check in failed.iter().take(CHECKS) {
        out.push_str(&told(check));
    }
    if failed.len() > CHECKS {
        let more = counted(failed.len() - CHECKS, "more check that fails", "more checks that fail");
        let _ = writeln!(out, "    … and {more}");
    }
    out.push('\n');
}

/// A check that does not hold: what differs, the frames before, the frame that was expected, and the one
/// that came.
pub(super) fn told(check: &ReportCheck) -> String {
    let mut out = String::new();
    let path = check.path.as_ref().map(|path| format!(" at {path}")).unwrap_or_default();
    let says = check.says.as_deref().unwrap_or_default();
    let _ = writeln!(out, "    {} ({}){path}: {}", check.check, check.level, clip(says));
    for frame in check.before.iter().flatten() {
        self::frame(&mut out, "        ", frame);
    }
    if let Some(frame) = &check.expected {
        self::frame(&mut out, "expected", frame);
    }
    if let Some(frame) = &check.found {
        self::frame(&mut out, "   found", frame);
    }
    out
}

fn frame(out: &mut String, label: &str, frame: &ReportFrame) {
    let arrow = match frame.dir {
        Direction::C2s => "->",
        Direction::S2c => "<-",
    };
    let _ = writeln!(out, "      {label} {arrow} {}", clip(&frame.line));
}

/// A text as one line of limited length, without what would move the cursor.
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
            check.outcome == CheckOutcome::Allowed && counts(check.level, report.level)
        };
        let mut names: Vec<&str> =
            case.checks.iter().filter(is_allowed).filter_map(|check| check.allowance.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        let _ = writeln!(out, "lenient  {}: {}", case.name, names.join(", "));
    }
}

/// Cases that are none for the agent, by their reason.
fn not_applicable(out: &mut String, report: &SuiteReport) {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for case in report.cases.iter().filter(|case| case.verdict == CaseVerdict::NotApplicable) {
        let reason = case.reason.as_deref().unwrap_or_default();
        match by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(&case.name),
            None => by_reason.push((reason, vec![&case.name])),
        }
    }
    for (reason, names) in by_reason {
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
    if report.interrupted == Some(true) {
        out.push_str("The run was interrupted.\n");
    }
}

/// Failures by level: a `must` weighs more.
fn levels(out: &mut String, report: &SuiteReport) {
    let of_level = |level: CheckLevel| {
        let checks = report.cases.iter().flat_map(|case| &case.checks).filter(|check| check.level == level);
        let failed = |check: &&ReportCheck| check.outcome == CheckOutcome::Failed && check.known.is_none();
        (checks.clone().count(), checks.filter(failed).count())
    };
    let told: Vec<String> = CheckLevel::ALL
        .iter()
        .filter(|level| shows(**level, report.level))
        .map(|level| {
            let (all, failed) = of_level(*level);
            format!("{failed} of {all} `{level}`")
        })
        .collect();
    let _ = writeln!(out, "checks that fail: {}", told.join(", "));
}

/// How much of the dialect stands in cases that passed.
pub(super) fn covered(report: &SuiteReport) -> String {
    let Ok(spec) = dynamic::spec(&report.dialect) else { return String::new() };
    let good = |case: &&ReportCase| matches!(case.verdict, CaseVerdict::Pass | CaseVerdict::Lenient);
    let shown: Vec<&str> =
        report.cases.iter().filter(good).flat_map(|case| case.covers.iter().map(String::as_str)).collect();
    let kinds = [
        ("command", "commands", spec.commands.iter().map(|row| row.wire).collect::<Vec<_>>()),
        ("event", "events", spec.events.iter().map(|row| row.name).collect()),
        ("dialog", "dialogs", spec.dialogs.iter().map(|row| row.wire).collect()),
    ];
    let told: Vec<String> = kinds
        .iter()
        .filter(|(_, _, names)| !names.is_empty())
        .map(|(kind, plural, names)| {
            let count =
                names.iter().filter(|name| shown.contains(&format!("{kind} {name}").as_str())).count();
            format!("{count} of {} {plural}", names.len())
        })
        .collect();
    told.join(", ")
}
