//! Lines of a transcript as people see them.

use agentese::types::Direction;

use crate::transcript::{Record, Transcript};
use crate::verdict::Shown;

/// How much of a line is shown, in characters: a line may have megabytes.
const LINE: usize = 64 << 10;
/// How many lines are shown before the one that differs.
const BEFORE: usize = 3;

/// A line.
pub(super) fn shown(record: usize, dir: Direction, text: &str) -> Shown {
    let line = match text.char_indices().nth(LINE) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()),
    };
    Shown { record, dir, line }
}

/// The line of a record; none where it is none.
pub(crate) fn line(transcript: &Transcript, record: usize) -> Option<Shown> {
    match transcript.records.get(record)? {
        Record::Sent(line) => Some(shown(record, Direction::C2s, line.as_str())),
        Record::Received(line) => Some(shown(record, Direction::S2c, line.as_str())),
        Record::Control(_) => None,
    }
}

/// The lines of both sides that stand before a record, oldest first.
pub(crate) fn before(transcript: &Transcript, record: usize) -> Vec<Shown> {
    let mut before: Vec<Shown> =
        (0..record).rev().filter_map(|record| line(transcript, record)).take(BEFORE).collect();
    before.reverse();
    before
}
