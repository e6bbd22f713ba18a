//! The agent's lines, prepared for the checks.

use serde_json::Value;

use crate::matching::excerpts::before;
use crate::matching::pattern::Pattern;
use crate::transcript::{Record, Transcript};
use crate::verdict::LineExcerpt;

/// A line of the agent.
pub(super) struct AgentLine<'a> {
    /// Index of the line's record.
    pub record: usize,
    pub text: &'a str,
    /// The frame, or the text of a line that is not JSON.
    pub frame: Value,
}

/// The agent's lines, with the transcript that they come from.
pub(super) struct AgentLines<'a> {
    transcript: &'a Transcript,
    lines: Vec<AgentLine<'a>>,
}

impl<'a> AgentLines<'a> {
    pub(super) fn of(transcript: &'a Transcript) -> Self {
        let lines = transcript.records.iter().enumerate().filter_map(|(record, it)| match it {
            Record::Received(text) => {
                let text = text.as_str();
                let frame = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
                Some(AgentLine { record, text, frame })
            }
            _ => None,
        });
        Self { lines: lines.collect(), transcript }
    }

    /// All lines of the agent.
    pub(super) fn all(&self) -> impl Iterator<Item = &AgentLine<'a>> {
        self.lines.iter()
    }

    /// Returns the lines that fit a pattern.
    pub(super) fn fitting(&self, of: &Pattern) -> Vec<&AgentLine<'a>> {
        self.lines.iter().filter(|line| of.fits(&line.frame)).collect()
    }

    /// Returns the last lines of both sides before a record, oldest first.
    pub(super) fn before(&self, record: usize) -> Vec<LineExcerpt> {
        before(self.transcript, record)
    }

    /// Returns the number of records in the transcript.
    pub(super) fn end(&self) -> usize {
        self.transcript.records.len()
    }
}
