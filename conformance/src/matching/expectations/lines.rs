//! The lines of the agent as checks look at them.

use serde_json::Value;

use crate::matching::pattern::Pattern;
use crate::matching::shown::before;
use crate::transcript::{Record, Transcript};
use crate::verdict::Shown;

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
        before(self.transcript, record)
    }

    /// The place behind the last record.
    pub(super) fn end(&self) -> usize {
        self.transcript.records.len()
    }
}
