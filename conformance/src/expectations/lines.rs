//! The lines of the agent as checks look at them.

use agentese::types::Direction;
use serde_json::Value;

use crate::pattern::Pattern;
use crate::transcript::{Record, Transcript};
use crate::verdict::Shown;

/// How much of a line is shown, in characters: a line may have megabytes.
const SHOWN: usize = 2000;
/// How many lines are shown before the one that differs.
const BEFORE: usize = 4;

/// A line of the agent.
pub(super) struct Line<'a> {
    /// Its place among the records.
    pub record: usize,
    pub text: &'a str,
    /// The frame; the text where it is not JSON.
    pub frame: Value,
}

/// The agent's lines, and what went before them.
pub(super) struct Lines<'a> {
    transcript: &'a Transcript,
    lines: Vec<Line<'a>>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(transcript: &'a Transcript) -> Self {
        let lines = transcript.records.iter().enumerate().filter_map(|(record, it)| match it {
            Record::Received(text) => {
                let text = text.as_str();
                let frame = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
                Some(Line { record, text, frame })
            }
            _ => None,
        });
        Self { lines: lines.collect(), transcript }
    }

    /// All lines of the agent.
    pub(super) fn all(&self) -> impl Iterator<Item = &Line<'a>> {
        self.lines.iter()
    }

    /// The lines that fit a pattern.
    pub(super) fn fitting(&self, of: &Pattern) -> Vec<&Line<'a>> {
        self.lines.iter().filter(|line| of.fits(&line.frame)).collect()
    }

    /// The lines of both sides that stand before a record, oldest first.
    pub(super) fn before(&self, record: usize) -> Vec<Shown> {
        let records = self.transcript.records.iter().enumerate().take(record).rev();
        let lines = records.filter_map(|(record, it)| match it {
            Record::Sent(text) => Some(shown(record, Direction::C2s, text.as_str())),
            Record::Received(text) => Some(shown(record, Direction::S2c, text.as_str())),
            Record::Control(_) => None,
        });
        let mut lines: Vec<Shown> = lines.take(BEFORE).collect();
        lines.reverse();
        lines
    }

    /// The place behind the last record.
    pub(super) fn end(&self) -> usize {
        self.transcript.records.len()
    }
}

/// A line as it is shown to people.
pub(super) fn shown(record: usize, dir: Direction, text: &str) -> Shown {
    let line = match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()),
    };
    Shown { record, dir, line }
}
