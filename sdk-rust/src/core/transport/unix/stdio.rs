//! stdin and stdout of this process. Their mode, blocking or non-blocking, is shared with other processes.
//!
//! A change to non-blocking mode would also affect the parent and every child that inherits the streams. A pipe
//! is therefore opened again through `/proc/self/fd`, which gives it a file description of its own. A socket
//! (as from Node's `child_process`) cannot be reopened; each call on it requests non-blocking behavior.
//! Anything else (a file, a terminal, a system without `/proc`) is read by a thread and written by the
//! runtime's blocking pool.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::unix::pipe;

use super::super::streams::{BoxReader, BoxWriter};
use super::super::thread_reader::ThreadReader;
use super::pipe::PipeWriter;

/// Opens stdin and stdout of this process.
pub(in super::super) fn open() -> io::Result<(BoxReader, BoxWriter)> {
    let reader = open_reader(io::stdin().as_fd(), "/proc/self/fd/0")?;
    let writer = open_writer(io::stdout().as_fd(), "/proc/self/fd/1")?;
    Ok((reader, writer))
}

/// Replaces stdout with stderr, and stdin with an empty input.
pub(in super::super) fn divert() -> io::Result<()> {
    rustix::stdio::dup2_stdout(io::stderr().as_fd())?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?.as_fd())?;
    Ok(())
}

enum StdioKind {
    Pipe,
    Socket(SharedSocket),
    Other(OwnedFd),
}

impl StdioKind {
    fn of(descriptor: BorrowedFd<'_>) -> io::Result<Self> {
        let kind = FileType::from_raw_mode(rustix::fs::fstat(descriptor)?.st_mode);
        if kind == FileType::Fifo {
            return Ok(Self::Pipe);
        }
        let own = descriptor.try_clone_to_owned()?;
        if kind != FileType::Socket {
            return Ok(Self::Other(own));
        }
        let socket = std::os::unix::net::UnixStream::from(own);
        // Fails for a socket of another family.
        if socket.local_addr().is_err() {
            return Ok(Self::Other(socket.into()));
        }
        // The replacement is unsafe: it requires that the descriptor stays open, which the owned type
        // guarantees here.
        #[allow(deprecated, reason = "no other owner closes an owned descriptor")]
        let socket = AsyncFd::new(OwnedFd::from(socket))?;
        Ok(Self::Socket(SharedSocket(socket)))
    }
}

fn open_reader(descriptor: BorrowedFd<'_>, path: &str) -> io::Result<BoxReader> {
    Ok(match StdioKind::of(descriptor)? {
        StdioKind::Pipe => match pipe::OpenOptions::new().open_receiver(path) {
            Ok(receiver) => Box::new(receiver),
            Err(error) => {
                tracing::debug!(%error, "stdin cannot be reopened; a thread reads it");
                Box::new(ThreadReader::start(descriptor.try_clone_to_owned()?.into())?)
            }
        },
        StdioKind::Socket(socket) => Box::new(socket),
        StdioKind::Other(own) => Box::new(ThreadReader::start(own.into())?),
    })
}

fn open_writer(descriptor: BorrowedFd<'_>, path: &str) -> io::Result<BoxWriter> {
    let blocking = |own: OwnedFd| Box::new(tokio::fs::File::from_std(File::from(own)));
    Ok(match StdioKind::of(descriptor)? {
        StdioKind::Pipe => match PipeWriter::open(path) {
            Ok(writer) => {
                enlarge(writer.descriptor());
                Box::new(writer)
            }
            Err(error) => {
                tracing::debug!(%error, "stdout cannot be reopened; threads write it");
                blocking(descriptor.try_clone_to_owned()?)
            }
        },
        StdioKind::Socket(socket) => Box::new(socket),
        StdioKind::Other(own) => blocking(own),
    })
}

/// Capacity to request for a pipe, in bytes. With a large pipe, the writer and the reader of long frames
/// alternate less often. All pipes of a user share one limit, so the value must be small enough for many
/// agents.
#[cfg(target_os = "linux")]
const PIPE: usize = 256 << 10;

/// Requests a larger capacity for a pipe. Failure has no effect.
pub(in super::super) fn enlarge(pipe: impl AsFd) {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::pipe::fcntl_setpipe_size(pipe, PIPE) {
        tracing::debug!(%error, "a pipe stays as it is");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = pipe;
}

/// Flags for writes to a socket: do not wait, and do not send SIGPIPE if the other side is disconnected.
/// Apple's systems lack the second flag. There SIGPIPE is ignored, as in every Rust program.
#[cfg(not(target_vendor = "apple"))]
const SEND: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
#[cfg(target_vendor = "apple")]
const SEND: SendFlags = SendFlags::DONTWAIT;

/// A socket that is shared with other processes. Its mode is not changed.
struct SharedSocket(AsyncFd<OwnedFd>);

impl SharedSocket {
    /// Calls `act`. If the socket is not ready, waits and calls it again.
    fn poll<T>(
        &self,
        context: &mut Context<'_>,
        interest: Interest,
        mut act: impl FnMut(&OwnedFd) -> rustix::io::Result<T>,
    ) -> Poll<io::Result<T>> {
        loop {
            let mut ready = ready!(match interest.is_readable() {
                true => self.0.poll_read_ready(context),
                false => self.0.poll_write_ready(context),
            })?;
            match act(self.0.get_ref()) {
                Err(Errno::WOULDBLOCK) => ready.clear_ready(),
                Err(Errno::INTR) => {}
                other => return Poll::Ready(other.map_err(io::Error::from)),
            }
        }
    }
}

impl AsyncRead for SharedSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buffer.initialize_unfilled();
        let read = self.poll(context, Interest::READABLE, |socket| {
            rustix::net::recv(socket, &mut *room, RecvFlags::DONTWAIT).map(|(count, _)| count)
        });
        let count = ready!(read)?;
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for SharedSocket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll(context, Interest::WRITABLE, |socket| rustix::net::send(socket, bytes, SEND))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll(context, Interest::WRITABLE, |socket| {
            rustix::net::sendmsg(socket, slices, &mut SendAncillaryBuffer::default(), SEND)
        })
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(match rustix::net::shutdown(self.0.get_ref(), Shutdown::Write) {
            // The other side is already disconnected.
            Err(Errno::NOTCONN) => Ok(()),
            other => other.map_err(io::Error::from),
        })
    }
}
