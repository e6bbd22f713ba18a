//! Streams of bytes of any kind.

use tokio::io::{AsyncRead, AsyncWrite};

/// The reading side, with bytes from the peer.
pub type BoxReader = Box<dyn AsyncRead + Send + Unpin>;
/// The writing side, for bytes to the peer.
pub type BoxWriter = Box<dyn AsyncWrite + Send + Unpin>;
