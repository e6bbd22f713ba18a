//! Failures of a connection attempt.

use std::io;
use std::time::Duration;

/// The reason why a connection failed. It does not contain the path of the address, which may contain a
/// token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address is not the address of a WebSocket.
    #[error("not the address of a WebSocket: {0}")]
    Address(String),
    /// The address begins with `wss://`, and [`Options::dial`](super::Options::dial) is not set.
    #[error("a wss:// address needs Options::dial, which makes the TLS connection")]
    NoTls,
    /// The host is unreachable, or the connection was lost while it was set up.
    #[error("cannot connect to {host}: {source}")]
    Io {
        /// Host and port.
        host: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The response did not arrive in time.
    #[error("cannot connect to {host}: no answer within {after:?}")]
    TimedOut {
        /// Host and port.
        host: String,
        /// The time limit that elapsed.
        after: Duration,
    },
    /// The server's response did not accept a WebSocket.
    #[error("{host} does not accept a WebSocket: {reason}")]
    Refused {
        /// Host and port.
        host: String,
        /// The status of the response, or the reason why it is invalid.
        reason: String,
    },
}
