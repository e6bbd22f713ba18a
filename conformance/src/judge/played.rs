//! Cases that were not played to their end.

use agentese::types::Scenario;

use super::Judged;
use crate::verdict::Verdict;

/// Creates the judgement of a case that could not be played: inconclusive.
pub fn could_not_play(case: &Scenario, reason: impl Into<String>) -> Judged {
    set_aside(case, Verdict::Inconclusive, reason.into())
}

/// Creates the judgement of a case that does not apply to the agent.
pub fn not_for(case: &Scenario, reason: impl Into<String>) -> Judged {
    set_aside(case, Verdict::NotApplicable, reason.into())
}

fn set_aside(case: &Scenario, verdict: Verdict, reason: String) -> Judged {
    Judged {
        case: case.clone(),
        findings: Vec::new(),
        frames: 0,
        agreed: 0,
        recording: None,
        requests: Vec::new(),
        set_aside: Some((verdict, reason)),
    }
}
