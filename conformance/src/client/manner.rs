//! How the agent's lines become bytes: the same frames, written in other ways and cut up elsewhere.

use std::mem::take;

use agentese::framing::FrameText;

use crate::writing::{escaped, shuffle, spaced};

/// Longer lines are written as they are: writing them anew would take most of the time.
const LONG: usize = 256 << 10;
/// The most that is written at once, so that a client that has stopped reading is noticed.
const MOST: usize = 64 << 10;
/// So many bytes of what is handed over at once come one by one; the rest comes in pieces of a few.
const ONE_BY_ONE: usize = 512;
/// So much is kept back at most.
const KEPT_BACK: usize = 1 << 20;

/// Where the bytes are cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Pieces {
    /// Behind each line.
    #[default]
    Lines,
    /// Behind each byte.
    Bytes,
    /// Anywhere, also within characters; several lines may come at once.
    Anywhere,
    /// Nowhere: everything that the agent says before it waits comes at once.
    Merged,
}

/// How an agent writes. The default is one line at a time, as it stands in the transcript.
#[derive(Debug, Clone)]
pub(super) struct Manner {
    pub(super) rng: fastrand::Rng,
    /// The members of objects come in any order.
    pub(super) order: bool,
    /// White space stands between members.
    pub(super) spaces: bool,
    /// Characters are written as escapes that need none.
    pub(super) escapes: bool,
    /// Replacement characters are written as the escape of one half of a pair.
    pub(super) halves: bool,
    /// Some lines end with a carriage return and a line feed.
    pub(super) returns: bool,
    pub(super) pieces: Pieces,
    /// What is kept for the next [`pieces`](Self::pieces).
    pub(super) pending: Vec<u8>,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            rng: fastrand::Rng::with_seed(0),
            order: false,
            spaces: false,
            escapes: false,
            halves: false,
            returns: false,
            pieces: Pieces::Lines,
            pending: Vec::new(),
        }
    }
}

impl Manner {
    /// The line as this agent writes it.
    pub(super) fn written(&mut self, line: &FrameText) -> FrameText {
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
            // Two of one kind never make a pair.
            let half = if self.rng.bool() { "\\uD83D" } else { "\\udc00" };
            text = text.replace('\u{fffd}', half).replace("\\uFFFD", half);
        }
        text.into()
    }

    /// What ends the next line.
    pub(super) fn end(&mut self) -> &'static str {
        if self.returns && self.rng.bool() { "\r\n" } else { "\n" }
    }

    /// Keeps bytes for the next [`pieces`](Self::pieces).
    pub(super) fn keep(&mut self, text: &str, end: &str) {
        self.pending.extend_from_slice(text.as_bytes());
        self.pending.extend_from_slice(end.as_bytes());
    }

    /// Whether what is kept may wait for what the agent says next.
    pub(super) fn waits(&self) -> bool {
        let may_wait = matches!(self.pieces, Pieces::Anywhere | Pieces::Merged);
        may_wait && self.pending.len() < KEPT_BACK
    }

    /// What is kept, cut up.
    pub(super) fn pieces(&mut self) -> Vec<Vec<u8>> {
        let pending = take(&mut self.pending);
        let mut pieces = Vec::new();
        let mut rest = pending.as_slice();
        while !rest.is_empty() {
            let said = pending.len() - rest.len();
            let most = match self.pieces {
                Pieces::Lines | Pieces::Merged => MOST,
                Pieces::Bytes if said < ONE_BY_ONE => 1,
                // Pieces grow with what there is, so that there are a few hundred of them.
                Pieces::Bytes | Pieces::Anywhere => {
                    let few = (pending.len() / 64).clamp(16, MOST);
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
    fn the_bytes_are_the_same_wherever_they_are_cut() {
        let long = "ü".repeat(5_000);
        for pieces in [Pieces::Lines, Pieces::Bytes, Pieces::Anywhere, Pieces::Merged] {
            let mut manner = Manner { pieces, ..Manner::default() };
            manner.keep(&long, "\r\n");
            manner.keep("{}", "\n");
            let cut = manner.pieces();
            assert_eq!(cut.concat(), format!("{long}\r\n{{}}\n").into_bytes(), "{pieces:?}");
            if pieces == Pieces::Bytes {
                assert!(cut[..ONE_BY_ONE].iter().all(|piece| piece.len() == 1));
            }
            assert!(manner.pieces().is_empty());
        }
    }

    #[test]
    fn a_half_of_a_pair_means_the_replacement_character() {
        let line = FrameText::from("{\"a\":\"\u{fffd}\u{fffd}x\u{1f642}\"}");
        for escapes in [false, true] {
            let mut manner = Manner { halves: true, escapes, ..Manner::default() };
            let written = manner.written(&line);
            let text = written.as_str().to_lowercase();
            assert!(text.contains("\\ud83d\\ud83d") || text.contains("\\udc00\\udc00"), "{text}");
            let decode = |text: &str| agentese::wire::decode::<serde_json::Value>(text).unwrap();
            assert_eq!(decode(written.as_str()), decode(line.as_str()));
        }
    }
}
