//! A text that grows at its end. Each frame contains the whole text but shares most of it with earlier frames.

use agentese::framing::FrameText;
use agentese::serve::Segments;

/// The maximum length of the tail that each frame copies, in bytes.
const MAX_TAIL_BYTES: usize = 2 << 10;

/// A text in parts that frames share. Each part is longer than the next one, so a long text still has few parts.
#[derive(Debug, Default)]
pub(super) struct AppendText {
    parts: Vec<FrameText>,
    /// The length of all parts.
    parts_len: usize,
    tail: String,
}

impl AppendText {
    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.parts_len + self.tail.len()
    }

    /// Returns true if there is no text.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the length in bytes of the text after the last part. A frame copies this text.
    pub fn tail_len(&self) -> usize {
        self.tail.len()
    }

    /// Appends a text to the end.
    pub fn push_str(&mut self, text: &str) {
        self.tail.push_str(text);
        if self.tail.len() >= MAX_TAIL_BYTES {
            self.merge_tail();
        }
    }

    /// Removes the text after that many bytes.
    pub fn truncate(&mut self, length: usize) {
        while length < self.parts_len {
            self.tail.clear();
            let Some(last) = self.parts.pop() else { return };
            self.parts_len -= last.len();
            if let Some(kept) = last.as_str().get(..length.saturating_sub(self.parts_len)) {
                self.tail.push_str(kept);
            }
        }
        self.tail.truncate(length - self.parts_len);
    }

    /// Appends the whole text to a frame.
    pub fn write_to(&self, frame: &mut Segments) {
        for part in &self.parts {
            frame.share(part);
        }
        frame.push_str(&self.tail);
    }

    /// Makes the tail a shared part. Preceding parts that are not longer than it are merged into it.
    fn merge_tail(&mut self) {
        let end = std::mem::take(&mut self.tail);
        self.parts_len += end.len();
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

    fn text(text_parts: &AppendText) -> String {
        let mut frame = Segments::default();
        text_parts.write_to(&mut frame);
        frame.to_string()
    }

    #[test]
    fn a_long_text_has_few_parts() {
        let mut appended = AppendText::default();
        for _ in 0..100_000 {
            appended.push_str("some words ");
            assert!(appended.parts.len() < 16, "{}", appended.parts.len());
        }
        assert_eq!((appended.len(), text(&appended).len()), (1_100_000, 1_100_000));
    }

    proptest! {
        #[test]
        fn append_text_equals_a_string(
            steps in prop::collection::vec((any::<String>(), 1..200usize, any::<Option<prop::sample::Index>>()), 0..30)
        ) {
            let (mut appended, mut expected) = (AppendText::default(), String::new());
            for (piece, times, cut) in steps {
                for _ in 0..times {
                    appended.push_str(&piece);
                    expected.push_str(&piece);
                }
                if let Some(cut) = cut {
                    let mut at = cut.index(expected.len() + 1);
                    while !expected.is_char_boundary(at) {
                        at -= 1;
                    }
                    appended.truncate(at);
                    expected.truncate(at);
                }
                prop_assert_eq!(appended.len(), expected.len());
                prop_assert_eq!(&text(&appended), &expected);
            }
        }
    }
}
