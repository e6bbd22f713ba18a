//! Texts of HTTP errors for the user.

use serde_json::Value;

use crate::{ProviderError, excerpt};

/// Returns the failure for an HTTP error, with the same text as OpenAI's client library. The text begins with
/// the status. Then follows the message of the error, or the whole error if it has no message. If the body is
/// not JSON, the body follows.
pub(super) fn message_error(status: u16, body: &str) -> ProviderError {
    let value = agentese::wire::decode::<Value>(body).ok();
    let error = value.as_ref().map(|value| match &value["error"] {
        Value::Null => value,
        error => error,
    });
    let reason = match error {
        Some(Value::String(message)) => message.clone(),
        Some(error) => match error["message"].as_str() {
            Some(message) => message.to_owned(),
            None => error.to_string(),
        },
        None if body.trim().is_empty() => return ProviderError::from_status(status, no_body(status)),
        None => excerpt(body),
    };
    let mut failure = ProviderError::from_status(status, format!("{status} {reason}"));
    // The kind may be in a member that the message leaves out.
    if let Some(error) = error {
        let described = ProviderError::from_status(status, error.to_string());
        (failure.kind, failure.may_be_overflow) = (described.kind, described.may_be_overflow);
    }
    failure
}

/// Returns the failure for an HTTP error. Its text is the status and the body as JSON.
pub(super) fn body_error(status: u16, body: &str) -> ProviderError {
    let text = match agentese::wire::decode::<Value>(body) {
        Ok(value) => value.to_string(),
        Err(_) if body.trim().is_empty() => return ProviderError::from_status(status, no_body(status)),
        Err(_) => excerpt(body),
    };
    ProviderError::from_status(status, format!("{status} {text}"))
}

fn no_body(status: u16) -> String {
    format!("{status} status code (no body)")
}
