//! Comparison of two transcripts, one stream after the other.

use serde_json::Value;

use super::align::{Alignment, align};
use super::allowance_finder::AllowanceFinder;
use super::answers::AnswerComparer;
use super::bindings::Bindings;
use super::choices::CaseChoices;
use super::events::{self, JoinedEvent};
use super::findings::{Findings, RecordPair, checks};
use super::order::RunEvents;
use super::pairing::{self, AnswerPairing};
use super::rules::Rules;
use super::state::ComparisonState;
use super::tables::{AllowanceScope, Form};
use super::text::TextComparer;
use super::transcript_streams::TranscriptStreams;
use super::walk::FrameWalker;
use super::{Comparison, ComparisonResult, dialog_marks, exit, order, snapshots, tools};
use crate::matching::difference::{Difference, Weight};
use crate::matching::path;
use crate::transcript::Transcript;

/// A pair of frames to compare. Pairs are compared in golden order, because a value is bound at its first
/// occurrence.
enum FramePair {
    Answer(usize, usize),
    Event(usize, usize),
    Dialog(usize, usize),
}

/// Compares the observed transcript with one golden transcript.
pub(super) fn compare(rules: &Rules, comparison: &Comparison<'_>, golden: &Transcript) -> ComparisonResult {
    let golden = TranscriptStreams::new(rules.spec, golden);
    let observed = TranscriptStreams::new(rules.spec, comparison.observed);
    let case = serde_json::to_string(comparison.case).unwrap_or_default();
    let overlapping = tools::overlapping(rules, &golden.events);
    let state = ComparisonState {
        rules,
        texts: TextComparer::new(&rules.tokens, Bindings::new(case)),
        allowances: AllowanceFinder::default(),
        overlapping,
        same_agent: comparison.same_agent,
        is_derived: golden.is_derived(),
        choices: CaseChoices::new(comparison.choices, comparison.case),
    };
    let findings = Findings::new(rules, comparison.case, &golden, &observed);
    let mut streams = StreamComparer { rules, golden: &golden, observed: &observed, state, findings };
    streams.compare();
    let findings = streams.findings;
    ComparisonResult { frames: findings.frames, agreed: findings.agreed, findings: findings.finish() }
}

/// Two transcripts, and the findings so far.
pub(super) struct StreamComparer<'r> {
    pub(super) rules: &'r Rules,
    pub(super) golden: &'r TranscriptStreams<'r>,
    pub(super) observed: &'r TranscriptStreams<'r>,
    pub(super) state: ComparisonState<'r>,
    pub(super) findings: Findings<'r>,
}

impl<'r> StreamComparer<'r> {
    fn compare(&mut self) {
        let expected = events::prepare(self.rules, &self.golden.events, &self.state.overlapping);
        let actual = events::prepare(self.rules, &self.observed.events, &self.state.overlapping);
        let (expected, actual) = self.allowed_events(expected, actual);
        let pairing = pairing::pair(self.rules, self.golden, self.observed);
        self.findings.refused = pairing::refused_run(self.rules, self.golden, self.observed, &pairing);
        let mut alignment = self.align_events(&expected, &actual, self.findings.refused.is_some());
        let near = events::pair_near_events(self.rules, &expected, &actual, &mut alignment);
        let dialogs = dialog_marks::align(self.rules, &self.golden.dialogs, &self.observed.dialogs);
        self.compare_pairs(&expected, &actual, &pairing, &alignment, &dialogs);
        self.unmatched_answers(&pairing);
        self.near_events(&expected, &actual, &near);
        self.unmatched_events(&expected, &actual, &alignment);
        self.unmatched_dialogs(&dialogs);
        self.tool_updates();
        self.snapshots();
        let pairs: Vec<_> = alignment.pairs.iter().chain(&alignment.moved).copied().collect();
        let turns = RunEvents::new(self.rules, &expected, &actual, &pairs);
        order::compare(self.rules, self.golden, self.observed, &pairing, &turns, &mut self.findings);
        self.framing();
        for difference in exit::compare(self.rules, self.golden, self.observed) {
            self.findings.difference(checks::EXIT, RecordPair { golden: None, observed: None }, difference);
        }
    }

