//! Causes of failures, each of which is reported once.
//!
//! A cause is a check, a place in the frame, and a kind of difference; the differing values do not matter.
//! One cause may occur in many cases.

use std::collections::HashMap;

use agentese::types::{CaseVerdict, CheckLevel, CheckOutcome, ReportCase, ReportCheck, SuiteReport};

use crate::judge::is_visible;
use crate::matching::checks;
use crate::run::without_indexes;

/// A cause of failures, and the cases in which it occurs.
#[derive(Debug)]
pub struct Cause<'r> {
    /// First failure with this cause.
    pub check: &'r ReportCheck,
    /// Number of failures with this cause.
    pub times: usize,
    /// Cases with this cause, in order, starting with the case of the first failure.
    pub cases: Vec<&'r ReportCase>,
}

impl Cause<'_> {
    /// Returns the path in the frame, without the indexes of elements.
    pub fn path(&self) -> Option<String> {
        self.check.path.as_deref().map(without_indexes)
    }
}

/// Returns the causes of all unexpected failures. Violations of the document precede other causes; then
/// causes with more cases precede those with fewer.
pub fn causes(report: &SuiteReport) -> Vec<Cause<'_>> {
    let mut causes: Vec<Cause<'_>> = Vec::new();
    let mut places: HashMap<(&str, String, String), usize> = HashMap::new();
    for case in report.cases.iter().filter(|case| case.verdict == CaseVerdict::Fail) {
        for check in &case.checks {
            let counts = check.outcome == CheckOutcome::Failed && check.known.is_none();
            if !counts || !is_visible(check.level, report.level) || check.level == CheckLevel::Info {
                continue;
            }
            let path = check.path.as_deref().map(without_indexes).unwrap_or_default();
            let key = (check.check.as_str(), path, without_values(check.says.as_deref().unwrap_or_default()));
            let place = *places.entry(key).or_insert_with(|| {
                causes.push(Cause { check, times: 0, cases: Vec::new() });
                causes.len() - 1
            });
            let cause = &mut causes[place];
            cause.times += 1;
            if cause.cases.iter().all(|known| known.name != case.name) {
                cause.cases.push(case);
            }
            if weight(check.level) < weight(cause.check.level) {
                cause.check = check;
                cause.cases.retain(|known| known.name != case.name);
                cause.cases.insert(0, case);
            }
        }
    }
    // An unreadable line or a failed wait often causes all later failures of a case. An expectation of the
    // case explains more than a difference from a recording. A missing event explains the differences around
    // it.
    let first = |cause: &Cause<'_>| match cause.check.check.as_str() {
        "framing" | "lines" | "noise" => 0,
        "scenario" => 1,
        check if check.starts_with("expect ") => 2,
        // If the request to the model is wrong, the later output of the agent differs as a consequence.
        "requests" if cause.check.path.is_some() => 2,
        checks::EVENTS if cause.check.found.is_none() && cause.check.expected.is_some() => 3,
        _ => 4,
    };
    causes.sort_by_key(|cause| (weight(cause.check.level), first(cause), usize::MAX - cause.cases.len()));
    causes
}

fn weight(level: CheckLevel) -> usize {
    CheckLevel::ALL.iter().position(|known| *known == level).unwrap_or_default()
}

/// Returns a message without numbers and quoted values. Names of members are kept.
fn without_values(message: &str) -> String {
    let mut out = String::new();
    let mut parts = message.split('`');
    out.push_str(parts.next().unwrap_or_default());
    for (at, part) in parts.enumerate() {
        let is_quoted = at % 2 == 0;
        let is_name = part.chars().all(|character| character.is_alphanumeric() || "_./".contains(character))
            && part.parse::<f64>().is_err();
        out.push_str(if is_quoted && !is_name { "…" } else { part });
    }
    let mut plain = String::new();
    let mut in_text = false;
    for character in out.chars() {
        match character {
            '"' => in_text = !in_text,
            _ if in_text || character.is_ascii_digit() => {}
            _ => plain.push(character),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn failures_that_differ_only_in_values_have_one_cause() {
        let same = [
            ("it is `120` instead of `0`", "it is `7` instead of `9`"),
            ("the text is \"a\" instead of \"b\"", "the text is \"c\" instead of \"d\""),
        ];
        for (one, other) in same {
            assert_eq!(without_values(one), without_values(other));
        }
        assert_ne!(without_values("`usage` is missing"), without_values("`model` is missing"));
    }

    #[test]
    fn a_case_is_listed_once_under_its_worst_failure() {
        let check = |level: &str| json!({"check": "frames", "level": level, "outcome": "failed", "path": "a", "says": "it is `1`"});
        let case = |name: &str, checks: &[&str]| {
            json!({
                "name": name, "title": name, "level": "must", "verdict": "fail", "frames": 1, "agreed": 0,
                "covers": [], "checks": checks.iter().map(|level| check(level)).collect::<Vec<_>>(),
            })
        };
        let report: SuiteReport = serde_json::from_value(json!({
            "report": 1, "suite": "0", "dialect": "pi@0.55", "profile": "p", "agent": "a", "command": ["a"],
            "level": "should", "ms": 1, "exit_code": 1, "problems": [],
            "totals": {
                "pass": 0, "lenient": 0, "fail": 2, "expected_failure": 0, "inconclusive": 0, "not_applicable": 0,
            },
            "cases": [case("one", &["should"]), case("two", &["should", "must", "should"])],
        }))
        .unwrap();
        let causes = causes(&report);
        let [cause] = causes.as_slice() else { panic!("{causes:?}") };
        let names: Vec<&str> = cause.cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!((names, cause.times, cause.check.level), (vec!["two", "one"], 4, CheckLevel::Must));
    }
}
