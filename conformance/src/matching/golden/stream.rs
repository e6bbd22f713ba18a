//! The comparison of two transcripts, stream by stream.

use serde_json::Value;

use super::align::{Aligned, align};
use super::answers::Answers;
use super::bindings::Bindings;
use super::choices::InCase;
use super::events::{self, Item};
use super::excuse::Excuses;
use super::findings::{Findings, Seen, checks};
use super::order::Turns;
use super::pairing::{self, Paired};
use super::reading::Reading;
use super::rules::Rules;
use super::state::State;
use super::tables::{Form, Holds};
use super::text::Texts;
use super::walk::Walk;
use super::{Compared, Comparison, dialog_marks, exit, order, snapshots, tools};
use crate::matching::difference::{Difference, Weight};
use crate::matching::path;
use crate::transcript::Transcript;

/// A pair to compare. Pairs are compared in the order of the golden transcript, so that values bind at their
/// first occurrence.
enum Step {
    Answer(usize, usize),
    Event(usize, usize),
    Dialog(usize, usize),
}

/// Compares the observed transcript with one golden transcript.
pub(super) fn compare(rules: &Rules, comparison: &Comparison<'_>, golden: &Transcript) -> Compared {
    let golden = Reading::new(rules.spec, golden);
    let observed = Reading::new(rules.spec, comparison.observed);
    let case = serde_json::to_string(comparison.case).unwrap_or_default();
    let overlapping = tools::overlapping(rules, &golden.events);
    let state = State {
        rules,
        texts: Texts::new(&rules.tokens, Bindings::new(case)),
        excuses: Excuses::default(),
        overlapping,
        same_agent: comparison.same_agent,
        is_written: golden.is_written(),
        choices: InCase::new(comparison.choices, comparison.case),
    };
    let findings = Findings::new(rules, comparison.case, &golden, &observed);
    let mut streams = Streams { rules, golden: &golden, observed: &observed, state, findings };
    streams.compare();
    let findings = streams.findings;
    Compared { frames: findings.frames, agreed: findings.agreed, findings: findings.finish() }
}

/// Two transcripts, and the findings so far.
pub(super) struct Streams<'r> {
    pub(super) rules: &'r Rules,
    pub(super) golden: &'r Reading<'r>,
    pub(super) observed: &'r Reading<'r>,
    pub(super) state: State<'r>,
    pub(super) findings: Findings<'r>,
}

impl<'r> Streams<'r> {
    fn compare(&mut self) {
        let was = events::prepare(self.rules, &self.golden.events, &self.state.overlapping);
        let came = events::prepare(self.rules, &self.observed.events, &self.state.overlapping);
        let (was, came) = self.allowed_events(was, came);
        let paired = pairing::pair(self.rules, self.golden, self.observed);
        self.findings.refused = pairing::refused_run(self.rules, self.golden, self.observed, &paired);
        let mut aligned = self.align_events(&was, &came, self.findings.refused.is_some());
        let near = events::near(self.rules, &was, &came, &mut aligned);
        let dialogs = dialog_marks::align(self.rules, &self.golden.dialogs, &self.observed.dialogs);
        self.walk(&was, &came, &paired, &aligned, &dialogs);
        self.answers_left(&paired);
        self.near_events(&was, &came, &near);
        self.events_left(&was, &came, &aligned);
        self.dialogs_left(&dialogs);
        self.tool_updates();
        self.snapshots();
        let pairs: Vec<_> = aligned.pairs.iter().chain(&aligned.moved).copied().collect();
        let turns = Turns::new(self.rules, &was, &came, &pairs);
        order::compare(self.rules, self.golden, self.observed, &paired, &turns, &mut self.findings);
        self.framing();
        for difference in exit::compare(self.rules, self.golden, self.observed) {
            self.findings.difference(checks::EXIT, Seen { golden: None, observed: None }, difference);
        }
    }

