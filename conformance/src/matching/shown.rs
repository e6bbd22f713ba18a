//! Lines of a transcript in the form for reports.

use agentese::types::Direction;

use crate::transcript::{Record, Transcript};
use crate::verdict::Shown;

/// Largest number of characters to show of a line, which may have megabytes.
const LINE: usize = 64 << 10;
/// Number of lines to show before the one that differs.
const BEFORE: usize = 3;

/// Shortens a line for reports.
pub(super) fn shown(record: usize, dir: Direction, text: &str) -> Shown {
    let line = match text.char_indices().nth(LINE) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()),
    };
    Shown { record, dir, line }
}

/// Returns the line of a record, or `None` if the record is not a line.
pub(crate) fn line(transcript: &Transcript, record: usize) -> Option<Shown> {
    match transcript.records.get(record)? {
        Record::Sent(line) => Some(shown(record, Direction::C2s, line.as_str())),
        Record::Received(line) => Some(shown(record, Direction::S2c, line.as_str())),
        Record::Control(_) => None,
    }
}

/// Returns the last lines of both sides before a record, oldest first.
pub(crate) fn before(transcript: &Transcript, record: usize) -> Vec<Shown> {
    let mut before: Vec<Shown> =
        (0..record).rev().filter_map(|record| line(transcript, record)).take(BEFORE).collect();
    before.reverse();
    before
}
