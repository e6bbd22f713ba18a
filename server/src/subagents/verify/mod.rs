//! Verifying what a subagent did: which commands, and running them.

mod allowed;
mod resolve;
mod run;

pub use allowed::allowed;
pub use resolve::{Plan, resolve};
pub use run::Verifier;

use agentese::types::{
    AttemptStatus, VerificationMode, VerificationResult, VerificationResultBuilder, VerificationStatus,
};

/// The result before anything was verified: that of a subagent which failed itself.
pub fn skipped(plan: &Plan) -> VerificationResult {
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

/// Whether the last attempt of a result passed.
pub fn passed(result: &VerificationResult) -> bool {
    result.attempts.last().is_some_and(|attempt| attempt.status == AttemptStatus::Passed)
}
