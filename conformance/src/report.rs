//! Reports of a run, for users and for programs.
//!
//! A [`Report`] contains the data of the declared format `suite-report`, and the recordings of the cases.
//! The other formats are generated from it: [`text`], [`junit`], [`html`].

pub mod causes;
pub mod frame_listing;
pub mod html;
mod json_spans;
pub mod junit;
pub mod summary;
pub mod text;

use std::time::Duration;

use agentese::types::{
    CaseVerdict, CheckLevel, CheckOutcome, Profile, ReportCase, ReportCaseBuilder, ReportCheck, ReportFrame,
    ReportTotals, ReportTotalsBuilder, Scenario, SuiteReport, SuiteReportBuilder,
};

use crate::judge::can_fail;
use crate::recording::Recording;
use crate::run::{CaseResult, ExpectedFailuresFile, apply};
use crate::verdict::{Finding, LineExcerpt, Mismatch, Outcome, Verdict};

/// Facts about a run that do not belong to a single case.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// Profile of the agent.
    pub profile: &'a Profile,
    /// The command line of the agent.
    pub command: Vec<String>,
    /// Lowest level of the checks that can make a case fail.
    pub level: CheckLevel,
    /// Duration of the run.
    pub took: Duration,
    /// `true` if the run was interrupted.
    pub interrupted: bool,
    /// Names of all cases of the dialect, including those that were not played.
    pub known: &'a [String],
    /// Minimum percentage of the cases that must be judged.
    pub min_coverage: f64,
}

/// Result of a run.
#[derive(Debug, Clone)]
pub struct Report {
    /// Data of the report, in the format `suite-report`.
    pub data: SuiteReport,
    /// Lines of each case, in the order of the cases; `None` if the case was not played.
    pub recordings: Vec<Option<Recording>>,
}

impl Report {
    /// Creates the report of a run. If a file of expected failures is given, marks these failures, and adds
    /// wrong lines of the file to the problems.
    pub fn new(facts: &Facts<'_>, ran: Vec<CaseResult>, expected: Option<&ExpectedFailuresFile>) -> Self {
        let mut cases: Vec<ReportCase> = ran.iter().map(|ran| case(ran, facts.level)).collect();
        let problems = match expected {
            Some(expected) => apply(expected, &mut cases, facts.known, facts.level),
            None => Vec::new(),
        };
        let totals = totals(&cases);
        let mut notes = Vec::new();
        let covered = covered(&cases);
        let is_little = covered < facts.min_coverage;
        if is_little {
            let least = facts.min_coverage;
            notes.push(format!(
                "only {covered:.0} % of the cases were judged; --min-coverage requires {least:.0} %"
            ));
        } else if covered < LOW_COVERAGE && !cases.is_empty() {
            notes.push(format!(
                "only {covered:.0} % of the cases were judged; the others are not applicable or inconclusive"
            ));
        }
        notes.extend(not_exercised(facts, &cases));
        let exit_code = match exit_code(&totals, &problems, facts.interrupted) {
            0 if is_little => 2,
            code => code,
        };
        let mut data = SuiteReportBuilder {
            report: 1,
            suite: env!("CARGO_PKG_VERSION").into(),
            dialect: facts.profile.dialect.clone(),
            profile: facts.profile.name.clone(),
            agent: facts.profile.agent.clone(),
            command: facts.command.clone(),
            level: facts.level,
            ms: millis(facts.took),
            exit_code,
            totals,
            problems,
            cases,
        }
        .build();
        data.interrupted = facts.interrupted.then_some(true);
        data.notes = (!notes.is_empty()).then_some(notes);
        Report { data, recordings: ran.into_iter().map(|ran| ran.judgement.recording).collect() }
    }

    /// Returns the report as JSON, by the schema `sdk-rust/schema/formats/suite-report.json`.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.data).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// Percentage of judged cases below which a run without failures is not conclusive.
const LOW_COVERAGE: f64 = 50.0;

/// Returns the percentage of the cases that were judged.
fn covered(cases: &[ReportCase]) -> f64 {
    let is_judged =
        |case: &&ReportCase| !matches!(case.verdict, CaseVerdict::NotApplicable | CaseVerdict::Inconclusive);
    let judged = cases.iter().filter(is_judged).count();
    if cases.is_empty() { 0.0 } else { judged as f64 * 100.0 / cases.len() as f64 }
}

/// Lists the commands that the agent claims but that no played case covers. Returns `None` if there are
/// no such commands, or if only some cases were selected.
fn not_exercised(facts: &Facts<'_>, cases: &[ReportCase]) -> Option<String> {
    let claims = facts.profile.claims.as_ref()?;
    let spec = crate::spec(&facts.profile.dialect).ok().filter(|_| cases.len() == facts.known.len())?;
    let is_claimed = |name: &&str| {
        let named =
            |names: &Option<Vec<String>>| names.as_ref().map(|names| names.iter().any(|one| one == name));
        named(&claims.commands).unwrap_or(true) && named(&claims.without_commands) != Some(true)
    };
    let judged = || cases.iter().filter(|case| case.ms.is_some());
    let is_shown = |name: &&str| judged().any(|case| case.covers.contains(&format!("command {name}")));
    let names: Vec<&str> = spec.commands.iter().map(|row| row.wire).filter(is_claimed).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| !is_shown(name)).collect();
    let list = names.join(", ");
    (!names.is_empty()).then(|| format!("claimed, but not exercised by any applicable case: {list}"))
}

