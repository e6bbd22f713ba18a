//! Rejections of requests.

use agentese::opal::Failure;
use agentese::serve::CommandError;

/// Returns the rejection of an unusable parameter.
pub(super) fn invalid_params(method: &str, reason: &str) -> CommandError {
    Failure::InvalidParameters.command_error(&[("method", method), ("reason", reason)])
}
