//! A text that grows at its end, with the whole text in each frame.

use agentese::framing::FrameText;
use agentese::serve::Pieces;

/// The length in bytes below which frames copy the end of the text.
const END: usize = 2 << 10;

/// A text in parts that frames share. Each part is longer than the next one, so there are few parts even
/// after many additions.
#[derive(Debug, Default)]
pub(super) struct Growing {
    parts: Vec<FrameText>,
    /// The length of all parts.
    settled: usize,
    end: String,
}

impl Growing {
    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.settled + self.end.len()
    }

    /// Returns true if there is no text.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of bytes that a frame copies.
    pub fn end(&self) -> usize {
        self.end.len()
    }

    /// Appends text.
    pub fn push_str(&mut self, text: &str) {
        self.end.push_str(text);
        if self.end.len() >= END {
            self.settle();
        }
    }

    /// Removes the text after that many bytes.
    pub fn truncate(&mut self, length: usize) {
        while length < self.settled {
            self.end.clear();
            let Some(last) = self.parts.pop() else { return };
            self.settled -= last.len();
            if let Some(kept) = last.as_str().get(..length.saturating_sub(self.settled)) {
                self.end.push_str(kept);
            }
        }
        self.end.truncate(length - self.settled);
    }

    /// Appends the whole text to a frame.
    pub fn put(&self, frame: &mut Pieces) {
        for part in &self.parts {
            frame.share(part);
        }
        frame.push_str(&self.end);
    }

    /// Turns the end into a part, merged with the preceding parts that are not longer than the text after
    /// them.
    fn settle(&mut self) {
        let end = std::mem::take(&mut self.end);
        self.settled += end.len();
        let (mut from, mut length) = (self.parts.len(), end.len());
        while let Some(before) = from.checked_sub(1).filter(|before| self.parts[*before].len() <= length) {
            length += self.parts[before].len();
            from = before;
        }
        if from == self.parts.len() {
            self.parts.push(end.into());
            return;
        }
        let mut joined = String::with_capacity(length);
        for part in self.parts.drain(from..) {
            joined.push_str(part.as_str());
        }
        joined.push_str(&end);
        self.parts.push(joined.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(growing: &Growing) -> String {
        let mut frame = Pieces::default();
        growing.put(&mut frame);
        frame.to_string()
    }

    #[test]
    fn a_long_text_has_few_parts() {
        let mut growing = Growing::default();
        for _ in 0..100_000 {
            growing.push_str("some words ");
            assert!(growing.parts.len() < 16, "{}", growing.parts.len());
        }
        assert_eq!((growing.len(), text(&growing).len()), (1_100_000, 1_100_000));
    }

    proptest! {
        #[test]
        fn it_is_the_text_that_a_string_would_be(
            steps in prop::collection::vec((any::<String>(), 1..200usize, any::<Option<prop::sample::Index>>()), 0..30)
        ) {
            let (mut growing, mut expected) = (Growing::default(), String::new());
            for (piece, times, cut) in steps {
                for _ in 0..times {
                    growing.push_str(&piece);
                    expected.push_str(&piece);
                }
                if let Some(cut) = cut {
                    let mut at = cut.index(expected.len() + 1);
                    while !expected.is_char_boundary(at) {
                        at -= 1;
                    }
                    growing.truncate(at);
                    expected.truncate(at);
                }
                prop_assert_eq!(growing.len(), expected.len());
                prop_assert_eq!(&text(&growing), &expected);
            }
        }
    }
}
