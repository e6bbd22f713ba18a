//! Responses to requests of extensions.

use agentese::types::HostResponse;
use serde::Serialize;

use super::process::Process;

/// Sends the result of a request.
pub(super) fn respond(process: &Process, id: &str, result: &impl Serialize) {
    let mut response = HostResponse::new(id);
    match serde_json::to_value(result) {
        Ok(value) => response.result = Some(value).filter(|value| !value.is_null()),
        Err(error) => response.error = Some(error.to_string()),
    }
    process.send(response);
}

/// Sends the rejection of a request.
pub(super) fn reject(process: &Process, id: &str, error: impl Into<String>) {
    let mut response = HostResponse::new(id);
    response.error = Some(error.into());
    process.send(response);
}
