//! The text of a frame, divided into segments. Long segments can be shared with other frames.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::iter::Peekable;
use std::vec::IntoIter;

use bytes::{Bytes, BytesMut};

use crate::framing::FrameText;

/// A text in segments. Long segments are shared with other texts: they are not copied, and are written from
/// their original place.
///
/// [`Segments::share`] adds a text that many frames have in common, such as an answer in progress or a stored
/// message. [`Segments::push_str`] adds any other text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Segments {
    /// Text before all other segments. It is stored separately, so that adding it does not move the rest.
    before: Cow<'static, str>,
    own: String,
    /// Shared texts. Each has the position in `own` before which it is written.
    shared: Vec<(usize, FrameText)>,
}

impl Segments {
    /// Minimum length of a shared text, in bytes. A shorter text is copied, because a copy costs less than
    /// sharing.
    pub const MIN_SHARED: usize = 2048;

    /// Minimum number of segments of a text that is copied only while it is written.
    const MIN_SEGMENTS: usize = 64;

    /// Length in bytes from which on a copied text is passed to the writer without a second copy.
    const MAX_COPIED: usize = 64 << 10;

    /// Creates an empty text with room for that many copied bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { own: String::with_capacity(bytes), ..Self::default() }
    }

    /// Appends a copy of a text.
    pub fn push_str(&mut self, text: &str) {
        self.own.push_str(text);
    }

    /// Appends a text, without a copy if the text is long.
    pub fn share(&mut self, text: &FrameText) {
        if text.len() < Self::MIN_SHARED {
            self.own.push_str(text.as_str());
        } else {
            self.shared.push((self.own.len(), text.clone()));
        }
    }

    /// Appends a text without a copy, even if it is short. If the frame has many such texts, they are copied
    /// only while the frame is written. Then only one part of the frame is in memory twice.
    pub fn defer(&mut self, text: FrameText) {
        self.shared.push((self.own.len(), text));
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.before.len() + self.own.len() + self.shared.iter().map(|(_, text)| text.len()).sum::<usize>()
    }

    /// Returns `true` if there is no text.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts a text before and a text after this text.
    pub(crate) fn between(mut self, before: impl Into<Cow<'static, str>>, after: &str) -> Self {
        let before = before.into();
        self.before = if self.before.is_empty() { before } else { before + self.before };
        self.own.push_str(after);
        self
    }

    /// Returns `true` if the text is copied only while it is written, because it is long and has many segments.
    pub(super) fn is_deferred(&self) -> bool {
        self.shared.len() >= Self::MIN_SEGMENTS && self.len() >= 2 * DeferredText::LENGTH
    }

    /// Converts the text to a form that is copied while it is written.
    pub(super) fn into_deferred(self) -> DeferredText {
        DeferredText {
            before: self.before,
            own: self.own,
            from: 0,
            shared: self.shared.into_iter().peekable(),
        }
    }

    /// Passes the segments to `take` in order. A long segment of copied text is passed on without another copy.
    pub(super) fn each(self, mut take: impl FnMut(Segment<'_>)) {
        take(Segment::Own(&self.before));
        let mut from = 0;
        if self.own.len() < Self::MAX_COPIED {
            for (at, text) in self.shared {
                take(Segment::Own(&self.own[from..at]));
                take(Segment::Shared(text));
                from = at;
            }
            return take(Segment::Own(&self.own[from..]));
        }
        let own = FrameText::from(self.own);
        let part = |from: usize, to: usize, take: &mut dyn FnMut(Segment<'_>)| {
            let part = &own.as_str()[from..to];
            match own.slice_of(part).filter(|_| part.len() >= Self::MIN_SHARED) {
                Some(part) => take(Segment::Shared(part)),
                None => take(Segment::Own(part)),
            }
        };
        for (at, text) in self.shared {
            part(from, at, &mut take);
            take(Segment::Shared(text));
            from = at;
        }
        part(from, own.len(), &mut take);
    }
}

/// The remaining part of a text that is copied while it is written.
pub(super) struct DeferredText {
    before: Cow<'static, str>,
    own: String,
    /// Number of bytes of `own` that were already written.
    from: usize,
    shared: Peekable<IntoIter<(usize, FrameText)>>,
}

impl DeferredText {
    /// Size of one part, in bytes.
    pub const LENGTH: usize = 128 << 10;

    /// Appends the next part to `out`: about [`DeferredText::LENGTH`] bytes, or less if a long segment follows,
    /// which is appended too. Short segments are copied to `memory`, which is reused after they are written.
    /// Returns `true` if text is left.
    pub fn next(&mut self, memory: &mut BytesMut, out: &mut VecDeque<Bytes>) -> bool {
        memory.reserve(Self::LENGTH);
        memory.extend_from_slice(std::mem::take(&mut self.before).as_bytes());
        while memory.len() < Self::LENGTH
            && let Some((at, text)) = self.shared.next()
        {
            memory.extend_from_slice(&self.own.as_bytes()[self.from..at]);
            self.from = at;
            if text.len() >= Segments::MIN_SHARED {
                out.extend(
                    [memory.split().freeze(), text.into_bytes()].into_iter().filter(|part| !part.is_empty()),
                );
                return true;
            }
            memory.extend_from_slice(text.as_bytes());
        }
        let is_left = self.shared.peek().is_some();
        if !is_left {
            memory.extend_from_slice(&self.own.as_bytes()[self.from..]);
        }
        out.push_back(memory.split().freeze());
        is_left
    }
}

