//! Encoding of the agent's lines: other JSON spellings of the same frames, and other divisions into writes.

use std::mem::take;

use agentese::framing::FrameText;

use crate::json_spelling::{escaped, shuffle, spaced};

/// Length in bytes from which a line keeps its recorded spelling, because an encoding of longer lines would
/// take too long.
const LONG: usize = 256 << 10;
/// Maximum length of a write in bytes. Because of this limit, the suite notices a client that has stopped
/// reading.
const MAX_WRITE: usize = 64 << 10;
/// Number of bytes at the start of a batch that are written one by one. The rest is written in small pieces.
const ONE_BY_ONE: usize = 512;
/// Limit of the bytes that are buffered until the next write.
const MAX_BUFFERED: usize = 1 << 20;

/// Division of the agent's output into writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum WriteBoundaries {
    /// Each line is a write.
    #[default]
    Lines,
    /// Each byte is a write, up to `ONE_BY_ONE` bytes.
    Bytes,
    /// Writes end anywhere, even within a character. A write may contain several lines.
    Anywhere,
    /// All lines up to the next wait of the agent are one write.
    Merged,
}

/// Encoder of an agent's lines. The default is one line at a time, as in the transcript.
#[derive(Debug, Clone)]
pub(super) struct LineEncoder {
    pub(super) rng: fastrand::Rng,
    /// Writes the members of objects in a random order.
    pub(super) order: bool,
    /// Adds white space between the tokens of JSON.
    pub(super) spaces: bool,
    /// Escapes characters that need no escape.
    pub(super) escapes: bool,
    /// Replaces each replacement character (U+FFFD) by the escape of an unpaired surrogate.
    pub(super) halves: bool,
    /// Ends some lines with a carriage return before the line feed.
    pub(super) returns: bool,
    pub(super) boundaries: WriteBoundaries,
    /// Bytes that wait for the next [`take_chunks`](Self::take_chunks).
    pub(super) pending: Vec<u8>,
}

impl Default for LineEncoder {
    fn default() -> Self {
        Self {
            rng: fastrand::Rng::with_seed(0),
            order: false,
            spaces: false,
            escapes: false,
            halves: false,
            returns: false,
            boundaries: WriteBoundaries::Lines,
            pending: Vec::new(),
        }
    }
}

impl LineEncoder {
    /// Returns the line in a random spelling that the settings allow.
    pub(super) fn encode(&mut self, line: &FrameText) -> FrameText {
        if line.len() > LONG {
            return line.clone();
        }
        let mut text = line.as_str().to_owned();
        if self.order
            && let Ok(mut frame) = agentese::wire::decode(&text)
        {
            shuffle(&mut frame, &mut self.rng);
            text = frame.to_string();
        }
        if self.spaces {
            text = spaced(&text, &mut self.rng);
        }
        if self.escapes {
            text = escaped(&text, &mut self.rng);
        }
        if self.halves {
            // Two surrogates of the same kind never form a pair.
            let half = if self.rng.bool() { "\\uD83D" } else { "\\udc00" };
            text = text.replace('\u{fffd}', half).replace("\\uFFFD", half);
        }
        text.into()
    }

    /// Returns the line end of the next line.
    pub(super) fn line_end(&mut self) -> &'static str {
        if self.returns && self.rng.bool() { "\r\n" } else { "\n" }
    }

    /// Adds a line to the buffer for the next [`take_chunks`](Self::take_chunks).
    pub(super) fn buffer(&mut self, text: &str, end: &str) {
        self.pending.extend_from_slice(text.as_bytes());
        self.pending.extend_from_slice(end.as_bytes());
    }

    /// Returns `true` if the buffered bytes may be sent together with the agent's next line.
    pub(super) fn may_wait(&self) -> bool {
        let may_wait = matches!(self.boundaries, WriteBoundaries::Anywhere | WriteBoundaries::Merged);
        may_wait && self.pending.len() < MAX_BUFFERED
    }

    /// Returns the buffered bytes, divided into writes.
    pub(super) fn take_chunks(&mut self) -> Vec<Vec<u8>> {
        let pending = take(&mut self.pending);
        let mut pieces = Vec::new();
        let mut rest = pending.as_slice();
        while !rest.is_empty() {
            let said = pending.len() - rest.len();
            let most = match self.boundaries {
                WriteBoundaries::Lines | WriteBoundaries::Merged => MAX_WRITE,
                WriteBoundaries::Bytes if said < ONE_BY_ONE => 1,
                // The size of pieces grows with the batch, so that there are only a few hundred pieces.
                WriteBoundaries::Bytes | WriteBoundaries::Anywhere => {
                    let few = (pending.len() / 64).clamp(16, MAX_WRITE);
                    self.rng.usize(1..=few)
                }
            };
            let (piece, left) = rest.split_at(most.min(rest.len()));
            pieces.push(piece.to_vec());
            rest = left;
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_do_not_change_the_bytes() {
        let long = "ü".repeat(5_000);
        for pieces in [
            WriteBoundaries::Lines,
            WriteBoundaries::Bytes,
            WriteBoundaries::Anywhere,
            WriteBoundaries::Merged,
        ] {
            let mut manner = LineEncoder { boundaries: pieces, ..LineEncoder::default() };
            manner.buffer(&long, "\r\n");
            manner.buffer("{}", "\n");
            let cut = manner.take_chunks();
            assert_eq!(cut.concat(), format!("{long}\r\n{{}}\n").into_bytes(), "{pieces:?}");
            if pieces == WriteBoundaries::Bytes {
                assert!(cut[..ONE_BY_ONE].iter().all(|piece| piece.len() == 1));
            }
            assert!(manner.take_chunks().is_empty());
        }
    }

    #[test]
    fn a_half_of_a_pair_means_the_replacement_character() {
        let line = FrameText::from("{\"a\":\"\u{fffd}\u{fffd}x\u{1f642}\"}");
        for escapes in [false, true] {
            let mut manner = LineEncoder { halves: true, escapes, ..LineEncoder::default() };
            let written = manner.encode(&line);
            let text = written.as_str().to_lowercase();
            assert!(text.contains("\\ud83d\\ud83d") || text.contains("\\udc00\\udc00"), "{text}");
            let decode = |text: &str| agentese::wire::decode::<serde_json::Value>(text).unwrap();
            assert_eq!(decode(written.as_str()), decode(line.as_str()));
        }
    }
}
