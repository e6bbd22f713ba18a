//! Findings about frames that are missing, additional or in another order after the alignment, and about
//! the transcript as a whole.

use std::collections::HashSet;

use agentese::spec::{RunEffect, RunRole};
use serde_json::Value;

use super::align::Alignment;
use super::events::{self, JoinedEvent};
use super::findings::{RecordPair, checks};
use super::pairing::{self, AnswerPairing};
use super::stream_comparer::StreamComparer;
use super::tables::Form;
use super::transcript_streams::{Frame, SentLine};
use super::walk::FrameWalker;
use super::{snapshots, tools};
use crate::matching::difference::{Difference, Weight};

impl StreamComparer<'_> {
    pub(super) fn unmatched_answers(&mut self, pairing: &AnswerPairing) {
        for (g, o, difference) in &pairing.remarks {
            let records = RecordPair {
                golden: Some(self.golden.answers[*g].record),
                observed: Some(self.observed.answers[*o].record),
            };
            self.findings.difference(checks::ANSWERS, records, difference.clone());
        }
        for at in &pairing.missing {
            let answer = &self.golden.answers[*at];
            let message = format!("no answer to `{}`", answer.name);
            let records = RecordPair { golden: Some(answer.record), observed: None };
            let difference = Difference::new(Weight::Must, "", message);
            let is_blank = |sent: &SentLine| self.golden.is_blank(sent);
            let blank = pairing::command_of(self.golden, answer).filter(|sent| is_blank(sent));
            let allowance = blank.and_then(|_| {
                pairing::allowance_with_form(self.rules, |row| matches!(row, Form::BlankUnanswered))
            });
            let difference = match allowance {
                Some(allowance) => difference.allowed(allowance),
                None => difference,
            };
            self.findings.frame(checks::ANSWERS, records, vec![difference]);
        }
        for at in &pairing.extra {
            let answer = &self.observed.answers[*at];
            let message = format!("unexpected answer to `{}`, absent from the recording", answer.name);
            let records = RecordPair { golden: None, observed: Some(answer.record) };
            self.findings.frame(checks::ANSWERS, records, vec![Difference::new(Weight::Must, "", message)]);
        }
    }

    /// Compares pairs of events that differ in an identifying value.
    pub(super) fn near_events(
        &mut self,
        expected: &[JoinedEvent],
        actual: &[JoinedEvent],
        near: &[(usize, usize, &'static str)],
    ) {
        /// Events with more differences than this are unrelated; then only the mark is reported.
        const MOST: usize = 4;
        for (g, o, mark) in near {
            let (expected, actual) = (&expected[*g], &actual[*o]);
            let def = self.rules.event(&expected.name);
            let mut differences =
                FrameWalker::new(&mut self.state).record(def, &expected.value, &actual.value);
            if differences.len() > MOST {
                differences.retain(|difference| difference.path == *mark);
            }
            if differences.is_empty() {
                let message = "different from the recording, or missing";
                differences.push(Difference::new(Weight::Case, *mark, message));
            }
            let records = RecordPair { golden: Some(expected.record), observed: Some(actual.record) };
            self.findings.frame(checks::EVENTS, records, differences);
        }
    }

    pub(super) fn unmatched_events(
        &mut self,
        expected: &[JoinedEvent],
        actual: &[JoinedEvent],
        alignment: &Alignment,
    ) {
        for at in &alignment.missing {
            let message = format!("missing event {}", events::title(self.rules, &expected[*at]));
            let difference = Difference::new(Weight::Case, "", message);
            self.findings.frame(
                checks::EVENTS,
                RecordPair { golden: Some(expected[*at].record), observed: None },
                vec![difference],
            );
        }
        let closing = self.closing_events(expected);
        for at in &alignment.extra {
            let item = &actual[*at];
            let is_known = self.rules.event(&item.name).is_some();
            let of = if is_known { "absent here from the recording" } else { "in no document" };
            // A document does not contain all events of a session.
            let is_shown = expected.iter().any(|shown| shown.name == item.name);
            let is_open = !is_known && !is_shown && self.rules.spec.events_open;
            let is_free = is_open || self.golden.is_derived() && is_known && !is_shown;
            let weight = if is_free { Weight::Info } else { Weight::Case };
            let difference = Difference::new(weight, "", format!("unexpected `{}`, {of}", item.name));
            let about = self.golden.corresponding_record(self.observed, item.record);
            let allowance = closing
                .as_ref()
                .filter(|(from, names, _)| about >= *from && names.contains(&item.name.as_str()));
            let difference = match allowance {
                Some((_, _, allowance)) => difference.allowed(allowance),
                None => difference,
            };
            self.findings.frame(
                checks::EVENTS,
                RecordPair { golden: None, observed: Some(item.record) },
                vec![difference],
            );
        }
        for (g, o) in &alignment.moved {
            let records = RecordPair { golden: Some(expected[*g].record), observed: Some(actual[*o].record) };
            let message = format!("`{}` is in a different order", expected[*g].name);
            self.findings.difference(checks::ORDER, records, Difference::new(Weight::Case, "", message));
        }
    }

    /// Returns the last events that the golden transcript lacks because a command replaced the run: record
    /// of the command, names of the events, and allowance.
    fn closing_events(
        &self,
        expected: &[JoinedEvent],
    ) -> Option<(usize, HashSet<&'static str>, &'static str)> {
        let (allowance, names) = self.rules.with_form(|form| match form {
            Form::ClosingEvents(names) => Some(*names),
            _ => None,
        })?;
        let count = |wanted: &dyn Fn(RunEffect) -> bool| {
            let of = |item: &&JoinedEvent| {
                self.rules.spec.event(&item.name).is_some_and(|event| wanted(event.run))
            };
            expected.iter().filter(of).count()
        };
        let first = expected.iter().find(|item| {
            self.rules.spec.event(&item.name).is_some_and(|event| event.run == RunEffect::Begins)
        })?;
        let begun = expected.iter().filter(|item| item.name == first.name).count();
        if begun <= count(&|effect| effect == RunEffect::MayEnd) {
            return None;
        }
        let replaces =
            |name: &str| self.rules.spec.command(name).is_some_and(|row| row.run == RunRole::Replaces);
        let command = self.golden.commands().find(|sent| sent.command.as_deref().is_some_and(replaces))?;
        Some((command.record, names.iter().copied().collect(), allowance.name))
    }

    pub(super) fn unmatched_dialogs(&mut self, alignment: &Alignment) {
        let left_out = |dialog: &Frame| {
            self.rules.allowances().find(|row| match row.form {
                Form::DialogsLeftOut(method, member, value) => {
                    dialog.name == method && dialog.value.get(member).and_then(Value::as_str) == Some(value)
                }
                _ => false,
            })
        };
        for at in &alignment.missing {
            let dialog = &self.golden.dialogs[*at];
            let difference = Difference::new(Weight::Case, "", format!("missing dialog `{}`", dialog.name));
            let difference = match left_out(dialog) {
                Some(allowance) => difference.allowed(allowance.name),
                None => difference,
            };
            self.findings.frame(
                checks::DIALOGS,
                RecordPair { golden: Some(dialog.record), observed: None },
                vec![difference],
            );
        }
        for at in &alignment.extra {
            let dialog = &self.observed.dialogs[*at];
            let message = format!("unexpected dialog `{}`, absent here from the recording", dialog.name);
            let records = RecordPair { golden: None, observed: Some(dialog.record) };
            self.findings.frame(checks::DIALOGS, records, vec![Difference::new(Weight::Case, "", message)]);
        }
        for (g, o) in &alignment.moved {
            let (expected, actual) = (&self.golden.dialogs[*g], &self.observed.dialogs[*o]);
            let message = format!("`{}` is in a different order", expected.name);
            let records = RecordPair { golden: Some(expected.record), observed: Some(actual.record) };
            self.findings.difference(checks::ORDER, records, Difference::new(Weight::Case, "", message));
        }
    }

    pub(super) fn tool_updates(&mut self) {
        let (golden, observed) = (&self.golden.events, &self.observed.events);
        for (golden, observed, difference) in
            tools::compare(self.rules, golden, observed, &self.state.overlapping)
        {
            self.findings.difference(checks::TOOL_UPDATES, RecordPair { golden, observed }, difference);
        }
    }

    pub(super) fn snapshots(&mut self) {
        let Some(row) = &self.rules.tables.matching.snapshots else { return };
        let expected = snapshots::check(self.rules, &self.golden.events);
        let found = snapshots::check(self.rules, &self.observed.events);
        let none = found.events > 0 && found.carried.iter().all(|count| *count == 0);
        if none && expected.carried.iter().any(|count| *count > 0) {
            let message = format!("no `{}` has a snapshot, in {} events", row.grows, found.events);
            let difference = Difference::new(Weight::Case, "", message);
            let form = self.rules.with_form(|form| matches!(form, Form::NoSnapshots).then_some(()));
            let difference = match form {
                Some((allowance, ())) => difference.allowed(allowance.name),
                None => difference,
            };
            self.findings.difference(
                checks::SNAPSHOTS,
                RecordPair { golden: None, observed: None },
                difference,
            );
        } else {
            for (at, within) in row.within.iter().enumerate() {
                if expected.carried[at] == 0 || !expected.lacking[at].is_empty() {
                    continue;
                }
                for record in &found.lacking[at] {
                    let difference = Difference::new(Weight::Case, *within, "the snapshot is missing");
                    let records = RecordPair { golden: None, observed: Some(*record) };
                    self.findings.difference(checks::SNAPSHOTS, records, difference);
                }
            }
        }
        for (record, difference) in found.wrong {
            self.findings.difference(
                checks::SNAPSHOTS,
                RecordPair { golden: None, observed: Some(record) },
                difference,
            );
        }
    }

    pub(super) fn framing(&mut self) {
        let (expected, found) = (self.golden.noise.len(), self.observed.noise.len());
        if expected != found {
            let message = format!("{found} lines are not JSON objects instead of {expected}");
            // Other code in the agent's process may write to stdout. If the recording contains such lines
            // too, they are not failures.
            let weight = if expected == 0 { Weight::Must } else { Weight::Info };
            let records = RecordPair { golden: None, observed: self.observed.noise.first().copied() };
            self.findings.difference(checks::FRAMING, records, Difference::new(weight, "", message));
        }
        if repeated_dialog(&self.golden.dialogs).is_none()
            && let Some(dialog) = repeated_dialog(&self.observed.dialogs)
        {
            let message = format!("`{}` has the id of an earlier one", dialog.name);
            let records = RecordPair { golden: None, observed: Some(dialog.record) };
            self.findings.difference(checks::FRAMING, records, Difference::new(Weight::Must, "id", message));
        }
        if self.golden.undeclared.is_empty() {
            for (record, message) in &self.observed.undeclared {
                let records = RecordPair { golden: None, observed: Some(*record) };
                let difference = Difference::new(Weight::Info, "", message.clone());
                self.findings.difference(checks::FRAMING, records, difference);
            }
        }
        if !self.golden.misshapen.is_empty() {
            return;
        }
        for (record, message) in &self.observed.misshapen {
            let records = RecordPair { golden: None, observed: Some(*record) };
            self.findings.difference(
                checks::FRAMING,
                records,
                Difference::new(Weight::Must, "", message.clone()),
            );
        }
    }
}

/// Returns the first dialog that repeats the id of an earlier dialog.
fn repeated_dialog(dialogs: &[Frame]) -> Option<&Frame> {
    let mut known = HashSet::new();
    dialogs.iter().find(|dialog| dialog.id.as_ref().is_some_and(|id| !known.insert((&dialog.name, id))))
}
