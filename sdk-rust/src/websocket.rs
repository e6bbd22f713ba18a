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
//! repeats the lines that may be lost: commands without a response, and answers to questions of the agent. Of
//! each question it repeats the newest line, for the newest 1024 questions. No command runs twice, and the
//! first answer to a question applies. The newest progress of a tool of the client may reach the agent twice.
//! The connection ends with an error if the server no longer has the missed messages, or does not confirm the
//! resumption. The text of that error begins with `reload`, and a new connection has to request history and
//! state. With other servers, the connection ends with its socket.

mod address;
mod book;
mod link;

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::transport::Transport;
use address::Address;

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
/// The same as for [`connect`].
pub async fn connect_with(address: &str, options: Options) -> Result<Transport, ConnectError> {
    let address = Address::parse(address)?;
    if address.is_secure && !options.dials {
        return Err(ConnectError::NoTls);
    }
    link::start(address, options).await
}

/// Options of a connection.
#[derive(Clone)]
pub struct Options {
    patience: Duration,
    timeout: Duration,
    dial: Dial,
    /// True if the caller has set `dial`.
    dials: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(60),
            timeout: Duration::from_secs(10),
            dial: Arc::new(|address| async move { Ok(Box::new(open(address).await?) as Stream) }.boxed()),
            dials: false,
        }
    }
}

impl Options {
    /// Sets the time for attempts to resume a lost connection; 60 s by default. Zero disables resumption.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets the time limit of one connection attempt; 10 s by default.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the function that opens the byte streams under WebSockets; by default a plain TCP connection. The
    /// function receives `HOST:PORT` for each connection. TLS (needed for `wss://`) and proxies belong in
    /// this function.
    #[must_use]
    pub fn dial<F, S>(mut self, dial: impl Fn(String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        self.dial = Arc::new(move |address| {
            let made = dial(address);
            async move { Ok(Box::new(made.await?) as Stream) }.boxed()
        });
        self.dials = true;
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { patience, timeout, dials, .. } = self;
        out.debug_struct("Options")
            .field("patience", patience)
            .field("timeout", timeout)
            .field("dials", dials)
            .finish_non_exhaustive()
    }
}

/// The reason why a connection failed. It does not contain the path of the address, which may contain a
/// token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address is not the address of a WebSocket.
    #[error("not the address of a WebSocket: {0}")]
    Address(String),
    /// The address begins with `wss://`, and [`Options::dial`] is not set.
    #[error("a wss:// address needs Options::dial, which makes the TLS connection")]
    NoTls,
    /// The host is not reachable, or the connection broke during its setup.
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
        /// The time limit.
        after: Duration,
    },
    /// The server responded without a WebSocket.
    #[error("{host} gives no WebSocket: {reason}")]
    Refused {
        /// Host and port.
        host: String,
        /// The status of its response, or the problem with the response.
        reason: String,
    },
}

/// Opens a plain connection, which sends small frames at once.
async fn open(address: String) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The byte stream under a WebSocket.
type Stream = Box<dyn Bytes>;

/// Makes a stream to `HOST:PORT`.
type Dial = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Stream>> + Send + Sync>;

/// A stream of bytes in both directions.
trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Bytes for S {}

#[cfg(test)]
mod tests {
    #[tokio::test]
    async fn opened_sockets_send_small_frames_at_once() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = super::open(listener.local_addr().unwrap().to_string()).await.unwrap();
        assert!(stream.nodelay().unwrap());
    }
}
