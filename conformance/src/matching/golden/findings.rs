//! Findings of the comparison, by check.

use std::collections::BTreeMap;

use agentese::types::{CheckLevel, Scenario};
use regex::Regex;

use super::rules::Rules;
use super::tables::Form;
use super::transcript_streams::TranscriptStreams;
use crate::matching::difference::{Difference, Weight};
use crate::matching::excerpts::{before, line};
use crate::verdict::{Finding, Mismatch, Outcome};

/// Names of checks, as in files of expected failures.
pub mod checks {
    /// Answers: one for each command, with its id, its name, its success and its data.
    pub const ANSWERS: &str = "answers";
    /// Events and their content.
    pub const EVENTS: &str = "events";
    /// Questions and notices to the user of the client.
    pub const DIALOGS: &str = "dialogs";
    /// Order of frames within a stream.
    pub const ORDER: &str = "order";
    /// Order of frames in different streams, as far as it is documented.
    pub const ORDER_BETWEEN_STREAMS: &str = "order-between-streams";
    /// Snapshots of growing messages: the message so far in each update.
    pub const SNAPSHOTS: &str = "snapshots";
    /// Partial outputs of tools.
    pub const TOOL_UPDATES: &str = "tool-updates";
    /// Lines that are not frames, and frames in the wrong envelope.
    pub const FRAMING: &str = "framing";
    /// End of the process.
    pub const EXIT: &str = "exit";
    /// Allowances of the case.
    pub const CASE: &str = "case";
    /// All checks, in the order of reports.
    pub const ALL: [&str; 10] = [
        ANSWERS,
        EVENTS,
        DIALOGS,
        ORDER,
        ORDER_BETWEEN_STREAMS,
        SNAPSHOTS,
        TOOL_UPDATES,
        FRAMING,
        EXIT,
        CASE,
    ];
}

/// Maximum number of listed findings for each check and allowance. The rest are only counted.
const MAX_LISTED: usize = 500;

/// An allowance of a case, with its limits.
struct BoundedAllowance {
    name: &'static str,
    /// Index of the golden record from which the allowance applies.
    from: usize,
    checks: Option<Vec<String>>,
    path: Option<Regex>,
}

/// Positions of a difference in both transcripts, as indexes of records.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordPair {
    pub(super) golden: Option<usize>,
    pub(super) observed: Option<usize>,
}

/// The findings so far.
pub(super) struct Findings<'a> {
    golden: &'a TranscriptStreams<'a>,
    observed: &'a TranscriptStreams<'a>,
    level: CheckLevel,
    bounded_allowances: Vec<BoundedAllowance>,
    /// Index of the golden record at which a missing run would start, and the allowance that permits the
    /// rejection of its command.
    ///
    /// From that record on, the model answers different requests than in the recording.
    pub(super) refused: Option<(usize, &'static str)>,
    list: Vec<Finding>,
    /// Number of findings, by check and by allowance.
    counts: BTreeMap<(&'static str, &'static str), usize>,
    pub(super) frames: usize,
    pub(super) agreed: usize,
}

impl<'a> Findings<'a> {
    pub(super) fn new(
        rules: &Rules,
        case: &Scenario,
        golden: &'a TranscriptStreams<'a>,
        observed: &'a TranscriptStreams<'a>,
    ) -> Self {
        let level = case.level.unwrap_or(CheckLevel::Should);
        let mut findings = Self {
            golden,
            observed,
            level,
            bounded_allowances: Vec::new(),
            refused: None,
            list: Vec::new(),
            counts: BTreeMap::new(),
            frames: 0,
            agreed: 0,
        };
        findings.add_bounded_allowances(rules, case);
        findings
    }

    fn add_bounded_allowances(&mut self, rules: &Rules, case: &Scenario) {
        for named in case.allow.iter().flatten() {
            let allowance = rules.allowance(&named.allow).filter(|row| matches!(row.form, Form::Bounded));
            let path = named.path.as_deref().map(Regex::new).transpose();
            let (Some(allowance), Ok(path)) = (allowance, path) else {
                let reason = format!("unknown allowance `{}` for a case, or invalid path", named.allow);
                let outcome = Outcome::Unclear(reason);
                self.list.push(Finding { check: checks::CASE.to_owned(), level: CheckLevel::Must, outcome });
                continue;
            };
            let first =
                |from: &String| self.golden.commands().find(|sent| sent.command.as_ref() == Some(from));
            let from = named.from.as_ref().map_or(Some(0), |from| first(from).map(|sent| sent.record));
            let Some(from) = from else { continue };
            self.bounded_allowances.push(BoundedAllowance {
                name: allowance.name,
                from,
                checks: named.checks.clone(),
                path,
            });
        }
    }

    /// Adds a compared pair of frames with its differences.
    pub(super) fn frame(&mut self, check: &'static str, records: RecordPair, differences: Vec<Difference>) {
        let mut agreed = true;
        for difference in differences {
            agreed &= !self.difference(check, records, difference);
        }
        self.frames += 1;
        self.agreed += usize::from(agreed);
    }

