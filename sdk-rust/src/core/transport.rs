//! Connections for bytes: a child process, this process's own stdin and stdout, memory, or any pair of streams.

mod child;
mod exit;
mod options;
mod pair;
mod shutdown;
mod spawn_error;
mod stderr;
mod stdin;
mod stdio;
mod streams;
mod system;
mod thread_reader;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::fmt;

use tokio::io::{AsyncRead, AsyncWrite};

pub use child::{ChildProcess, ProcessGroup};
pub use exit::Exit;
pub use options::{ChildOptions, StderrCallback};
pub use pair::memory_pair;
pub use spawn_error::{SpawnError, SpawnErrorKind};
pub use stdio::{guard_stdio, stdio};
pub use streams::{BoxReader, BoxWriter};

/// Two directions of bytes, and the process at the other end, if any.
pub struct Transport {
    /// Bytes from the peer.
    pub reader: BoxReader,
    /// Bytes to the peer. Dropping the writer ends the peer's input.
    pub writer: BoxWriter,
    /// The process at the other end, if this transport started it. Dropping it ends that process.
    pub child: Option<ChildProcess>,
}

impl Transport {
    /// Starts a program and connects to its stdin and stdout. Fails if the program cannot be started.
    pub fn from_child(options: ChildOptions) -> Result<Self, SpawnError> {
        let (child, reader, writer) = ChildProcess::spawn(options)?;
        Ok(Self { reader, writer, child: Some(child) })
    }

    /// Creates a transport from any two streams.
    pub fn from_io(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self { reader: Box::new(reader), writer: Box::new(writer), child: None }
    }

    /// Returns the three parts.
    pub fn into_parts(self) -> (BoxReader, BoxWriter, Option<ChildProcess>) {
        (self.reader, self.writer, self.child)
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Transport").field("child", &self.child).finish_non_exhaustive()
    }
}
