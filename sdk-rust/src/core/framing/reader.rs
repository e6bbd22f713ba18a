//! The framer over an asynchronous reader.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::framer::Framer;
use super::{FramerOptions, Incoming};

/// Number of bytes to reserve for a read.
const READ_SIZE: usize = 256 * 1024;
/// Minimum free space for a read, in bytes; it is the usual capacity of a pipe.
const MIN_FREE: usize = 64 * 1024;

/// Reads lines from an [`AsyncRead`]. A batch contains all lines that one read completes.
///
/// Large lines share the buffer of the read. Small lines own their bytes, so a small line does not keep a
/// whole buffer alive.
#[derive(Debug)]
pub struct FrameReader<R> {
    reader: R,
    framer: Framer,
    ended: bool,
    unterminated: bool,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Creates a reader with the default options: lines of at most 64 MiB, without a byte order mark at the
    /// start.
    pub fn new(reader: R) -> Self {
        Self::with_options(reader, FramerOptions::default())
    }

    /// Creates a reader with the given limit and handling of a byte order mark.
    pub fn with_options(reader: R, options: FramerOptions) -> Self {
        Self { reader, framer: Framer::new(options), ended: false, unterminated: false }
    }

    /// Appends the next lines to `out` and returns their number: at least one, or 0 at the end of the stream.
    /// Returns the error of a failed read. Delivered lines stay delivered, and the call may be repeated.
    ///
    /// The method waits only until one line is complete. It never waits to fill a batch. Dropping the future
    /// loses nothing.
    pub async fn next_batch(&mut self, out: &mut Vec<Incoming>) -> io::Result<usize> {
        self.next_batch_of(out, &mut |_| ()).await
    }

    /// Works like [`next_batch`](Self::next_batch). If the batch consists of short lines from one block of
    /// text, as it nearly always does, `look` first receives that text.
    pub(crate) async fn next_batch_of(
        &mut self,
        out: &mut Vec<Incoming>,
        look: &mut (impl FnMut(&str) + Send),
    ) -> io::Result<usize> {
        let before = out.len();
        // Beginnings that the caller did not take are dropped.
        drop(self.framer.take_heads());
        while out.len() == before && !self.ended {
            let count = match self.reader.read_buf(self.framer.buffer(MIN_FREE, READ_SIZE)).await {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if count == 0 {
                self.ended = true;
                self.unterminated = self.framer.drain_end(out);
            } else {
                self.framer.drain(out, look);
            }
        }
        Ok(out.len() - before)
    }

    /// Returns the beginnings of those lines of the last batch that were not delivered, oldest first.
    pub(crate) fn take_heads(&mut self) -> Vec<String> {
        self.framer.take_heads()
    }

    /// Returns `true` if the stream ended inside a line, without an LF after its last byte.
    pub fn unterminated(&self) -> bool {
        self.unterminated
    }

    /// Returns the wrapped reader.
    pub fn get_ref(&self) -> &R {
        &self.reader
    }

    /// Consumes this reader and returns the wrapped reader. Bytes of an unfinished line are lost.
    pub fn into_inner(self) -> R {
        self.reader
    }
}
