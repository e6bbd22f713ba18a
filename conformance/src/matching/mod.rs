//! Says how what an agent did differs from what is expected of it.
//!
//! Two transcripts of one case are compared: the golden one and the one that was just recorded.

use agentese::dynamic;
use agentese::spec::Spec;
use agentese::types::{CheckLevel, Direction, Scenario};
use regex::Regex;
use serde_json::Value;

use crate::transcript::{Record, Transcript};
use crate::verdict::{Finding, Mismatch, Outcome, Shown};

/// How frames of one dialect are compared.
#[derive(Debug)]
pub struct Rules {
    spec: &'static Spec,
    volatile: Regex,
}

static RULES: std::sync::LazyLock<Vec<Rules>> = std::sync::LazyLock::new(|| {
    const VOLATILE: &str = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.-]+Z?|\b\d{13}\b|\b[0-9a-f]{8,32}\b|/[\w./-]+";
    let of = |spec| Some(Rules { spec, volatile: Regex::new(VOLATILE).ok()? });
    dynamic::SPECS.into_iter().filter_map(of).collect()
});

impl Rules {
    /// The rules of a dialect, `NAME` or `NAME@REVISION`; none where there is no such dialect.
    pub fn of(dialect: &str) -> Option<&'static Rules> {
        let spec = dynamic::spec(dialect).ok()?;
        RULES.iter().find(|rules| std::ptr::eq(rules.spec, spec))
    }
}

/// What is compared.
#[derive(Debug, Clone, Copy)]
pub struct Comparison<'a> {
    /// What is expected.
    pub golden: &'a Transcript,
    /// Other recordings that are as good: the one that fits best counts.
    pub alternatives: &'a [Transcript],
    /// What came.
    pub observed: &'a Transcript,
    /// The case that both played.
    pub case: &'a Scenario,
    /// Whether the agent is the one that the golden transcript was recorded from.
    pub same_agent: bool,
}

/// What came of a comparison.
#[derive(Debug, Clone)]
pub struct Compared {
    /// Each difference, and each check that found none.
    pub findings: Vec<Finding>,
    /// How many frames were compared.
    pub frames: usize,
    /// How many of them are as expected, or differ as they may.
    pub agreed: usize,
}

/// Compares two transcripts of a case.
pub fn compare(rules: &Rules, comparison: &Comparison<'_>) -> Compared {
    let expected = frames(rules, comparison.golden);
    let found = frames(rules, comparison.observed);
    let level = comparison.case.level.clone().unwrap_or(CheckLevel::Should);
    let mut findings = Vec::new();
    let count = expected.len().max(found.len());
    let mut agreed = 0;
    for at in 0..count {
        match (expected.get(at), found.get(at)) {
            (Some((golden, _)), Some((observed, _))) if golden == observed => agreed += 1,
            (expected, found) => findings.push(Finding {
                check: "events".to_owned(),
                level: level.clone(),
                outcome: Outcome::Failed(Mismatch {
                    says: "the frames differ".to_owned(),
                    expected: expected.map(|(_, shown)| shown.clone()),
                    found: found.map(|(_, shown)| shown.clone()),
                    ..Mismatch::default()
                }),
            }),
        }
    }
    if findings.is_empty() {
        findings.push(Finding { check: "events".to_owned(), level, outcome: Outcome::Held });
    }
    Compared { findings, frames: count, agreed }
}

fn frames(rules: &Rules, transcript: &Transcript) -> Vec<(String, Shown)> {
    let received = transcript.records.iter().enumerate().filter_map(|(record, line)| match line {
        Record::Received(line) => Some((record, line)),
        _ => None,
    });
    let frames = received.map(|(record, line)| {
        let frame: Option<Value> = serde_json::from_str(line.as_str()).ok();
        let text = frame.map_or_else(|| line.as_str().to_owned(), |frame| frame.to_string());
        let text = rules.volatile.replace_all(&text, "*").into_owned();
        (text, Shown { record, dir: Direction::S2c, line: line.as_str().to_owned() })
    });
    frames.collect()
}
