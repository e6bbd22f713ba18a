//! The framer over an asynchronous reader.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::{FrameText, Framer, FramerOptions, FramingError};

/// How much is asked for in one read, in bytes.
const READ: usize = 256 * 1024;
/// A read is not started into less room than this, in bytes: a pipe's usual capacity.
const LOW: usize = 64 * 1024;

/// One thing that came in: a line, or the reason why a line could not be delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// A line's text. Blank lines are delivered as empty text.
    Frame(FrameText),
    /// A line that was dropped. The stream goes on.
    Fault(FramingError),
}

/// Reads lines from an [`AsyncRead`], in batches of whatever one read brought.
///
/// Large lines share the buffer that they were read into, small ones own their bytes, so that keeping one
/// small line does not keep a whole buffer.
#[derive(Debug)]
pub struct FrameReader<R> {
    reader: R,
    framer: Framer,
    ended: bool,
    unterminated: bool,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// A reader with the default limit, that drops a byte order mark.
    pub fn new(reader: R) -> Self {
        Self::with_options(reader, FramerOptions::default())
    }

    /// A reader with the given limit and byte order mark rule.
    pub fn with_options(reader: R, options: FramerOptions) -> Self {
        Self { reader, framer: Framer::new(options), ended: false, unterminated: false }
    }

    /// Appends the next lines to `out` and returns how many there are: at least one, or 0 at the end of the
    /// stream. Fails where the reader fails; lines already delivered stay delivered, and the call may be
    /// repeated.
    ///
    /// It waits for one line, never for a fuller batch. Dropping the future loses nothing.
    pub async fn next_batch(&mut self, out: &mut Vec<Incoming>) -> io::Result<usize> {
        self.next_batch_of(out, &mut |_| ()).await
    }

    /// As [`next_batch`](Self::next_batch). Where short lines were cut from one text, as nearly always, `look` is given it first.
    pub(crate) async fn next_batch_of(
        &mut self,
        out: &mut Vec<Incoming>,
        look: &mut (impl FnMut(&str) + Send),
    ) -> io::Result<usize> {
        let before = out.len();
        // Nobody has to ask for them.
        drop(self.framer.take_heads());
        while out.len() == before && !self.ended {
            let count = match self.reader.read_buf(self.framer.buffer(LOW, READ)).await {
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

    /// How the lines begin that the last batch could not deliver, the oldest first.
    pub(crate) fn take_heads(&mut self) -> Vec<String> {
        self.framer.take_heads()
    }

    /// Whether the stream has ended inside a line, that is without a LF after its last byte.
    pub fn unterminated(&self) -> bool {
        self.unterminated
    }

    /// The wrapped reader.
    pub fn get_ref(&self) -> &R {
        &self.reader
    }

    /// Gives the wrapped reader back. Bytes of an unfinished line are lost.
    pub fn into_inner(self) -> R {
        self.reader
    }
}