    /// Removes events that an allowance lets an agent omit or add, if the two sides differ in them.
    fn allowed_events(&mut self, mut was: Vec<Item>, mut came: Vec<Item>) -> (Vec<Item>, Vec<Item>) {
        for row in self.rules.allowances().filter(|row| row.holds == Holds::Everywhere) {
            match row.form {
                Form::Events(names) => {
                    for name in names {
                        let count = |items: &[Item]| items.iter().filter(|item| item.name == *name).count();
                        let (expected, found) = (count(&was), count(&came));
                        if expected == found || found > expected.max(1) {
                            continue;
                        }
                        let says = format!("`{name}` came {found} times instead of {expected}");
                        self.remark(
                            &was,
                            &came,
                            name,
                            Difference::new(Weight::Case, "", says).allowed(row.name),
                        );
                        was.retain(|item| item.name != *name);
                        came.retain(|item| item.name != *name);
                    }
                }
                Form::EventKinds(event, path, kinds) => {
                    let is = |item: &Item| {
                        let kind = path::get(&item.value, path).and_then(Value::as_str);
                        item.name == event && kind.is_some_and(|kind| kinds.contains(&kind))
                    };
                    if !was.iter().any(is) && came.iter().any(is) {
                        let says = format!("`{event}` marks {}", kinds.join(", "));
                        self.remark(
                            &[],
                            &came,
                            event,
                            Difference::new(Weight::Case, path, says).allowed(row.name),
                        );
                        came.retain(|item| !is(item));
                    }
                }
                _ => {}
            }
        }
        (was, came)
    }

    fn remark(&mut self, was: &[Item], came: &[Item], name: &str, difference: Difference) {
        let first = |items: &[Item]| items.iter().find(|item| item.name == name).map(|item| item.record);
        let seen = Seen { golden: first(was), observed: first(came) };
        self.findings.difference(checks::EVENTS, seen, difference);
    }

    /// Aligns events, strand by strand.
    fn align_events(&self, was: &[Item], came: &[Item], finely: bool) -> Aligned {
        let expected = events::strands(self.rules, was);
        let mut found = events::strands(self.rules, came);
        // Pairs strands with the same marks in their order.
        let pairs = expected.into_iter().map(|strand| {
            let same = found.iter().position(|other| other.marked == strand.marked);
            (strand.places, same.map_or_else(Vec::new, |at| found.remove(at).places))
        });
        let mut pairs: Vec<(Vec<usize>, Vec<usize>)> = pairs.collect();
        pairs.extend(found.into_iter().map(|strand| (Vec::new(), strand.places)));
        let mut aligned = Aligned::default();
        for (expected, found) in pairs {
            let marks = |items: &[Item], strand: &[usize]| -> Vec<String> {
                strand.iter().map(|at| events::mark(self.rules, &items[*at], finely)).collect()
            };
            let strand = align(&marks(was, &expected), &marks(came, &found));
            let both = |(was, came): (usize, usize)| (expected[was], found[came]);
            aligned.pairs.extend(strand.pairs.into_iter().map(both));
            aligned.moved.extend(strand.moved.into_iter().map(both));
            aligned.missing.extend(strand.missing.into_iter().map(|at| expected[at]));
            aligned.extra.extend(strand.extra.into_iter().map(|at| found[at]));
        }
        aligned
    }

