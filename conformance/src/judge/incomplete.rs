//! Judgement of scenarios that broke off before the client had sent all its lines.
//!
//! Only answers to lines that were sent are reported as missing. The first finding is the wait that failed.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::Transcript;
use crate::matching::{self, Comparison, ComparisonResult, Rules};
use crate::transcript::Record;
use crate::verdict::{Finding, Mismatch, Outcome};

/// Compares only the part of the session that the scenario reached. If there are several golden transcripts,
/// the one with the fewest differences is used.
pub(super) fn compare(rules: &Rules, comparison: &Comparison<'_>) -> ComparisonResult {
    let golden = std::iter::once(comparison.golden).chain(comparison.alternatives);
    let compared = golden.map(|golden| {
        let alone = Comparison { golden, alternatives: &[], ..*comparison };
        remove_unreached(matching::compare(rules, &alone), golden, comparison.observed)
    });
    let failures = |compared: &ComparisonResult| {
        compared.findings.iter().filter(|finding| matches!(finding.outcome, Outcome::Failed(_))).count()
    };
    // The iterator always contains the golden transcript.
    compared.min_by_key(failures).unwrap_or(ComparisonResult { findings: Vec::new(), frames: 0, agreed: 0 })
}

/// Removes findings about the part that was not reached. A check without any other failure becomes *not
/// made*.
fn remove_unreached(
    mut compared: ComparisonResult,
    golden: &Transcript,
    observed: &Transcript,
) -> ComparisonResult {
    let rest = UnreachedPart::of(golden, observed);
    let excused = |finding: &Finding| match &finding.outcome {
        Outcome::Failed(mismatch) => rest.has(mismatch),
        _ => false,
    };
    let (gone, mut kept): (Vec<Finding>, Vec<Finding>) = compared.findings.into_iter().partition(excused);
    let checks: BTreeSet<&str> = gone.iter().map(|finding| finding.check.as_str()).collect();
    // A finding that contains only a number mostly counts frames of the part that was not reached.
    kept.retain(|finding| !(checks.contains(finding.check.as_str()) && only_counts(finding)));
    for check in checks {
        if !kept.iter().any(|finding| finding.check == check)
            && let Some(first) = gone.iter().find(|finding| finding.check == check)
        {
            kept.push(Finding { outcome: not_checked(), ..first.clone() });
        }
    }
    compared.frames = compared.frames.saturating_sub(gone.len());
    compared.findings = kept;
    compared
}

/// Returns the outcome of a check that was not made.
pub(super) fn not_checked() -> Outcome {
    Outcome::Unclear("the scenario ended before this check".to_owned())
}

/// Turns a failed check of missing frames into one that was not made. The frames are missing because the
/// client did not send the command for them.
pub(super) fn excuse_missing_frames(mut finding: Finding) -> Finding {
    if let Outcome::Failed(Mismatch { expected, found: None, path, .. }) = &finding.outcome
        && (expected.is_some() || !path.is_empty())
    {
        finding.outcome = not_checked();
    }
    finding
}

/// Returns `true` if the finding contains only the number of further differences.
fn only_counts(finding: &Finding) -> bool {
    match &finding.outcome {
        Outcome::Failed(mismatch) => {
            mismatch.expected.is_none() && mismatch.found.is_none() && mismatch.path.is_empty()
        }
        _ => false,
    }
}

/// The part of the golden transcript that the scenario did not reach. It begins at the first line of the
/// client that was not sent.
struct UnreachedPart {
    /// Index of the record of that line.
    from: usize,
    /// Ids of the sent commands.
    sent: BTreeSet<String>,
}

impl UnreachedPart {
    fn of(golden: &Transcript, observed: &Transcript) -> Self {
        let is_sent = |record: &&Record| matches!(record, Record::Sent(_));
        let sent = observed.records.iter().filter(is_sent).count();
        let places = golden.records.iter().enumerate().filter(|(_, record)| is_sent(record));
        let from = places.map(|(at, _)| at).nth(sent).unwrap_or(golden.records.len());
        let ids = observed.sent().filter_map(|line| id(line.as_str()));
        Self { from, sent: ids.collect() }
    }

    /// Returns `true` if the mismatch is a missing frame of the part that was not reached. An answer to a
    /// command that was sent does not belong to that part.
    fn has(&self, mismatch: &Mismatch) -> bool {
        let Mismatch { expected: Some(expected), found: None, .. } = mismatch else { return false };
        expected.record > self.from && !id(&expected.line).is_some_and(|id| self.sent.contains(&id))
    }
}

fn id(line: &str) -> Option<String> {
    let frame: Value = serde_json::from_str(line).ok()?;
    frame.get("id").filter(|id| !id.is_null()).map(Value::to_string)
}
