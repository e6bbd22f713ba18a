//! Cases that were not played to their end.

use agentese::types::Scenario;

use super::Judgement;
use crate::verdict::Verdict;

/// Creates the judgement of a case that could not be played: inconclusive.
pub fn could_not_play(case: &Scenario, reason: impl Into<String>) -> Judgement {
    without_checks(case, Verdict::Inconclusive, reason.into())
}

/// Creates the judgement of a case that does not apply to the agent.
pub fn not_applicable_case(case: &Scenario, reason: impl Into<String>) -> Judgement {
    without_checks(case, Verdict::NotApplicable, reason.into())
}

fn without_checks(case: &Scenario, verdict: Verdict, reason: String) -> Judgement {
    Judgement {
        case: case.clone(),
        findings: Vec::new(),
        frames: 0,
        agreed: 0,
        recording: None,
        requests: Vec::new(),
        early_verdict: Some((verdict, reason)),
    }
}
