//! Decoding of UTF-8 that arrives in chunks.

/// Decodes bytes to text as they arrive. A character can be split between chunks. Each invalid sequence
/// becomes one U+FFFD. Never fails.
#[derive(Debug, Default)]
pub struct Utf8Decoder {
    /// Bytes of an incomplete character: at most three.
    pending: Vec<u8>,
}

impl Utf8Decoder {
    /// Decodes `bytes` and appends their text.
    pub fn push(&mut self, bytes: &[u8], text: &mut String) {
        if self.pending.is_empty() {
            self.pending = decode(bytes, text);
        } else {
            let mut joined = std::mem::take(&mut self.pending);
            joined.extend_from_slice(bytes);
            self.pending = decode(&joined, text);
        }
    }

    /// Ends the stream. An incomplete character becomes U+FFFD.
    pub fn finish(&mut self, text: &mut String) {
        if !std::mem::take(&mut self.pending).is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

/// Appends the text of `bytes`. Returns the bytes of an incomplete character at their end.
fn decode(bytes: &[u8], text: &mut String) -> Vec<u8> {
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        text.push_str(chunk.valid());
        let invalid = chunk.invalid();
        // `error_len` is `None` exactly if more bytes could still make the sequence valid.
        let unfinished = std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
        if unfinished && chunks.peek().is_none() {
            return invalid.to_vec();
        }
        if !invalid.is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn chunks_do_not_matter(
            parts in prop::collection::vec(prop_oneof![
                "[a\u{e9}\u{20ac}\u{1F600}]{0,4}".prop_map(String::into_bytes),
                prop::collection::vec(any::<u8>(), 0..4),
            ], 0..12),
            size in 1usize..7,
        ) {
            let bytes = parts.concat();
            let (mut decoder, mut text) = (Utf8Decoder::default(), String::new());
            for chunk in bytes.chunks(size) {
                decoder.push(chunk, &mut text);
                prop_assert!(decoder.pending.len() <= 3);
            }
            decoder.finish(&mut text);
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
        }
    }
}
