//! The framer without I/O: a state machine over bytes.

use bytes::{Buf, Bytes, BytesMut};
use memchr::{memchr, memchr_iter, memrchr};

use super::{Bom, FrameText, FramerOptions, FramingError, Incoming};

const LF: u8 = b'\n';
const CR: u8 = b'\r';

/// Lines this long (in bytes) may share the block they were read in.
const SHARE_FROM: usize = 4 * 1024;
/// A line that shares its block is at least this fraction of it: what is kept alive is bounded by this factor.
const SHARE_FRACTION: usize = 8;
/// A read buffer that grew past this size (in bytes) for one long line is not kept for the short ones after it.
const KEEP_CAPACITY: usize = 1024 * 1024;

/// How much of a line that is not delivered is kept, in bytes: enough for its type and its id.
const HEAD: usize = 1024;

/// One line of a stream, borrowed from the bytes that were pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The text without its line end. A blank line is empty text: what it means is the caller's to say.
    pub text: &'a str,
    /// Where the line starts in the stream, in bytes.
    pub offset: u64,
    /// Whether a LF ended it. Only the last line of a stream can lack one.
    pub terminated: bool,
}

/// Cuts a stream of bytes into lines, however the bytes are chunked.
///
/// A line that is too long or not UTF-8 is one [`FramingError`]; the next line is delivered as if nothing had
/// happened. Lines inside a chunk are lent out in place, only an unfinished one is copied, and each byte is
/// searched for LF once, so one-byte chunks stay linear.
#[derive(Debug, Default)]
pub struct Framer {
    options: FramerOptions,
    /// The line that has not ended yet; empty while discarding. Between calls it holds no LF.
    tail: BytesMut,
    /// How many bytes of `tail` are known to hold no LF; less than its length only inside `drain`.
    searched: usize,
    /// The stream offset of the first byte of `tail`, or of the next byte where it is empty.
    base: u64,
    /// The line at hand was too long and has been reported: everything up to its LF is thrown away.
    discarding: bool,
    /// How the lines begin that a reader could not deliver, the oldest first.
    heads: Vec<String>,
}

impl Framer {
    /// A framer at the start of a stream.
    pub fn new(options: FramerOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Takes the next bytes of the stream and hands each line that they end to `on_line`, in order.
    pub fn push(&mut self, chunk: &[u8], on_line: &mut impl FnMut(Result<Line<'_>, FramingError>)) {
        let mut rest = chunk;
        if self.discarding || !self.tail.is_empty() {
            let Some(at) = memchr(LF, rest) else {
                self.hold(rest, on_line);
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
        self.hold(rest, on_line);
    }

    /// Ends the stream: a last line without LF is delivered, marked as unterminated. The framer then stands
    /// at the start of a new stream.
    pub fn finish(&mut self, on_line: &mut impl FnMut(Result<Line<'_>, FramingError>)) {
        if !self.discarding && !self.tail.is_empty() {
            on_line(self.judge(&self.tail, self.base, false));
        }
        self.tail = BytesMut::new();
        self.searched = 0;
        self.base = 0;
        self.discarding = false;
    }

    /// How many bytes of an unfinished line are held.
    pub fn buffered(&self) -> usize {
        self.tail.len()
    }

    /// How many bytes of the stream have been taken.
    pub fn offset(&self) -> u64 {
        self.base + self.tail.len() as u64
    }

    /// Ends the held line with its last bytes, which hold no LF.
    fn complete(&mut self, end: &[u8], on_line: &mut impl FnMut(Result<Line<'_>, FramingError>)) {
        let length = self.tail.len() + end.len();
        let next = self.base + length as u64 + 1;
        if self.discarding {
            self.discarding = false;
        } else if self.too_long(length, end.last().or(self.tail.last())) {
            // Said before copying: `end` may be far longer than the limit.
            on_line(Err(self.too_long_error(self.base)));
        } else {
            self.tail.extend_from_slice(end);
            on_line(self.judge(&self.tail, self.base, true));
        }
        self.release_tail();
        self.base = next;
    }

    /// Keeps the start of a line, or throws it away where the line is known to be too long.
    fn hold(&mut self, part: &[u8], on_line: &mut impl FnMut(Result<Line<'_>, FramingError>)) {
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

    /// Throws away the line at hand, of which `seen` bytes have come.
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

    /// Hands out the lines of a block that ends with LF and is UTF-8 throughout.
    fn walk_text(&mut self, block: &str, on_line: &mut impl FnMut(Result<Line<'_>, FramingError>)) {
        let mut start = 0;
        for at in memchr_iter(LF, block.as_bytes()) {
            on_line(self.accept(&block[start..at], self.base + start as u64, true));
            start = at + 1;
        }
        self.base += start as u64;
    }

    /// Hands out the lines of a block that ends with LF and holds something that is not UTF-8.
    fn walk_bytes(&mut self, block: &[u8], on_line: &mut impl FnMut(Result<Line<'_>, FramingError>)) {
        let mut start = 0;
        for at in memchr_iter(LF, block) {
            on_line(self.judge(&block[start..at], self.base + start as u64, true));
            start = at + 1;
        }
        self.base += start as u64;
    }

    /// Checks one line's bytes.
    fn judge<'a>(&self, line: &'a [u8], offset: u64, terminated: bool) -> Result<Line<'a>, FramingError> {
        // Length first, so that what is said of a long line does not depend on how it was chunked.
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

    /// Checks one line's text and takes off what is not part of it.
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

    /// Whether a line of this length is over the limit, where `last` may turn out to be the CR before its LF.
    #[inline]
    fn too_long(&self, length: usize, last: Option<&u8>) -> bool {
        length > self.options.max_line && !(length - 1 == self.options.max_line && last == Some(&CR))
    }

    fn too_long_error(&self, offset: u64) -> FramingError {
        FramingError::TooLong { limit: self.options.max_line, offset }
    }

    /// The buffer to read into, with at least `room` bytes free. [`drain`](Self::drain) takes what was added.
    pub(super) fn buffer(&mut self, low: usize, room: usize) -> &mut BytesMut {
        if self.tail.capacity() - self.tail.len() < low {
            self.tail.reserve(room);
        }
        &mut self.tail
    }

    /// Takes the lines that were read into [`buffer`](Self::buffer), as texts that own or share their bytes. `look` is given the
    /// text that they are cut from, where the first one is short.
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
                // The rest would otherwise live on in, and be read after, the long line's allocation.
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

    /// Like [`finish`](Self::finish), for a reader's buffer. Says whether a last line lacked its LF.
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

    /// How the lines begin that were not delivered since this was last asked, the oldest first.
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
            // Rare, so copies will do.
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

/// How the line begins that a fault is about, of a block that starts at that offset of the stream.
fn head_at(block: &[u8], start: u64, fault: &FramingError) -> String {
    let (FramingError::TooLong { offset, .. } | FramingError::InvalidUtf8 { line_start: offset, .. }) = fault;
    let at = usize::try_from(offset.saturating_sub(start)).unwrap_or(usize::MAX);
    head(block.get(at..).unwrap_or_default())
}

fn head(line: &[u8]) -> String {
    let line = &line[..line.len().min(HEAD)];
    String::from_utf8_lossy(&line[..memchr(LF, line).unwrap_or(line.len())]).into_owned()
}
