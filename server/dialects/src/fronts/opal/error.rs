//! Rejections of requests.

use agentese::opal::Failure;
use agentese::serve::Refusal;

/// Returns the rejection of an unusable parameter.
pub(super) fn invalid(method: &str, reason: &str) -> Refusal {
    Failure::InvalidParameters.refusal(&[("method", method), ("reason", reason)])
}
