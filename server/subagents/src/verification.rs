//! Verification of a subagent's work: its commands and their execution.

mod permission;
mod plan;
mod verifier;
pub use permission::check_permission;
pub use plan::{VerificationPlan, resolve};
pub use verifier::Verifier;

use agentese::types::{
    AttemptStatus, VerificationMode, VerificationResult, VerificationResultBuilder, VerificationStatus,
};

/// Returns the result for a subagent that failed before its verification.
pub fn skipped(plan: &VerificationPlan) -> VerificationResult {
    let mut result = VerificationResultBuilder {
        requested: true,
        status: VerificationStatus::Skipped,
        attempts: Vec::new(),
        retries_used: 0,
    }
    .build();
    result.profile.clone_from(&plan.profile);
    result.mode = Some(VerificationMode::Command);
    result.on_failure = Some(plan.on_failure.clone());
    result
}

/// Returns true if the last attempt in a result has passed.
pub fn passed(result: &VerificationResult) -> bool {
    result.attempts.last().is_some_and(|attempt| attempt.status == AttemptStatus::Passed)
}
