//! Messages for errors of the MCP SDK.

use std::error::Error;
use std::io;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;

const AUTHORIZATION: &str = "it requires authorization; put a key into \"headers\"";

/// Returns the reason for a failed connection.
pub(super) fn explain_start(error: &ClientInitializeError) -> String {
    if error.is_authorization_required() {
        return AUTHORIZATION.to_owned();
    }
    match error {
        ClientInitializeError::JsonRpcError(error) => format!("it refuses the connection: {}", error.message),
        ClientInitializeError::ConnectionClosed(_) => "it ended before it answered `initialize`".to_owned(),
        ClientInitializeError::TransportError { error, .. } => reason(error).0,
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it supports no known version of the protocol".to_owned()
        }
        _ => "its answer to `initialize` is not that of an MCP server".to_owned(),
    }
}

/// Returns the reason for a failed request. The flag is true if the connection is broken.
pub(super) fn explain(error: &ServiceError) -> (String, bool) {
    if error.is_authorization_required() {
        return (AUTHORIZATION.to_owned(), false);
    }
    match error {
        ServiceError::TransportSend(error) => reason(error),
        error => (error.to_string(), false),
    }
}

/// Returns the message of the innermost error, because outer errors only add addresses and types. The flag is true if
/// the connection is broken.
fn reason(error: &(dyn Error + 'static)) -> (String, bool) {
    let mut inner = error;
    let mut broken = false;
    loop {
        broken |= inner.is::<io::Error>() || inner.is::<reqwest::Error>();
        let source = match inner.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            Some(StreamableHttpError::Client(error)) => Some(error as &(dyn Error + 'static)),
            _ => inner.source(),
        };
        match source {
            Some(source) => inner = source,
            None => break,
        }
    }
    let text = match inner.downcast_ref::<reqwest::Error>() {
        Some(error) => match error.status() {
            Some(status) => format!("HTTP {status}"),
            None => "the request failed".to_owned(),
        },
        None => inner.to_string(),
    };
    (format!("it cannot be reached: {text}"), broken)
}