/// Returns the title of a case, with the section of the document that it judges.
fn title(case: &Scenario) -> String {
    match &case.section {
        Some(section) => format!("{} [{section}]", case.title),
        None => case.title.clone(),
    }
}

/// Returns the exit code. 1: a case fails unexpectedly, or the file of expected failures is wrong. 2: a case
/// is inconclusive. 0: otherwise.
fn exit_code(totals: &ReportTotals, problems: &[String], interrupted: bool) -> u64 {
    if totals.fail > 0 || !problems.is_empty() {
        1
    } else if totals.inconclusive > 0 || interrupted {
        2
    } else {
        0
    }
}

fn totals(cases: &[ReportCase]) -> ReportTotals {
    let count = |verdict: CaseVerdict, expected: Option<bool>| {
        let fits = |case: &&ReportCase| case.verdict == verdict && case.expected == expected;
        cases.iter().filter(fits).count() as u64
    };
    ReportTotalsBuilder {
        pass: count(CaseVerdict::Pass, None),
        lenient: count(CaseVerdict::Lenient, None),
        fail: count(CaseVerdict::Fail, None),
        expected_failure: count(CaseVerdict::Fail, Some(true)),
        inconclusive: count(CaseVerdict::Inconclusive, None),
        not_applicable: count(CaseVerdict::NotApplicable, None),
    }
    .build()
}

fn case(ran: &CaseResult, level: CheckLevel) -> ReportCase {
    let judged = &ran.judgement;
    let verdict = match judged.verdict(level) {
        Verdict::Pass => CaseVerdict::Pass,
        Verdict::Lenient => CaseVerdict::Lenient,
        Verdict::Fail => CaseVerdict::Fail,
        Verdict::Inconclusive => CaseVerdict::Inconclusive,
        Verdict::NotApplicable => CaseVerdict::NotApplicable,
    };
    let mut case = ReportCaseBuilder {
        name: judged.case.name.clone(),
        title: title(&judged.case),
        level: judged.case.level.unwrap_or(CheckLevel::Should),
        verdict,
        frames: judged.frames as u64,
        agreed: judged.agreed as u64,
        covers: judged.case.covers.clone().unwrap_or_default(),
        checks: judged.findings.iter().map(check).collect(),
    }
    .build();
    case.reason = judged
        .early_verdict
        .as_ref()
        .map(|(_, reason)| reason.clone())
        .or_else(|| inconclusive_reason(judged, level));
    case.ms = ran.took.map(millis);
    case
}

/// Returns the reason why a case is inconclusive although it was played.
fn inconclusive_reason(judged: &crate::judge::Judgement, level: CheckLevel) -> Option<String> {
    let is_inconclusive = judged.verdict(level) == Verdict::Inconclusive;
    let reasons = judged.findings.iter().filter_map(|finding| match &finding.outcome {
        Outcome::Unclear(reason) if can_fail(finding.level, level) => Some(reason.clone()),
        _ => None,
    });
    reasons.filter(|_| is_inconclusive).reduce(|all, reason| format!("{all}; {reason}"))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn check(finding: &Finding) -> ReportCheck {
    let outcome = match &finding.outcome {
        Outcome::Held => CheckOutcome::Held,
        Outcome::Allowed { .. } => CheckOutcome::Allowed,
        Outcome::Failed(_) => CheckOutcome::Failed,
        Outcome::Unclear(_) => CheckOutcome::Unclear,
    };
    let mut check = ReportCheck::new(&finding.check, finding.level, outcome);
    match &finding.outcome {
        Outcome::Held => {}
        Outcome::Unclear(reason) => check.says = Some(reason.clone()),
        Outcome::Failed(mismatch) => fill_mismatch(&mut check, mismatch),
        Outcome::Allowed { allowance, mismatch } => {
            check.allowance = Some(allowance.clone());
            fill_mismatch(&mut check, mismatch);
        }
    }
    check
}

/// Maximum length of a line in a report, in characters.
const LONGEST: usize = 20_000;

/// Limits the length of a line, which may have megabytes.
fn cut(line: &str) -> String {
    match line.char_indices().nth(LONGEST) {
        None => line.to_owned(),
        Some((end, _)) => format!("{}… ({} bytes)", &line[..end], line.len()),
    }
}

fn fill_mismatch(check: &mut ReportCheck, mismatch: &Mismatch) {
    let frame = |shown: &LineExcerpt| ReportFrame::new(shown.record as u64, shown.dir, cut(&shown.line));
    check.says = Some(mismatch.message.clone());
    check.path = (!mismatch.path.is_empty()).then(|| mismatch.path.clone());
    check.expected = mismatch.expected.as_ref().map(frame);
    check.found = mismatch.found.as_ref().map(frame);
    check.before = (!mismatch.before.is_empty()).then(|| mismatch.before.iter().map(frame).collect());
}