    /// Removes events that occur on one side only, if an allowance permits agents to omit or add them.
    fn allowed_events(
        &mut self,
        mut recorded: Vec<JoinedEvent>,
        mut actual: Vec<JoinedEvent>,
    ) -> (Vec<JoinedEvent>, Vec<JoinedEvent>) {
        for row in self.rules.allowances().filter(|row| row.scope == AllowanceScope::Everywhere) {
            match row.form {
                Form::Events(names) => {
                    for name in names {
                        let count =
                            |items: &[JoinedEvent]| items.iter().filter(|item| item.name == *name).count();
                        let (expected, found) = (count(&recorded), count(&actual));
                        if expected == found || found > expected.max(1) {
                            continue;
                        }
                        let message = format!("`{name}` came {found} times instead of {expected}");
                        self.remark(
                            &recorded,
                            &actual,
                            name,
                            Difference::new(Weight::Case, "", message).allowed(row.name),
                        );
                        recorded.retain(|item| item.name != *name);
                        actual.retain(|item| item.name != *name);
                    }
                }
                Form::EventKinds(event, path, kinds) => {
                    let is = |item: &JoinedEvent| {
                        let kind = path::get(&item.value, path).and_then(Value::as_str);
                        item.name == event && kind.is_some_and(|kind| kinds.contains(&kind))
                    };
                    if !recorded.iter().any(is) && actual.iter().any(is) {
                        let message = format!("`{event}` marks {}", kinds.join(", "));
                        self.remark(
                            &[],
                            &actual,
                            event,
                            Difference::new(Weight::Case, path, message).allowed(row.name),
                        );
                        actual.retain(|item| !is(item));
                    }
                }
                _ => {}
            }
        }
        (recorded, actual)
    }

    fn remark(
        &mut self,
        expected: &[JoinedEvent],
        actual: &[JoinedEvent],
        name: &str,
        difference: Difference,
    ) {
        let first =
            |items: &[JoinedEvent]| items.iter().find(|item| item.name == name).map(|item| item.record);
        let records = RecordPair { golden: first(expected), observed: first(actual) };
        self.findings.difference(checks::EVENTS, records, difference);
    }

    /// Aligns events within each concurrent stream.
    fn align_events(&self, recorded: &[JoinedEvent], actual: &[JoinedEvent], finely: bool) -> Alignment {
        let expected = events::concurrent_streams(self.rules, recorded);
        let mut found = events::concurrent_streams(self.rules, actual);
        // Streams with the same marks are paired in their order.
        let pairs = expected.into_iter().map(|stream| {
            let same = found.iter().position(|other| other.marked == stream.marked);
            (stream.places, same.map_or_else(Vec::new, |at| found.remove(at).places))
        });
        let mut pairs: Vec<(Vec<usize>, Vec<usize>)> = pairs.collect();
        pairs.extend(found.into_iter().map(|stream| (Vec::new(), stream.places)));
        let mut alignment = Alignment::default();
        for (expected, found) in pairs {
            let marks = |items: &[JoinedEvent], stream: &[usize]| -> Vec<String> {
                stream.iter().map(|at| events::mark(self.rules, &items[*at], finely)).collect()
            };
            let stream = align(&marks(recorded, &expected), &marks(actual, &found));
            let both = |(recorded, actual): (usize, usize)| (expected[recorded], found[actual]);
            alignment.pairs.extend(stream.pairs.into_iter().map(both));
            alignment.moved.extend(stream.moved.into_iter().map(both));
            alignment.missing.extend(stream.missing.into_iter().map(|at| expected[at]));
            alignment.extra.extend(stream.extra.into_iter().map(|at| found[at]));
        }
        alignment
    }

