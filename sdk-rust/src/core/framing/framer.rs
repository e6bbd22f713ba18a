//! The framer without I/O: a state machine over bytes.

use bytes::{Buf, Bytes, BytesMut};
use memchr::{memchr, memchr_iter, memrchr};

use super::text::FrameText;
use super::{Bom, FramerOptions, FramingError, Incoming};

const LF: u8 = b'\n';
const CR: u8 = b'\r';

/// Minimum length in bytes of a line that may share the memory of the block in which it was read.
const SHARE_FROM: usize = 4 * 1024;
/// A line shares the memory of its block only if the block is at most this many times longer. A retained line
/// therefore keeps at most this multiple of its length alive.
const SHARE_FRACTION: usize = 8;
/// Maximum capacity of a read buffer that is reused, in bytes. A buffer that grew larger for one long line is
/// replaced.
const KEEP_CAPACITY: usize = 1024 * 1024;

/// Length of the retained beginning of a line that was not delivered, in bytes: enough for its type and its id.
const HEAD: usize = 1024;

/// One line of a stream, borrowed from the bytes that were pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The text without its line end. A blank line is an empty text, and the caller decides about it.
    pub text: &'a str,
    /// Start of the line in the stream, in bytes.
    pub offset: u64,
    /// `true` if an LF ended the line. Only the last line of a stream can lack one.
    pub terminated: bool,
}

/// Splits a stream of bytes into lines. The division of the stream into chunks has no influence on the lines.
///
/// A line that is too long or not UTF-8 causes one [`FramingError`]; the next line is delivered as usual. Lines
/// inside a chunk are borrowed in place; only an unfinished line is copied. Each byte is searched for LF only
/// once, so the time stays linear even for chunks of one byte.
#[derive(Debug, Default)]
pub struct Framer {
    options: FramerOptions,
    /// The bytes of the unfinished line; empty while a line is discarded. Between calls it contains no LF.
    tail: BytesMut,
    /// Number of bytes of `tail` that are known to contain no LF. Only inside `drain` is it less than the
    /// length of `tail`.
    searched: usize,
    /// The stream offset of the first byte of `tail`, or of the next byte if `tail` is empty.
    base: u64,
    /// `true` while the rest of a line that was too long is discarded, up to its LF. The line has already been
    /// reported.
    discarding: bool,
    /// The beginnings of the lines that were not delivered, oldest first. Only a reader collects them.
    heads: Vec<String>,
}

