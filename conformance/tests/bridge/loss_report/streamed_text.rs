//! Streamed texts that the agent ends earlier than in the recording.

use agentese::any::RowKind;
use agentese::types::Direction;
use agentese_conformance::transcript::{Record, Transcript};
use agentese_conformance::verdict::{LineExcerpt, Mismatch};
use serde_json::Value;

use super::after_command::EVENTS;
use super::paths::{self, without_indexes};
use super::{Frame, LossReport};
use crate::front_output::matching;

impl LossReport {
    /// Returns `true` if the observed text is only the beginning of the recorded one. This is permitted
    /// only if the client sends a command during the text after which the events of the run may differ.
    pub(super) fn breaks_off_earlier(&self, frame: &Frame, mismatch: &Mismatch, golden: &Transcript) -> bool {
        let (Some(was), Some(came), Some(observed)) = (&mismatch.expected, &mismatch.found, &self.observed)
        else {
            return false;
        };
        let (path, places) = without_indexes(&mismatch.path);
        let mut deltas = matching(self.front).deltas.iter();
        if !deltas.any(|delta| delta.event == frame.row && delta.text == path) {
            return false;
        }
        let (whole, last) = self.joined(was.record, &frame.row, (&path, &places), golden);
        let (begun, _) = self.joined(came.record, &frame.row, (&path, &places), observed);
        self.allowed_from(last, golden).contains(EVENTS) && !begun.is_empty() && whole.starts_with(&begun)
    }

    /// Joins the pieces of a text, starting at the event with the given record. Returns the text, and the
    /// record of the last piece.
    fn joined(
        &self,
        from: usize,
        row: &str,
        (path, places): (&str, &[usize]),
        session: &Transcript,
    ) -> (String, usize) {
        let (mut text, mut last) = (String::new(), from);
        for (record, one) in session.records.iter().enumerate().skip(from) {
            let Record::Received(line) = one else { continue };
            let shown = LineExcerpt { record, dir: Direction::S2c, line: line.as_str().to_owned() };
            let Some(frame) = self.frame(&shown, session).filter(|frame| frame.kind == RowKind::Event) else {
                continue;
            };
            let piece = paths::at(&frame.body, path, places).and_then(Value::as_str);
            match piece.filter(|_| frame.row == row) {
                Some(piece) => text.push_str(piece),
                None => break,
            }
            last = record;
        }
        (text, last)
    }
}
