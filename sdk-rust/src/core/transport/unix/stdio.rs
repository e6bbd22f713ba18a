//! stdin and stdout of this process, which share their state with other processes.
//!
//! stdin and stdout belong to whoever shares them: making them non-blocking would make them so for the parent
//! and for every child that inherits them. So a pipe is opened anew through `/proc/self/fd`, which gives this
//! process a description of its own. A socket (Node's `child_process` hands those out) cannot be opened anew;
//! each call on it says that it shall not wait. Anything else (a file, a terminal, a system
//! without `/proc`) is read by a thread and written by the runtime's blocking pool.

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

use super::super::thread_reader::ThreadReader;
use super::super::{BoxReader, BoxWriter};
use super::pipe::PipeWriter;

/// stdin and stdout of this process.
pub(in super::super) fn open() -> io::Result<(BoxReader, BoxWriter)> {
    let reader = open_reader(io::stdin().as_fd(), "/proc/self/fd/0")?;
    let writer = open_writer(io::stdout().as_fd(), "/proc/self/fd/1")?;
    Ok((reader, writer))
}

/// Puts stderr in the place of stdout, and an empty input in the place of stdin.
pub(in super::super) fn divert() -> io::Result<()> {
    rustix::stdio::dup2_stdout(io::stderr().as_fd())?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?.as_fd())?;
    Ok(())
}

enum Carrier {
    Pipe,
    Socket(SharedSocket),
    Other(OwnedFd),
}

impl Carrier {
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
        // What takes its place is unsafe: it trusts the caller that the descriptor stays open. The type says so here.
        #[allow(deprecated, reason = "an owned descriptor is not closed by anybody else")]
        let socket = AsyncFd::new(OwnedFd::from(socket))?;
        Ok(Self::Socket(SharedSocket(socket)))
    }
}

fn open_reader(descriptor: BorrowedFd<'_>, path: &str) -> io::Result<BoxReader> {
    Ok(match Carrier::of(descriptor)? {
        Carrier::Pipe => match pipe::OpenOptions::new().open_receiver(path) {
            Ok(receiver) => Box::new(receiver),
            Err(error) => {
                tracing::debug!(%error, "stdin cannot be opened anew, a thread reads it");
                Box::new(ThreadReader::start(descriptor.try_clone_to_owned()?.into())?)
            }
        },
        Carrier::Socket(socket) => Box::new(socket),
        Carrier::Other(own) => Box::new(ThreadReader::start(own.into())?),
    })
}

fn open_writer(descriptor: BorrowedFd<'_>, path: &str) -> io::Result<BoxWriter> {
    let blocking = |own: OwnedFd| Box::new(tokio::fs::File::from_std(File::from(own)));
    Ok(match Carrier::of(descriptor)? {
        Carrier::Pipe => match PipeWriter::open(path) {
            Ok(writer) => {
                enlarge(writer.descriptor());
                Box::new(writer)
            }
            Err(error) => {
                tracing::debug!(%error, "stdout cannot be opened anew, threads write it");
                blocking(descriptor.try_clone_to_owned()?)
            }
        },
        Carrier::Socket(socket) => Box::new(socket),
        Carrier::Other(own) => blocking(own),
    })
}

/// What a pipe holds, in bytes, where the system allows it: a writer and a reader of long frames take turns less often.
/// All pipes of a user count against one limit, which many agents shall not use up.
#[cfg(target_os = "linux")]
const PIPE: usize = 256 << 10;

/// Has a pipe hold more.
pub(in super::super) fn enlarge(pipe: impl AsFd) {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::pipe::fcntl_setpipe_size(pipe, PIPE) {
        tracing::debug!(%error, "a pipe stays as it is");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = pipe;
}

/// How a socket is written: without waiting, and without a signal where the peer is gone. Apple's systems have no such
/// flag; there, as in every Rust program, SIGPIPE is ignored.
#[cfg(not(target_vendor = "apple"))]
const SEND: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
#[cfg(target_vendor = "apple")]
const SEND: SendFlags = SendFlags::DONTWAIT;

/// A socket that others share, and that stays as it is for them.
struct SharedSocket(AsyncFd<OwnedFd>);

impl SharedSocket {
    /// Does `act`, and again whenever it would have had to wait and need not any more.
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
            // The other side is gone already.
            Err(Errno::NOTCONN) => Ok(()),
            other => other.map_err(io::Error::from),
        })
    }
}
