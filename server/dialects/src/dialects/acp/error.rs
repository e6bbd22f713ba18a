//! Rejections of requests.

use agentese::acp::Failure;
use agentese::serve::CommandError;

/// Returns the rejection of an unknown session.
pub(super) fn unknown_session(id: &str) -> CommandError {
    Failure::ResourceNotFound.command_error(&[("uri", id)])
}

/// Returns the rejection of an unusable parameter.
pub(super) fn invalid_params(method: &str, reason: &str) -> CommandError {
    Failure::InvalidParameters.command_error(&[("method", method), ("reason", reason)])
}

/// Returns the rejection of a request that failed, with the reason as its message.
pub(super) fn internal_error(reason: impl ToString) -> CommandError {
    let mut refusal = Failure::InternalError.command_error(&[]);
    refusal.message = reason.to_string();
    refusal
}
