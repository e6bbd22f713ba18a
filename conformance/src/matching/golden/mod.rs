//! The third way: frames are as a golden transcript has them.
//!
//! Two transcripts of one case are compared: the golden one and the one that was just recorded. Both are sorted
//! into streams: answers, events, dialogs. Answers belong together by their ids, events and dialogs by their
//! order. Values that an agent makes up are bound when they are first seen, and have to be the same pair from
//! then on. The tables that say what those values are, what comes in pieces and which differences are no faults
//! are generated from the declaration; nothing here knows a dialect. docs/conformance-matching.md describes it.

mod align;
mod answers;
mod bindings;
mod choices;
mod declared;
mod dialogs;
mod events;
mod excuse;
mod exit;
mod findings;
mod json_rpc;
mod left;
mod order;
mod pairing;
mod place;
mod reading;
mod rules;
mod same;
mod snapshots;
mod stream;
pub mod tables;
mod text;
mod tools;
mod walk;

use agentese::types::Scenario;

use crate::transcript::Transcript;
use crate::verdict::{Finding, Outcome};

pub use choices::Choices;
pub use findings::checks;
pub use rules::Rules;

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
    /// Whether the agent is the one that the golden transcript was recorded from: then its own words count.
    pub same_agent: bool,
    /// What the recorded agent and this one chose for themselves.
    pub choices: &'a Choices,
}

/// What came of a comparison.
#[derive(Debug, Clone)]
pub struct Compared {
    /// Each difference, and each check without one, in the order of [`checks::ALL`].
    pub findings: Vec<Finding>,
    /// How many frames were compared; pieces that were joined are one.
    pub frames: usize,
    /// How many of them are as expected, or differ as they may.
    pub agreed: usize,
}

impl Compared {
    /// How many differences count against the agent, whatever they weigh.
    fn failures(&self) -> usize {
        let fails = |finding: &&Finding| {
            finding.level != agentese::types::CheckLevel::Info
                && matches!(finding.outcome, Outcome::Failed(_) | Outcome::Unclear(_))
        };
        self.findings.iter().filter(fails).count()
    }
}

/// Compares two transcripts of a case. Of several golden ones, the one with the fewest differences counts, and
/// the first of those.
pub fn compare(rules: &Rules, comparison: &Comparison<'_>) -> Compared {
    let first = stream::compare(rules, comparison, comparison.golden);
    comparison.alternatives.iter().fold(first, |best, golden| {
        if best.failures() == 0 {
            return best;
        }
        let other = stream::compare(rules, comparison, golden);
        if other.failures() < best.failures() { other } else { best }
    })
}
