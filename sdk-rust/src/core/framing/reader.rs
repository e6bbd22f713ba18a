//! The framer over an asynchronous reader.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::framer::Framer;
use super::{FramerOptions, Incoming};

/// Size of one read, in bytes.
const READ_SIZE: usize = 256 * 1024;
/// Minimum free space for a read, in bytes: the usual capacity of a pipe.
const MIN_FREE: usize = 64 * 1024;

/// Reads lines from an [`AsyncRead`], in batches of all lines of one read.
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
    /// Creates a reader with the default limit that drops a byte order mark.
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
    /// The method waits for one line, never for a fuller batch. Dropping the future loses nothing.
    pub async fn next_batch(&mut self, out: &mut Vec<Incoming>) -> io::Result<usize> {
        self.next_batch_of(out, &mut |_| ()).await
    }

    /// Works like [`next_batch`](Self::next_batch). If short lines were split from one text, as in nearly all
    /// cases, `look` receives this text first.
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

    /// Returns the beginnings of the undelivered lines of the last batch, oldest first.
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
