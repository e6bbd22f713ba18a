//! Rejections of requests.

use agentese::acp::Failure;
use agentese::serve::Refusal;

/// Returns the rejection of an unknown session.
pub(super) fn unknown(id: &str) -> Refusal {
    Failure::ResourceNotFound.refusal(&[("uri", id)])
}

/// Returns the rejection of an unusable parameter.
pub(super) fn invalid(method: &str, reason: &str) -> Refusal {
    Failure::InvalidParameters.refusal(&[("method", method), ("reason", reason)])
}

/// Returns the rejection for failed work, with its reason for people.
pub(super) fn failed(reason: impl ToString) -> Refusal {
    let mut refusal = Failure::InternalError.refusal(&[]);
    refusal.message = reason.to_string();
    refusal
}
