//! Scenarios that broke off before the client had said everything: nobody can answer what was never sent, so only
//! what was sent may be missed. The wait that was in vain is a finding of its own, and stands first.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::Transcript;
use crate::matching::{self, Compared, Comparison, Rules};
use crate::transcript::Record;
use crate::verdict::{Finding, Mismatch, Outcome};

/// Compares as far as the scenario came. Of several golden transcripts, the one with the fewest differences counts.
pub(super) fn compare(rules: &Rules, comparison: &Comparison<'_>) -> Compared {
    let golden = std::iter::once(comparison.golden).chain(comparison.alternatives);
    let compared = golden.map(|golden| {
        let alone = Comparison { golden, alternatives: &[], ..*comparison };
        excuse(matching::compare(rules, &alone), golden, comparison.observed)
    });
    let failures = |compared: &Compared| {
        compared.findings.iter().filter(|finding| matches!(finding.outcome, Outcome::Failed(_))).count()
    };
    // There is always the golden one.
    compared.min_by_key(failures).unwrap_or(Compared { findings: Vec::new(), frames: 0, agreed: 0 })
}

/// Takes away what is missing of the rest of the session. Checks that only failed for that could not be made.
fn excuse(mut compared: Compared, golden: &Transcript, observed: &Transcript) -> Compared {
    let rest = Rest::of(golden, observed);
    let excused = |finding: &Finding| match &finding.outcome {
        Outcome::Failed(mismatch) => rest.has(mismatch),
        _ => false,
    };
    let (gone, mut kept): (Vec<Finding>, Vec<Finding>) = compared.findings.into_iter().partition(excused);
    let checks: BTreeSet<&str> = gone.iter().map(|finding| finding.check.as_str()).collect();
    // So many differences that they were only counted: what is counted is mostly what was not sent.
    kept.retain(|finding| !(checks.contains(finding.check.as_str()) && is_count(finding)));
    for check in checks {
        if !kept.iter().any(|finding| finding.check == check)
            && let Some(first) = gone.iter().find(|finding| finding.check == check)
        {
            kept.push(Finding { outcome: not_seen(), ..first.clone() });
        }
    }
    compared.frames = compared.frames.saturating_sub(gone.len());
    compared.findings = kept;
    compared
}

/// What came of a check that could not be made.
pub(super) fn not_seen() -> Outcome {
    Outcome::Unclear("the scenario broke off before it could be seen".to_owned())
}

/// A check of the case's own that lacks frames lacks them because nobody asked.
pub(super) fn excused(mut finding: Finding) -> Finding {
    if let Outcome::Failed(Mismatch { expected, found: None, path, .. }) = &finding.outcome
        && (expected.is_some() || !path.is_empty())
    {
        finding.outcome = not_seen();
    }
    finding
}

/// How many differences there were besides those that are told.
fn is_count(finding: &Finding) -> bool {
    match &finding.outcome {
        Outcome::Failed(mismatch) => {
            mismatch.expected.is_none() && mismatch.found.is_none() && mismatch.path.is_empty()
        }
        _ => false,
    }
}

/// What the golden transcript has behind the first line that was not sent.
struct Rest {
    /// That line's place among its records.
    from: usize,
    /// The ids of what was sent.
    sent: BTreeSet<String>,
}

impl Rest {
    fn of(golden: &Transcript, observed: &Transcript) -> Self {
        let is_sent = |record: &&Record| matches!(record, Record::Sent(_));
        let sent = observed.records.iter().filter(is_sent).count();
        let places = golden.records.iter().enumerate().filter(|(_, record)| is_sent(record));
        let from = places.map(|(at, _)| at).nth(sent).unwrap_or(golden.records.len());
        let ids = observed.sent().filter_map(|line| id(line.as_str()));
        Self { from, sent: ids.collect() }
    }

    /// Whether a difference is that something of the rest is missing. Answers to what was sent never are of it.
    fn has(&self, mismatch: &Mismatch) -> bool {
        let Mismatch { expected: Some(expected), found: None, .. } = mismatch else { return false };
        expected.record > self.from && !id(&expected.line).is_some_and(|id| self.sent.contains(&id))
    }
}

fn id(line: &str) -> Option<String> {
    let frame: Value = serde_json::from_str(line).ok()?;
    frame.get("id").filter(|id| !id.is_null()).map(Value::to_string)
}