    /// Compares all pairs, in the order of the golden transcript.
    fn compare_pairs(
        &mut self,
        expected: &[JoinedEvent],
        actual: &[JoinedEvent],
        pairing: &AnswerPairing,
        alignment: &Alignment,
        dialogs: &Alignment,
    ) {
        let mut steps: Vec<(usize, FramePair)> = Vec::new();
        let answers = pairing.pairs.iter();
        steps.extend(answers.map(|(g, o)| (self.golden.answers[*g].record, FramePair::Answer(*g, *o))));
        let events = alignment.pairs.iter().chain(&alignment.moved);
        steps.extend(events.map(|(g, o)| (expected[*g].record, FramePair::Event(*g, *o))));
        let asked = dialogs.pairs.iter().chain(&dialogs.moved);
        steps.extend(asked.map(|(g, o)| (self.golden.dialogs[*g].record, FramePair::Dialog(*g, *o))));
        steps.sort_by_key(|(record, _)| *record);
        for (_, step) in steps {
            let (check, golden, observed, differences) = match step {
                FramePair::Answer(g, o) => {
                    let (expected, actual) = (&self.golden.answers[g], &self.observed.answers[o]);
                    let mut answers = AnswerComparer { state: &mut self.state, golden: self.golden };
                    let differences = answers.compare(expected, actual);
                    (checks::ANSWERS, expected.record, actual.record, differences)
                }
                FramePair::Event(g, o) => {
                    let differences = self.event(&expected[g], &actual[o], actual);
                    (checks::EVENTS, expected[g].record, actual[o].record, differences)
                }
                FramePair::Dialog(g, o) => {
                    let (expected, actual) = (&self.golden.dialogs[g], &self.observed.dialogs[o]);
                    let differences = self.dialog(expected, actual);
                    (checks::DIALOGS, expected.record, actual.record, differences)
                }
            };
            self.findings.frame(
                check,
                RecordPair { golden: Some(golden), observed: Some(observed) },
                differences,
            );
        }
    }

    fn event(
        &mut self,
        expected: &JoinedEvent,
        actual: &JoinedEvent,
        all: &[JoinedEvent],
    ) -> Vec<Difference> {
        let def = self.rules.event(&expected.name);
        if let Some(found) = self.beginning(expected, actual, all) {
            return found;
        }
        FrameWalker::new(&mut self.state).record(def, &expected.value, &actual.value)
    }

    /// Compares the start event of a growing message. Its message may equal the recorded one, or be any
    /// earlier version of the complete message.
    fn beginning(
        &mut self,
        expected: &JoinedEvent,
        actual: &JoinedEvent,
        all: &[JoinedEvent],
    ) -> Option<Vec<Difference>> {
        let row = self.rules.tables.matching.snapshots.as_ref().filter(|row| row.begins == expected.name)?;
        let (golden, observed) = (expected.value.get(row.message)?, actual.value.get(row.message)?);
        if !snapshots::grows(row, golden) || !snapshots::grows(row, observed) {
            return None;
        }
        let free: Vec<String> = golden
            .as_object()?
            .keys()
            .filter(|name| !row.steady.contains(&name.as_str()))
            .map(|name| format!("{}.{name}", row.message))
            .collect();
        let def = self.rules.event(&expected.name);
        let reduced = |value: &Value| {
            let free: Vec<&str> = free.iter().map(String::as_str).collect();
            path::without(value, &free)
        };
        let same = expected.value == actual.value;
        let mut found =
            FrameWalker::new(&mut self.state).record(def, &reduced(&expected.value), &reduced(&actual.value));
        if same {
            return Some(found);
        }
        let ty = super::tables::Ty::Named(row.record);
        if let Some((inside, message)) = super::declared::type_mismatch(&ty, observed) {
            found.push(Difference::new(Weight::Must, format!("{}{inside}", row.message), message));
        }
        let complete = all.iter().find(|item| {
            item.record > actual.record
                && item.name == row.ends
                && item.value.get(row.message).is_some_and(|message| snapshots::grows(row, message))
        });
        let begun_anew = all.iter().find(|item| item.record > actual.record && item.name == row.begins);
        let complete = complete.filter(|item| begun_anew.is_none_or(|next| item.record < next.record));
        let mut wrong = Vec::new();
        match complete.and_then(|item| item.value.get(row.message)) {
            Some(later) => snapshots::earlier(row, observed, later, &mut String::new(), &mut wrong),
            None => {
                // The message is never completed, so it is compared with the recorded one, except for
                // values that agents generate.
                let mut made_up = self.rules.bound(row.record);
                made_up.extend(self.rules.choice_members(row.record));
                let (early, late) = (path::without(observed, &made_up), path::without(golden, &made_up));
                snapshots::earlier(row, &early, &late, &mut String::new(), &mut wrong);
            }
        }
        found.extend(wrong.into_iter().map(|(inside, message)| {
            let message = format!("it is not an earlier version of the complete message: {message}");
            Difference::new(Weight::Case, format!("{}{inside}", row.message), message)
        }));
        Some(found)
    }
}