    /// Adds a difference. Returns `true` if it is a failure.
    pub(super) fn difference(
        &mut self,
        check: &'static str,
        records: RecordPair,
        mut difference: Difference,
    ) -> bool {
        if difference.is_failure() {
            difference.allowance = self
                .case_allowance(check, records, &difference)
                .or_else(|| self.caused_by(check, records, &difference));
        }
        let counts = difference.is_failure();
        let count = self.counts.entry((check, difference.allowance.unwrap_or_default())).or_default();
        *count += 1;
        if *count > MAX_LISTED {
            return counts;
        }
        let level = match difference.weight {
            Weight::Must => CheckLevel::Must,
            Weight::Case => self.level,
            Weight::Info => CheckLevel::Info,
        };
        let mismatch = self.mismatch(records, &difference);
        let outcome = match difference.allowance {
            Some(allowance) => Outcome::Allowed { allowance: allowance.to_owned(), mismatch },
            None => Outcome::Failed(mismatch),
        };
        self.list.push(Finding { check: check.to_owned(), level, outcome });
        counts
    }

    fn place(&self, records: RecordPair) -> usize {
        let about = || Some(self.golden.corresponding_record(self.observed, records.observed?));
        records.golden.or_else(about).unwrap_or_default()
    }

    /// Returns the allowance for a difference that is a consequence of a permitted rejection. Returns `None`
    /// if the document requires the expected value.
    fn caused_by(&self, check: &str, records: RecordPair, difference: &Difference) -> Option<&'static str> {
        let (from, allowance) = self.refused.filter(|_| difference.weight == Weight::Case)?;
        let may_follow = match check {
            checks::EVENTS | checks::ORDER | checks::TOOL_UPDATES => true,
            checks::ANSWERS => !difference.path.is_empty(),
            _ => false,
        };
        (may_follow && self.place(records) > from).then_some(allowance)
    }

    /// Returns the case's allowance for a difference. A missing answer is never allowed.
    fn case_allowance(
        &self,
        check: &str,
        records: RecordPair,
        difference: &Difference,
    ) -> Option<&'static str> {
        if check == checks::ANSWERS && records.observed.is_none() {
            return None;
        }
        let at = self.place(records);
        // A path may start with the id of an answer.
        let answer = self.golden.answers.iter().find(|answer| Some(answer.record) == records.golden);
        let id = answer.and_then(|answer| answer.id.as_deref()).map(|id| id.trim_matches('"'));
        let of = id.map(|id| format!("{id} {}", difference.path));
        let found = self.bounded_allowances.iter().find(|bounds| {
            at >= bounds.from
                && bounds.checks.as_ref().is_none_or(|checks| checks.iter().any(|name| name == check))
                && bounds.path.as_ref().is_none_or(|path| {
                    path.is_match(&difference.path) || of.as_ref().is_some_and(|of| path.is_match(of))
                })
        });
        found.map(|bounds| bounds.name)
    }

    fn mismatch(&self, records: RecordPair, difference: &Difference) -> Mismatch {
        let (expected, found) = (self.golden.transcript, self.observed.transcript);
        let before = match (records.observed, records.golden) {
            (Some(record), _) => before(found, record),
            (None, Some(record)) => before(expected, record),
            (None, None) => Vec::new(),
        };
        Mismatch {
            message: difference.message.clone(),
            path: difference.path.clone(),
            expected: records.golden.and_then(|record| line(expected, record)),
            found: records.observed.and_then(|record| line(found, record)),
            before,
        }
    }

    /// Returns all differences, and a finding for each check without a failure.
    pub(super) fn finish(mut self) -> Vec<Finding> {
        for ((check, allowance), count) in &self.counts {
            if *count > MAX_LISTED {
                let kind = if allowance.is_empty() { String::new() } else { format!(" under `{allowance}`") };
                let message = format!("{} more differences{kind}", count - MAX_LISTED);
                let outcome = if allowance.is_empty() {
                    Outcome::Failed(Mismatch { message, ..Mismatch::default() })
                } else {
                    let mismatch = Mismatch { message, ..Mismatch::default() };
                    Outcome::Allowed { allowance: (*allowance).to_owned(), mismatch }
                };
                let weighs = self.list.iter().filter(|finding| finding.check == *check);
                let level = weighs.map(|finding| finding.level).min_by_key(rank).unwrap_or(CheckLevel::Info);
                self.list.push(Finding { check: (*check).to_owned(), level, outcome });
            }
        }
        for check in checks::ALL {
            let fails = |finding: &Finding| {
                finding.check == check && !matches!(finding.outcome, Outcome::Allowed { .. })
            };
            if !self.list.iter().any(fails) {
                let (check, level) = (check.to_owned(), self.level);
                self.list.push(Finding { check, level, outcome: Outcome::Held });
            }
        }
        let place = |finding: &Finding| checks::ALL.iter().position(|check| finding.check == *check);
        self.list.sort_by_key(place);
        self.list
    }
}

/// Returns the rank of a level; the most severe level has rank 0.
fn rank(level: &CheckLevel) -> u8 {
    match level {
        CheckLevel::Must => 0,
        CheckLevel::Should => 1,
        CheckLevel::Info => 2,
    }
}