/// One segment of a text.
pub(super) enum Segment<'a> {
    /// Text that the receiver must copy; may be empty.
    Own(&'a str),
    /// Text that the receiver can keep without a copy.
    Shared(FrameText),
}

impl From<String> for Segments {
    fn from(text: String) -> Self {
        if text.len() < Self::MIN_SHARED {
            return Self { own: text, ..Self::default() };
        }
        Self { shared: vec![(0, text.into())], ..Self::default() }
    }
}

impl From<&str> for Segments {
    fn from(text: &str) -> Self {
        Self { own: text.to_owned(), ..Self::default() }
    }
}

impl std::fmt::Display for Segments {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.before)?;
        let mut from = 0;
        for (at, text) in &self.shared {
            out.write_str(&self.own[from..*at])?;
            out.write_str(text.as_str())?;
            from = *at;
        }
        out.write_str(&self.own[from..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_keep_their_order_and_long_ones_are_not_copied() {
        let long = FrameText::from("ä".repeat(Segments::MIN_SHARED));
        let mut pieces = Segments::with_capacity(8);
        pieces.share(&long);
        pieces.push_str("a");
        pieces.share(&FrameText::from("short"));
        pieces.share(&long);
        pieces.share(&long);
        let pieces = pieces.between("<", ">");
        let expected = format!("<{long}ashort{long}{long}>");
        assert_eq!((pieces.to_string(), pieces.len()), (expected.clone(), expected.len()));
        let (mut own, mut shared) = (String::new(), 0);
        pieces.each(|piece| match piece {
            Segment::Own(text) => own.push_str(text),
            Segment::Shared(text) => {
                assert_eq!(text.as_bytes().as_ptr(), long.as_bytes().as_ptr());
                shared += 1;
            }
        });
        assert_eq!((own.as_str(), shared), ("<ashort>", 3));
        assert!(Segments::default().is_empty());
        let mut pieces = Segments::from("<");
        for _ in 0..Segments::MAX_COPIED {
            pieces.push_str("äö");
        }
        pieces.share(&long);
        pieces.push_str(">");
        let (expected, mut given, mut copied) = (pieces.to_string(), String::new(), 0);
        pieces.each(|piece| match piece {
            Segment::Own(text) => {
                copied += text.len();
                given.push_str(text);
            }
            Segment::Shared(text) => given.push_str(text.as_str()),
        });
        assert!(given == expected && copied == 1, "{copied}");
        let mut whole = Segments::with_capacity(2 * Segments::MAX_COPIED);
        whole.push_str(&"b".repeat(Segments::MAX_COPIED));
        let place = whole.own.as_ptr();
        let whole = whole.between("a", "c").between("<", ">");
        assert_eq!(whole.to_string(), format!("<a{}c>", "b".repeat(Segments::MAX_COPIED)));
        whole.each(|piece| match piece {
            Segment::Shared(text) => assert_eq!(text.as_bytes().as_ptr(), place),
            Segment::Own(text) => assert!(text == "<a" || text.is_empty()),
        });
        let expected = String::from("abc");
        assert_eq!(Segments::from(expected.clone()).to_string(), expected);
    }

    #[test]
    fn many_segments_are_copied_in_parts_into_the_same_memory() {
        let block = FrameText::from("0123456789".repeat(100_000));
        let mut pieces = Segments::default();
        pieces.push_str("[");
        for number in 0..1000 {
            let from = number * 1000;
            // One piece is too long to be copied.
            let length = if number == 500 { Segments::MIN_SHARED } else { 990 };
            pieces.defer(block.slice_of(&block.as_str()[from..from + length]).unwrap());
            pieces.push_str(",");
        }
        let pieces = pieces.between("<", "]>");
        assert!(pieces.is_deferred());
        let (expected, length) = (pieces.to_string(), pieces.len());
        let (mut parts, mut memory, mut out) = (pieces.into_deferred(), BytesMut::new(), VecDeque::new());
        let (mut written, mut places) = (String::new(), Vec::new());
        loop {
            let is_left = parts.next(&mut memory, &mut out);
            for part in out.drain(..) {
                if part.len() > Segments::MIN_SHARED {
                    places.push(part.as_ptr());
                }
                assert!(part.len() < DeferredText::LENGTH + 2 * Segments::MIN_SHARED);
                written.push_str(std::str::from_utf8(&part).unwrap());
            }
            if !is_left {
                break;
            }
        }
        assert!(written == expected && length == expected.len());
        places.dedup();
        assert!(places.len() <= 3, "{places:?}");
        assert!(!Segments::from("short").is_deferred());
    }
}
