//! Excerpts of a transcript's lines, for reports.

use agentese::types::Direction;

use crate::transcript::{Record, Transcript};
use crate::verdict::LineExcerpt;

/// Maximum number of displayed characters of a line.
const MAX_LINE: usize = 64 << 10;
/// Number of lines that are displayed before the differing one.
const BEFORE: usize = 3;

/// Creates an excerpt of a line that may be too long for a report.
pub(super) fn excerpt(record: usize, dir: Direction, text: &str) -> LineExcerpt {
    let line = match text.char_indices().nth(MAX_LINE) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()),
    };
    LineExcerpt { record, dir, line }
}

/// Returns the line of a record, or `None` if the record is not a line.
pub(crate) fn line(transcript: &Transcript, record: usize) -> Option<LineExcerpt> {
    match transcript.records.get(record)? {
        Record::Sent(line) => Some(excerpt(record, Direction::C2s, line.as_str())),
        Record::Received(line) => Some(excerpt(record, Direction::S2c, line.as_str())),
        Record::Control(_) => None,
    }
}

/// Returns the last lines of both sides before a record, oldest first.
pub(crate) fn before(transcript: &Transcript, record: usize) -> Vec<LineExcerpt> {
    let mut before: Vec<LineExcerpt> =
        (0..record).rev().filter_map(|record| line(transcript, record)).take(BEFORE).collect();
    before.reverse();
    before
}
