//! Differences that follow from a command that the loss report calls lost.

use agentese::any::Fidelity;
use agentese_conformance::transcript::{Record, Transcript};
use agentese_conformance::verdict::{LineExcerpt, Mismatch};

use super::LossReport;
use super::paths::{in_answer, is_about, is_within};

impl LossReport {
    /// Returns the lost commands that succeeded in the recording, each with the position of its answer and
    /// the places that the command changed.
    pub(super) fn lost_commands(&self, golden: &Transcript) -> Vec<(usize, &[String])> {
        let lost = |(record, one): (usize, &Record)| {
            let Record::Received(line) = one else { return None };
            let dir = agentese::types::Direction::S2c;
            let frame = self.frame(&LineExcerpt { record, dir, line: line.as_str().to_owned() }, golden)?;
            let row = self.row(frame.kind, &frame.row).filter(|row| row.fidelity == Fidelity::Lost)?;
            let succeeded = frame.answers.is_some_and(|(_, success)| success);
            (succeeded && !row.changes.is_empty()).then_some((record, row.changes.as_slice()))
        };
        golden.records.iter().enumerate().filter_map(lost).collect()
    }

    /// Returns `true` if an earlier lost command changed the member in the recording.
    pub(super) fn follows_lost_command(
        &self,
        lost: &[(usize, &[String])],
        mismatch: &Mismatch,
        golden: &Transcript,
    ) -> bool {
        let Some(shown) = mismatch.expected.as_ref().filter(|_| !mismatch.path.is_empty()) else {
            return false;
        };
        let Some(frame) = self.frame(shown, golden) else { return false };
        let Some(row) = self.row(frame.kind, &frame.row) else { return false };
        let path = if frame.answers.is_some() { in_answer(&mismatch.path) } else { mismatch.path.clone() };
        let changes =
            lost.iter().filter(|(place, _)| shown.record > *place).flat_map(|(_, changes)| *changes);
        let changes: Vec<&String> = changes.collect();
        let mut members = row.members.iter().chain(&row.missing_members);
        members.any(|member| {
            changes.iter().any(|change| is_within(change, &member.neutral))
                && is_about(member, &path, &frame.body)
        })
    }
}
