//! The third way of matching: comparison with a golden transcript.
//!
//! The matcher compares two transcripts of one case: the golden one and the observed one. It sorts both into
//! streams: answers, events, dialogs. Answers are paired by their ids, events and dialogs by their order. A
//! value that an agent generates is paired with the recorded value at its first occurrence; later occurrences
//! must form the same pair. Generated tables list these values, the events that arrive in pieces, and the
//! allowed differences. No code here depends on a dialect. See docs/conformance-matching.md.

mod align;
mod allowance_finder;
mod answers;
mod bindings;
mod choices;
mod declared;
mod dialog_marks;
mod dialogs;
mod equivalence;
mod events;
mod exit;
mod findings;
mod json_rpc;
mod order;
mod pairing;
mod place;
mod rules;
mod snapshots;
mod state;
mod stream_comparer;
pub mod tables;
mod text;
mod tools;
mod transcript_streams;
mod unmatched;
mod walk;

use agentese::types::Scenario;

use crate::transcript::Transcript;
use crate::verdict::{Finding, Outcome};

pub use choices::Choices;
pub use findings::checks;
pub use rules::Rules;

/// Input of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Comparison<'a> {
    /// The expected transcript.
    pub golden: &'a Transcript,
    /// Other valid recordings of the case. The comparison uses the recording that leads to the fewest
    /// differences.
    pub alternatives: &'a [Transcript],
    /// The observed transcript.
    pub observed: &'a Transcript,
    /// The case that both transcripts belong to.
    pub case: &'a Scenario,
    /// `true` if the observed agent is the recorded agent. In this case undocumented texts are compared too.
    pub same_agent: bool,
    /// Choices of the recorded agent and of this one.
    pub choices: &'a Choices,
}

/// Result of a comparison.
#[derive(Debug, Clone)]
pub struct ComparisonResult {
    /// All differences, and a finding for each check without a difference, in the order of [`checks::ALL`].
    pub findings: Vec<Finding>,
    /// Number of compared frames. Joined pieces of a streamed text count as one frame.
    pub frames: usize,
    /// Number of frames without a failure.
    pub agreed: usize,
}

impl ComparisonResult {
    /// Returns the number of findings that can make a case fail.
    fn failures(&self) -> usize {
        let fails = |finding: &&Finding| {
            finding.level != agentese::types::CheckLevel::Info
                && matches!(finding.outcome, Outcome::Failed(_) | Outcome::Unclear(_))
        };
        self.findings.iter().filter(fails).count()
    }
}

/// Compares the observed transcript with each golden one. Returns the result with the fewest failures, or the
/// first of several such results.
pub fn compare(rules: &Rules, comparison: &Comparison<'_>) -> ComparisonResult {
    let first = stream_comparer::compare(rules, comparison, comparison.golden);
    comparison.alternatives.iter().fold(first, |best, golden| {
        if best.failures() == 0 {
            return best;
        }
        let other = stream_comparer::compare(rules, comparison, golden);
        if other.failures() < best.failures() { other } else { best }
    })
}
