//! Agents behind a WebSocket: one message is one frame. Needs the feature `websocket`.
//!
//! ```no_run
//! # #[cfg(feature = "pi")]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use agentese::{pi, websocket};
//!
//! let client = pi::Client::connect(websocket::connect("ws://127.0.0.1:4711/TOKEN/ws").await?);
//! println!("{}", client.get_state().await?.message_count);
//! # Ok(())
//! # }
//! ```
//!
//! A client of `agentese web` can resume a lost connection. It sends the number of received messages, and
//! repeats the lines that may be lost. These are commands without a response, and answers to questions of the
//! agent. Of each question it repeats the newest line, for the newest 1024 questions. No command runs twice,
//! and the first answer to a question applies. The newest progress of a tool of the client may reach the
//! agent twice. The connection ends with an error if the server no longer has the missed messages, or does
//! not confirm the resumption. The text of that error begins with `reload`, and a new connection has to
//! request history and state. With other servers, the connection ends with its socket.

mod address;
mod error;
mod link;
mod options;
mod resume;

use address::Address;
pub use error::ConnectError;
pub use options::Options;

use crate::transport::Transport;

/// Connects to an agent behind a WebSocket, for a client of its dialect. Returns after the connection is
/// established. Must be called on a tokio runtime.
///
/// `address` begins with `ws://`. Writes wait while the network is slow, and the other side waits while
/// the client does not read.
///
/// # Errors
/// [`ConnectError`] if the connection fails.
pub async fn connect(address: &str) -> Result<Transport, ConnectError> {
    connect_with(address, Options::default()).await
}

/// Works like [`connect`], with options.
///
/// # Errors
/// As for [`connect`].
pub async fn connect_with(address: &str, options: Options) -> Result<Transport, ConnectError> {
    let address = Address::parse(address)?;
    if address.is_secure && !options.has_custom_dial {
        return Err(ConnectError::NoTls);
    }
    link::start(address, options).await
}
