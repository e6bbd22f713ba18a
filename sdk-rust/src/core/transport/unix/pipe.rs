//! The writing end of a pipe.
//!
//! The system lets only one side of a pipe work at a time. A writer that retries immediately after the pipe was
//! full competes with the reader. It then spins until the reader has copied everything. For a long stream, this
//! takes most of the processor time. This writer therefore waits until the reader has made room.

use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use tokio::io::AsyncWrite;
use tokio::io::unix::AsyncFd;

/// Writer that does not block a thread. It needs a file description that no other process shares, because it is
/// non-blocking.
pub(super) struct PipeWriter(AsyncFd<OwnedFd>);

impl PipeWriter {
    /// Opens the writing end of the pipe at the given path. Fails outside of a tokio runtime with I/O.
    pub fn open(path: &str) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Self::new(rustix::fs::open(path, flags, Mode::empty())?)
    }

    /// Wraps a non-blocking pipe.
    fn new(pipe: OwnedFd) -> io::Result<Self> {
        // The replacement is unsafe: it requires that the descriptor stays open, which the owned type
        // guarantees here.
        #[allow(deprecated, reason = "no other owner closes an owned descriptor")]
        Ok(Self(AsyncFd::new(pipe)?))
    }

    /// Returns the descriptor.
    pub fn descriptor(&self) -> &OwnedFd {
        self.0.get_ref()
    }

    /// Writes some of the `length` bytes and returns their number.
    fn poll_some(
        &self,
        context: &mut Context<'_>,
        length: usize,
        mut write: impl FnMut(&OwnedFd) -> rustix::io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.0.poll_write_ready(context))?;
            match write(self.0.get_ref()) {
                Ok(written) => {
                    if written < length && is_full(self.0.get_ref()) {
                        ready.clear_ready();
                    }
                    return Poll::Ready(Ok(written));
                }
                Err(Errno::WOULDBLOCK) => ready.clear_ready(),
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

/// Returns `true` if a pipe is full. Only after a pipe was full does the system report new room.
fn is_full(pipe: &OwnedFd) -> bool {
    let mut watched = [PollFd::new(pipe, PollFlags::OUT)];
    matches!(poll(&mut watched, Some(&Timespec::default())), Ok(0))
}

impl AsyncWrite for PipeWriter {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_some(context, bytes.len(), |pipe| rustix::io::write(pipe, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = slices.iter().map(|slice| slice.len()).sum();
        self.poll_some(context, length, |pipe| rustix::io::writev(pipe, slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;
    use std::time::Duration;

    use rustix::fs::{fcntl_getfl, fcntl_setfl};
    use tokio::io::AsyncWriteExt;

    const ALL: usize = 8 << 20;

    fn pipe() -> (File, PipeWriter) {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        fcntl_setfl(&writer, fcntl_getfl(&writer).unwrap() | OFlags::NONBLOCK).unwrap();
        (reader.into(), PipeWriter::new(writer).unwrap())
    }

    #[tokio::test]
    async fn all_comes_through_however_little_is_read_at_once() {
        for piece in [512, 4096, 60_000, 1 << 20] {
            let (mut reader, mut writer) = pipe();
            let read = std::thread::spawn(move || {
                let (mut buffer, mut sum, mut length) = (vec![0; piece], 0, 0);
                while let Ok(count @ 1..) = reader.read(&mut buffer) {
                    sum += buffer[..count].iter().map(|byte| u64::from(*byte)).sum::<u64>();
                    length += count;
                }
                (length, sum)
            });
            let text: Vec<u8> = (0..ALL).map(|at| (at % 251) as u8).collect();
            let sum = text.iter().map(|byte| u64::from(*byte)).sum::<u64>();
            let written = tokio::time::timeout(Duration::from_secs(60), writer.write_all(&text)).await;
            written.expect("the writer sleeps although the pipe has room").unwrap();
            drop(writer);
            assert_eq!(read.join().unwrap(), (ALL, sum), "{piece} at once");
        }
    }

    #[tokio::test]
    async fn a_waiting_writer_learns_that_the_reader_is_gone() {
        let (reader, mut writer) = pipe();
        let write = writer.write_all(&[0; ALL]);
        let leave = async {
            tokio::task::yield_now().await;
            drop(reader);
        };
        let both = async { tokio::join!(write, leave) };
        let (written, ()) = tokio::time::timeout(Duration::from_secs(60), both).await.unwrap();
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
