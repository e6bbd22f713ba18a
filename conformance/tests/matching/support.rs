//! Helpers for the tests in this folder.

use std::path::Path;

use agentese::types::{CaseAllowance, CheckLevel, Scenario};
use agentese_conformance::matching::{Choices, Comparison, ComparisonResult, Rules, compare};
use agentese_conformance::transcript::{Record, Transcript};
use agentese_conformance::verdict::{Finding, Mismatch, Outcome};
use serde_json::{Value, json};

pub const DIALECTS: [&str; 5] = ["pi", "omp", "pisces", "operator", "opal"];

pub fn rules(dialect: &str) -> &'static Rules {
    Rules::of(dialect).unwrap()
}

/// Creates a case without steps.
pub fn case(allow: Vec<CaseAllowance>) -> Scenario {
    let json = json!({"scenario": 1, "name": "made", "dialect": "pi@0.55", "title": "made", "steps": []});
    let mut case: Scenario = serde_json::from_value(json).unwrap();
    case.allow = (!allow.is_empty()).then_some(allow);
    case
}

/// Creates a transcript of lines: `>` sent, `<` received, `!` a control record.
pub fn transcript(lines: &[(char, Value)]) -> Transcript {
    let mut text = json!({"transcript": 1, "agent": "made"}).to_string();
    for (dir, value) in lines {
        let record = match dir {
            '>' => {
                // A JSON string stands for the line itself, which may be invalid JSON.
                let line = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                json!({"t": 1, "dir": "c2s", "line": line})
            }
            '<' => json!({"t": 1, "dir": "s2c", "line": value.to_string()}),
            _ => value.clone(),
        };
        text.push_str(&format!("\n{record}"));
    }
    Transcript::parse(Path::new("made"), &text).unwrap()
}

pub fn compared_in(
    dialect: &str,
    case: &Scenario,
    golden: &Transcript,
    observed: &Transcript,
) -> ComparisonResult {
    let comparison = Comparison {
        golden,
        alternatives: &[],
        observed,
        case,
        same_agent: false,
        choices: &Choices::default(),
    };
    compare(rules(dialect), &comparison)
}

pub fn compared(dialect: &str, golden: &[(char, Value)], observed: &[(char, Value)]) -> ComparisonResult {
    compared_in(dialect, &case(Vec::new()), &transcript(golden), &transcript(observed))
}

/// Returns the findings that make the comparison fail.
pub fn failures(compared: &ComparisonResult) -> Vec<&Finding> {
    let fails = |finding: &&Finding| {
        finding.level != CheckLevel::Info
            && matches!(finding.outcome, Outcome::Failed(_) | Outcome::Unclear(_))
    };
    compared.findings.iter().filter(fails).collect()
}

/// Returns the allowances that were used.
pub fn allowed(compared: &ComparisonResult) -> Vec<&str> {
    let mut names: Vec<&str> = compared
        .findings
        .iter()
        .filter_map(|finding| match &finding.outcome {
            Outcome::Allowed { allowance, .. } => Some(allowance.as_str()),
            _ => None,
        })
        .collect();
    names.dedup();
    names
}

/// Formats the failures as `level check path`.
pub fn failure_lines(compared: &ComparisonResult) -> Vec<String> {
    let failures = failures(compared).into_iter();
    failures
        .map(|finding| format!("{} {} {}", finding.level, finding.check, path(finding)).trim().to_owned())
        .collect()
}

fn path(finding: &Finding) -> &str {
    match &finding.outcome {
        Outcome::Failed(Mismatch { path, .. }) => path,
        _ => "",
    }
}

/// Replaces one line of the agent in a transcript; `None` removes the line.
pub fn with_line(transcript: &Transcript, record: usize, line: Option<String>) -> Transcript {
    let mut changed = transcript.clone();
    match line {
        Some(line) => changed.records[record] = Record::Received(line.into()),
        None => {
            changed.records.remove(record);
        }
    }
    changed
}
