//! Options of a connection, and the byte streams on which WebSockets are opened.

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// Options of a connection.
#[derive(Clone)]
pub struct Options {
    pub(super) reconnect_timeout: Duration,
    pub(super) timeout: Duration,
    pub(super) dial: Dial,
    /// `true` if the caller has set `dial`.
    pub(super) has_custom_dial: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            reconnect_timeout: Duration::from_secs(60),
            timeout: Duration::from_secs(10),
            dial: Arc::new(|address| async move { Ok(Box::new(open(address).await?) as Stream) }.boxed()),
            has_custom_dial: false,
        }
    }
}

impl Options {
    /// Sets the time in which a lost connection may be resumed; 60 s by default. With zero, it is not resumed.
    #[must_use]
    pub fn reconnect_timeout(mut self, timeout: Duration) -> Self {
        self.reconnect_timeout = timeout;
        self
    }

    /// Sets the time limit of one connection attempt; 10 s by default.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the function that opens the byte stream for each WebSocket. It receives `HOST:PORT`. By default it
    /// opens a plain TCP connection. Use it for proxies and for TLS, which `wss://` requires.
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
        self.has_custom_dial = true;
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reconnect_timeout, timeout, has_custom_dial, .. } = self;
        out.debug_struct("Options")
            .field("reconnect_timeout", reconnect_timeout)
            .field("timeout", timeout)
            .field("has_custom_dial", has_custom_dial)
            .finish_non_exhaustive()
    }
}

/// Opens a plain TCP connection that sends small frames without delay.
async fn open(address: String) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The byte stream on which a WebSocket is opened.
pub(super) type Stream = Box<dyn ByteStream>;

/// Function that opens a stream to `HOST:PORT`.
pub(super) type Dial = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Stream>> + Send + Sync>;

/// A stream of bytes in both directions.
pub(super) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

#[cfg(test)]
mod tests {
    #[tokio::test]
    async fn opened_sockets_send_small_frames_at_once() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = super::open(listener.local_addr().unwrap().to_string()).await.unwrap();
        assert!(stream.nodelay().unwrap());
    }
}