    /// Compares all pairs, in the order of the golden transcript.
    fn walk(&mut self, was: &[Item], came: &[Item], paired: &Paired, aligned: &Aligned, dialogs: &Aligned) {
        let mut steps: Vec<(usize, Step)> = Vec::new();
        let answers = paired.pairs.iter();
        steps.extend(answers.map(|(g, o)| (self.golden.answers[*g].record, Step::Answer(*g, *o))));
        let events = aligned.pairs.iter().chain(&aligned.moved);
        steps.extend(events.map(|(g, o)| (was[*g].record, Step::Event(*g, *o))));
        let asked = dialogs.pairs.iter().chain(&dialogs.moved);
        steps.extend(asked.map(|(g, o)| (self.golden.dialogs[*g].record, Step::Dialog(*g, *o))));
        steps.sort_by_key(|(record, _)| *record);
        for (_, step) in steps {
            let (check, golden, observed, differences) = match step {
                Step::Answer(g, o) => {
                    let (was, came) = (&self.golden.answers[g], &self.observed.answers[o]);
                    let mut answers = Answers { state: &mut self.state, golden: self.golden };
                    let differences = answers.compare(was, came);
                    (checks::ANSWERS, was.record, came.record, differences)
                }
                Step::Event(g, o) => {
                    let differences = self.event(&was[g], &came[o], came);
                    (checks::EVENTS, was[g].record, came[o].record, differences)
                }
                Step::Dialog(g, o) => {
                    let (was, came) = (&self.golden.dialogs[g], &self.observed.dialogs[o]);
                    let differences = self.dialog(was, came);
                    (checks::DIALOGS, was.record, came.record, differences)
                }
            };
            self.findings.frame(check, Seen { golden: Some(golden), observed: Some(observed) }, differences);
        }
    }

    fn event(&mut self, was: &Item, came: &Item, all: &[Item]) -> Vec<Difference> {
        let def = self.rules.event(&was.name);
        if let Some(found) = self.beginning(was, came, all) {
            return found;
        }
        Walk::new(&mut self.state).record(def, &was.value, &came.value)
    }

    /// Compares the event with which a growing message begins. The message may be as recorded, or any earlier
    /// version of the complete one.
    fn beginning(&mut self, was: &Item, came: &Item, all: &[Item]) -> Option<Vec<Difference>> {
        let row = self.rules.tables.matching.snapshots.as_ref().filter(|row| row.begins == was.name)?;
        let (golden, observed) = (was.value.get(row.message)?, came.value.get(row.message)?);
        if !snapshots::grows(row, golden) || !snapshots::grows(row, observed) {
            return None;
        }
        let free: Vec<String> = golden
            .as_object()?
            .keys()
            .filter(|name| !row.steady.contains(&name.as_str()))
            .map(|name| format!("{}.{name}", row.message))
            .collect();
        let def = self.rules.event(&was.name);
        let reduced = |value: &Value| {
            let free: Vec<&str> = free.iter().map(String::as_str).collect();
            path::without(value, &free)
        };
        let same = was.value == came.value;
        let mut found = Walk::new(&mut self.state).record(def, &reduced(&was.value), &reduced(&came.value));
        if same {
            return Some(found);
        }
        let ty = super::tables::Ty::Named(row.record);
        if let Some((inside, says)) = super::declared::misfit(&ty, observed) {
            found.push(Difference::new(Weight::Must, format!("{}{inside}", row.message), says));
        }
        let complete = all.iter().find(|item| {
            item.record > came.record
                && item.name == row.ends
                && item.value.get(row.message).is_some_and(|message| snapshots::grows(row, message))
        });
        let begun_anew = all.iter().find(|item| item.record > came.record && item.name == row.begins);
        let complete = complete.filter(|item| begun_anew.is_none_or(|next| item.record < next.record));
        let mut wrong = Vec::new();
        match complete.and_then(|item| item.value.get(row.message)) {
            Some(later) => snapshots::earlier(row, observed, later, &mut String::new(), &mut wrong),
            None => {
                // The message never completes, so it is compared with the recorded one, without values that
                // agents make up.
                let mut made_up = self.rules.bound(row.record);
                made_up.extend(self.rules.chosen(row.record));
                let (early, late) = (path::without(observed, &made_up), path::without(golden, &made_up));
                snapshots::earlier(row, &early, &late, &mut String::new(), &mut wrong);
            }
        }
        found.extend(wrong.into_iter().map(|(inside, says)| {
            let says = format!("it is not an earlier version of the complete message: {says}");
            Difference::new(Weight::Case, format!("{}{inside}", row.message), says)
        }));
        Some(found)
    }
}