impl Framer {
    /// Creates a framer at the start of a stream.
    pub fn new(options: FramerOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Takes the next bytes of the stream and passes each completed line to `on_line`, in order.
    pub fn push(&mut self, chunk: &[u8], on_line: &mut impl FnMut(Result<Line<'_>, FramingError>)) {
        let mut rest = chunk;
        if self.discarding || !self.tail.is_empty() {
            let Some(at) = memchr(LF, rest) else {
                self.buffer_part(rest, on_line);
                return;
            };
            self.complete(&rest[..at], on_line);
            rest = &rest[at + 1..];
        }
        if let Some(last) = memrchr(LF, rest) {
            let (block, after) = rest.split_at(last + 1);
            match simdutf8::basic::from_utf8(block) {
                Ok(text) => self.walk_text(text, on_line),
                Err(_) => self.walk_bytes(block, on_line),
            }
            rest = after;
        }
        self.buffer_part(rest, on_line);
    }

    /// Ends the stream. A last line without LF is delivered and marked as unterminated. Afterwards the framer
    /// can start a new stream.
    pub fn finish(&mut self, on_line: &mut impl FnMut(Result<Line<'_>, FramingError>)) {
        if !self.discarding && !self.tail.is_empty() {
            on_line(self.check_line(&self.tail, self.base, false));
        }
        self.tail = BytesMut::new();
        self.searched = 0;
        self.base = 0;
        self.discarding = false;
    }

    /// Returns the number of buffered bytes of an unfinished line.
    pub fn buffered(&self) -> usize {
        self.tail.len()
    }

    /// Returns the number of bytes taken from the stream.
    pub fn offset(&self) -> u64 {
        self.base + self.tail.len() as u64
    }

    /// Completes the unfinished line with its last bytes, which contain no LF.
    fn complete(&mut self, end: &[u8], on_line: &mut impl FnMut(Result<Line<'_>, FramingError>)) {
        let length = self.tail.len() + end.len();
        let next = self.base + length as u64 + 1;
        if self.discarding {
            self.discarding = false;
        } else if self.too_long(length, end.last().or(self.tail.last())) {
            // Reported before copying: `end` may be far longer than the limit.
            on_line(Err(self.too_long_error(self.base)));
        } else {
            self.tail.extend_from_slice(end);
            on_line(self.check_line(&self.tail, self.base, true));
        }
        self.release_tail();
        self.base = next;
    }

    /// Buffers the start of a line, or discards it if the line is known to be too long.
    fn buffer_part(&mut self, part: &[u8], on_line: &mut impl FnMut(Result<Line<'_>, FramingError>)) {
        let length = self.tail.len() + part.len();
        if self.discarding {
            self.base += part.len() as u64;
        } else if !part.is_empty() && self.too_long(length, part.last()) {
            on_line(Err(self.too_long_error(self.base)));
            self.discard_from(length);
        } else {
            self.tail.extend_from_slice(part);
            self.searched = self.tail.len();
        }
    }

    /// Discards the current line after `seen` bytes.
    fn discard_from(&mut self, seen: usize) {
        self.base += seen as u64;
        self.tail = BytesMut::new();
        self.searched = 0;
        self.discarding = true;
    }

    fn release_tail(&mut self) {
        if self.tail.capacity() > KEEP_CAPACITY {
            self.tail = BytesMut::new();
        } else {
            self.tail.clear();
        }
        self.searched = 0;
    }

    /// Delivers the lines of a block that ends with LF and is entirely UTF-8.
    fn walk_text(&mut self, block: &str, on_line: &mut impl FnMut(Result<Line<'_>, FramingError>)) {
        let mut start = 0;
        for at in memchr_iter(LF, block.as_bytes()) {
            on_line(self.accept(&block[start..at], self.base + start as u64, true));
            start = at + 1;
        }
        self.base += start as u64;
    }

    /// Delivers the lines of a block that ends with LF and contains invalid UTF-8.
    fn walk_bytes(&mut self, block: &[u8], on_line: &mut impl FnMut(Result<Line<'_>, FramingError>)) {
        let mut start = 0;
        for at in memchr_iter(LF, block) {
            on_line(self.check_line(&block[start..at], self.base + start as u64, true));
            start = at + 1;
        }
        self.base += start as u64;
    }

    /// Checks one line's bytes.
    fn check_line<'a>(
        &self,
        line: &'a [u8],
        offset: u64,
        terminated: bool,
    ) -> Result<Line<'a>, FramingError> {
        // The length check comes first, so that the error for a long line does not depend on the chunks.
        if self.too_long(line.len(), line.last().filter(|_| terminated)) {
            return Err(self.too_long_error(offset));
        }
        match simdutf8::compat::from_utf8(line) {
            Ok(text) => self.accept(text, offset, terminated),
            Err(error) => {
                Err(FramingError::InvalidUtf8 { line_start: offset, valid_up_to: error.valid_up_to() })
            }
        }
    }

    /// Checks the text of one line and removes its line end and a byte order mark.
    #[inline]
    fn accept<'a>(&self, line: &'a str, offset: u64, terminated: bool) -> Result<Line<'a>, FramingError> {
        let mut text = line;
        if terminated && let Some(without) = text.strip_suffix('\r') {
            text = without;
        }
        if text.len() > self.options.max_line {
            return Err(self.too_long_error(offset));
        }
        if offset == 0 && self.options.bom == Bom::Drop {
            text = text.strip_prefix('\u{feff}').unwrap_or(text);
        }
        Ok(Line { text, offset, terminated })
    }

    /// Returns `true` if a line of this length is too long. `last` is its last byte: a CR before the LF does
    /// not count.
    #[inline]
    fn too_long(&self, length: usize, last: Option<&u8>) -> bool {
        length > self.options.max_line && !(length - 1 == self.options.max_line && last == Some(&CR))
    }

    fn too_long_error(&self, offset: u64) -> FramingError {
        FramingError::TooLong { limit: self.options.max_line, offset }
    }

    /// Returns the buffer for the next read. If fewer than `low` bytes are free, reserves `room` bytes.
    /// [`drain`](Self::drain) processes the bytes that the read adds.
    pub(super) fn buffer(&mut self, low: usize, room: usize) -> &mut BytesMut {
        if self.tail.capacity() - self.tail.len() < low {
            self.tail.reserve(room);
        }
        &mut self.tail
    }

    /// Takes the lines that were read into [`buffer`](Self::buffer). Each text owns its bytes or shares those
    /// of the block. If the first line is short, `look` receives the text of the whole block.
    pub(super) fn drain(&mut self, out: &mut Vec<Incoming>, look: &mut impl FnMut(&str)) {
        if self.discarding {
            let Some(at) = memchr(LF, &self.tail) else {
                self.base += self.tail.len() as u64;
                self.tail.clear();
                return;
            };
            self.base += at as u64 + 1;
            self.tail.advance(at + 1);
            self.discarding = false;
        }
        if let Some(last) = memrchr(LF, &self.tail[self.searched..]) {
            let block = self.tail.split_to(self.searched + last + 1).freeze();
            if block.len() > KEEP_CAPACITY {
                // Otherwise the rest would stay in the allocation of the long line and the next reads would
                // use it.
                self.tail = BytesMut::from(&self.tail[..]);
            }
            self.share(block, out, look);
        }
        if self.too_long(self.tail.len(), self.tail.last()) {
            out.push(Incoming::Fault(self.too_long_error(self.base)));
            self.heads.push(head(&self.tail));
            self.discard_from(self.tail.len());
        }
        self.searched = self.tail.len();
    }

    /// Ends the stream of a reader, as [`finish`](Self::finish) does. Returns `true` if the last line had no
    /// LF.
    pub(super) fn drain_end(&mut self, out: &mut Vec<Incoming>) -> bool {
        let unterminated = self.discarding || !self.tail.is_empty();
        let last = head(&self.tail);
        let mut is_lost = false;
        self.finish(&mut |line| {
            is_lost = line.is_err();
            out.push(match line {
                Ok(line) => Incoming::Frame(FrameText::from(line.text)),
                Err(error) => Incoming::Fault(error),
            });
        });
        self.heads.extend(is_lost.then_some(last));
        unterminated
    }

    /// Removes and returns the beginnings of the lines that were not delivered, oldest first.
    pub(super) fn take_heads(&mut self) -> Vec<String> {
        std::mem::take(&mut self.heads)
    }

    fn share(&mut self, block: Bytes, out: &mut Vec<Incoming>, look: &mut impl FnMut(&str)) {
        let start = self.base;
        let mut heads = std::mem::take(&mut self.heads);
        match FrameText::from_utf8(block) {
            Ok(block) => {
                if memchr(LF, block.as_bytes()).is_some_and(|at| at < SHARE_FROM) {
                    look(block.as_str());
                }
                let share_from = SHARE_FROM.max(block.len() / SHARE_FRACTION);
                self.walk_text(block.as_str(), &mut |line| {
                    out.push(match line {
                        Ok(line) if line.text.len() >= share_from => Incoming::Frame(
                            block.slice_of(line.text).unwrap_or_else(|| FrameText::from(line.text)),
                        ),
                        Ok(line) => Incoming::Frame(FrameText::from(line.text)),
                        Err(error) => {
                            heads.push(head_at(block.as_bytes(), start, &error));
                            Incoming::Fault(error)
                        }
                    });
                });
            }
            // Rare, so copies are acceptable.
            Err(block) => self.walk_bytes(&block, &mut |line| {
                out.push(match line {
                    Ok(line) => Incoming::Frame(FrameText::from(line.text)),
                    Err(error) => {
                        heads.push(head_at(&block, start, &error));
                        Incoming::Fault(error)
                    }
                });
            }),
        }
        self.heads = heads;
    }
}

/// Returns the beginning of the line that caused a fault. `start` is the position of the block in the stream.
fn head_at(block: &[u8], start: u64, fault: &FramingError) -> String {
    let (FramingError::TooLong { offset, .. } | FramingError::InvalidUtf8 { line_start: offset, .. }) = fault;
    let at = usize::try_from(offset.saturating_sub(start)).unwrap_or(usize::MAX);
    head(block.get(at..).unwrap_or_default())
}

fn head(line: &[u8]) -> String {
    let line = &line[..line.len().min(HEAD)];
    String::from_utf8_lossy(&line[..memchr(LF, line).unwrap_or(line.len())]).into_owned()
}
