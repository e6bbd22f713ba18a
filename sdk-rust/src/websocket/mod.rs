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
//! A server of `agentese web` lets a lost connection be taken up again: it is told how many messages came, and gets again
//! what may have been lost: commands without an answer, and answers to the agent's questions (of each question the newest
//! line, of the newest 1024 questions). No command runs twice, and the first answer counts; the newest progress of a tool of the
//! client may reach the agent twice. Where the server no longer has what was missed, or does not say that it goes on, the
//! client's connection ends with an error whose text begins with `reload`: a new connection has to ask for history and state.
//! With other servers the connection ends when the socket does.

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

/// Connects to an agent behind a WebSocket, for a client of its dialect. Returns when the connection stands. Must be
/// called on a tokio runtime.
///
/// `address` begins with `ws://`. What is written waits while the network is slow, and the other side waits while the
/// client does not read.
///
/// # Errors
/// [`ConnectError`] where the connection cannot be made.
pub async fn connect(address: &str) -> Result<Transport, ConnectError> {
    connect_with(address, Options::default()).await
}

/// [`connect`], with options.
///
/// # Errors
/// As for [`connect`].
pub async fn connect_with(address: &str, options: Options) -> Result<Transport, ConnectError> {
    let address = Address::parse(address)?;
    if address.is_secure && !options.dials {
        return Err(ConnectError::NoTls);
    }
    link::start(address, options).await
}

/// How a connection is made.
#[derive(Clone)]
pub struct Options {
    patience: Duration,
    timeout: Duration,
    dial: Dial,
    /// Whether `dial` is the caller's own.
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
    /// How long a lost connection is tried to be made again; 60 s by default, zero is never.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How long one attempt to connect may take; 10 s by default.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Makes the streams of bytes that WebSockets run over; a plain TCP connection by default. It is called with
    /// `HOST:PORT` for each connection, and is where TLS (needed for `wss://`) and proxies belong.
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

/// Why a connection could not be made. It does not show the address' path, which may hold a token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address is none of a WebSocket.
    #[error("not the address of a WebSocket: {0}")]
    Address(String),
    /// The address begins with `wss://`, and [`Options::dial`] is not set.
    #[error("a wss:// address needs Options::dial, which makes the TLS connection")]
    NoTls,
    /// Nobody is there, or the connection broke while it was made.
    #[error("cannot connect to {host}: {source}")]
    Io {
        /// Host and port.
        host: String,
        /// What the system said.
        source: io::Error,
    },
    /// There was no answer in time.
    #[error("cannot connect to {host}: no answer within {after:?}")]
    TimedOut {
        /// Host and port.
        host: String,
        /// How long was waited.
        after: Duration,
    },
    /// The server is there and gives no WebSocket.
    #[error("{host} gives no WebSocket: {reason}")]
    Refused {
        /// Host and port.
        host: String,
        /// The status of its answer, or what was wrong with it.
        reason: String,
    },
}

/// Opens a plain connection, which sends small frames at once.
async fn open(address: String) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// What a WebSocket runs over.
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
