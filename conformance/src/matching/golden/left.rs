//! Findings after the alignment: frames that are missing, extra or in another order, and findings about the
//! transcript as a whole.

use std::collections::HashSet;

use agentese::spec::{RunEffect, RunRole};
use serde_json::Value;

use super::align::Aligned;
use super::events::{self, Item};
use super::findings::{Seen, checks};
use super::pairing::{self, Paired};
use super::reading::{Frame, Sent};
use super::stream::Streams;
use super::tables::Form;
use super::walk::Walk;
use super::{snapshots, tools};
use crate::matching::difference::{Difference, Weight};

impl Streams<'_> {
    pub(super) fn answers_left(&mut self, paired: &Paired) {
        for (g, o, difference) in &paired.remarks {
            let seen = Seen {
                golden: Some(self.golden.answers[*g].record),
                observed: Some(self.observed.answers[*o].record),
            };
            self.findings.difference(checks::ANSWERS, seen, difference.clone());
        }
        for at in &paired.missing {
            let answer = &self.golden.answers[*at];
            let says = format!("the answer to `{}` never came", answer.name);
            let seen = Seen { golden: Some(answer.record), observed: None };
            let difference = Difference::new(Weight::Must, "", says);
            let is_blank = |sent: &Sent| self.golden.is_blank(sent);
            let blank = pairing::sent(self.golden, answer).filter(|sent| is_blank(sent));
            let allowance =
                blank.and_then(|_| pairing::form(self.rules, |row| matches!(row, Form::BlankUnanswered)));
            let difference = match allowance {
                Some(allowance) => difference.allowed(allowance),
                None => difference,
            };
            self.findings.frame(checks::ANSWERS, seen, vec![difference]);
        }
        for at in &paired.extra {
            let answer = &self.observed.answers[*at];
            let says = format!("an answer to `{}` came, which the recording does not have", answer.name);
            let seen = Seen { golden: None, observed: Some(answer.record) };
            self.findings.frame(checks::ANSWERS, seen, vec![Difference::new(Weight::Must, "", says)]);
        }
    }

    /// Compares events that have a wrong value in the mark that separates them from others.
    pub(super) fn near_events(&mut self, was: &[Item], came: &[Item], near: &[(usize, usize, &'static str)]) {
        /// With more differences the events are unrelated, and only the mark is reported.
        const MOST: usize = 4;
        for (g, o, mark) in near {
            let (was, came) = (&was[*g], &came[*o]);
            let def = self.rules.event(&was.name);
            let mut differences = Walk::new(&mut self.state).record(def, &was.value, &came.value);
            if differences.len() > MOST {
                differences.retain(|difference| difference.path == *mark);
            }
            if differences.is_empty() {
                let says = "it is another one than in the recording, or missing";
                differences.push(Difference::new(Weight::Case, *mark, says));
            }
            let seen = Seen { golden: Some(was.record), observed: Some(came.record) };
            self.findings.frame(checks::EVENTS, seen, differences);
        }
    }

    pub(super) fn events_left(&mut self, was: &[Item], came: &[Item], aligned: &Aligned) {
        for at in &aligned.missing {
            let says = format!("{} never came", events::title(self.rules, &was[*at]));
            let difference = Difference::new(Weight::Case, "", says);
            self.findings.frame(
                checks::EVENTS,
                Seen { golden: Some(was[*at].record), observed: None },
                vec![difference],
            );
        }
        let closing = self.closing_events(was);
        for at in &aligned.extra {
            let item = &came[*at];
            let is_known = self.rules.event(&item.name).is_some();
            let of = if is_known { "the recording does not have here" } else { "no document has" };
            // A document does not show all events of a session.
            let is_shown = was.iter().any(|shown| shown.name == item.name);
            let is_open = !is_known && !is_shown && self.rules.spec.events_open;
            let is_free = is_open || self.golden.is_written() && is_known && !is_shown;
            let weight = if is_free { Weight::Info } else { Weight::Case };
            let difference = Difference::new(weight, "", format!("`{}` came, which {of}", item.name));
            let about = self.golden.about(self.observed, item.record);
            let allowance = closing
                .as_ref()
                .filter(|(from, names, _)| about >= *from && names.contains(&item.name.as_str()));
            let difference = match allowance {
                Some((_, _, allowance)) => difference.allowed(allowance),
                None => difference,
            };
            self.findings.frame(
                checks::EVENTS,
                Seen { golden: None, observed: Some(item.record) },
                vec![difference],
            );
        }
        for (g, o) in &aligned.moved {
            let seen = Seen { golden: Some(was[*g].record), observed: Some(came[*o].record) };
            let says = format!("`{}` came in another order", was[*g].name);
            self.findings.difference(checks::ORDER, seen, Difference::new(Weight::Case, "", says));
        }
    }

    /// Returns the closing events that the golden transcript lacks because a command replaced the run: the
    /// record of the command, the names of the events, and the allowance.
    fn closing_events(&self, was: &[Item]) -> Option<(usize, HashSet<&'static str>, &'static str)> {
        let (allowance, names) = self.rules.with_form(|form| match form {
            Form::ClosingEvents(names) => Some(*names),
            _ => None,
        })?;
        let count = |wanted: &dyn Fn(RunEffect) -> bool| {
            let of = |item: &&Item| self.rules.spec.event(&item.name).is_some_and(|event| wanted(event.run));
            was.iter().filter(of).count()
        };
        let first = was.iter().find(|item| {
            self.rules.spec.event(&item.name).is_some_and(|event| event.run == RunEffect::Begins)
        })?;
        let begun = was.iter().filter(|item| item.name == first.name).count();
        if begun <= count(&|effect| effect == RunEffect::MayEnd) {
            return None;
        }
        let replaces =
            |name: &str| self.rules.spec.command(name).is_some_and(|row| row.run == RunRole::Replaces);
        let command = self.golden.commands().find(|sent| sent.command.as_deref().is_some_and(replaces))?;
        Some((command.record, names.iter().copied().collect(), allowance.name))
    }

    pub(super) fn dialogs_left(&mut self, aligned: &Aligned) {
        let left_out = |dialog: &Frame| {
            self.rules.allowances().find(|row| match row.form {
                Form::DialogsLeftOut(method, member, value) => {
                    dialog.name == method && dialog.value.get(member).and_then(Value::as_str) == Some(value)
                }
                _ => false,
            })
        };
        for at in &aligned.missing {
            let dialog = &self.golden.dialogs[*at];
            let difference = Difference::new(Weight::Case, "", format!("`{}` never came", dialog.name));
            let difference = match left_out(dialog) {
                Some(allowance) => difference.allowed(allowance.name),
                None => difference,
            };
            self.findings.frame(
                checks::DIALOGS,
                Seen { golden: Some(dialog.record), observed: None },
                vec![difference],
            );
        }
        for at in &aligned.extra {
            let dialog = &self.observed.dialogs[*at];
            let says = format!("`{}` came, which the recording does not have here", dialog.name);
            let seen = Seen { golden: None, observed: Some(dialog.record) };
            self.findings.frame(checks::DIALOGS, seen, vec![Difference::new(Weight::Case, "", says)]);
        }
        for (g, o) in &aligned.moved {
            let (was, came) = (&self.golden.dialogs[*g], &self.observed.dialogs[*o]);
            let says = format!("`{}` came in another order", was.name);
            let seen = Seen { golden: Some(was.record), observed: Some(came.record) };
            self.findings.difference(checks::ORDER, seen, Difference::new(Weight::Case, "", says));
        }
    }

    pub(super) fn tool_updates(&mut self) {
        let (golden, observed) = (&self.golden.events, &self.observed.events);
        for (golden, observed, difference) in
            tools::compare(self.rules, golden, observed, &self.state.overlapping)
        {
            self.findings.difference(checks::TOOL_UPDATES, Seen { golden, observed }, difference);
        }
    }

    pub(super) fn snapshots(&mut self) {
        let Some(row) = &self.rules.tables.matching.snapshots else { return };
        let expected = snapshots::look(self.rules, &self.golden.events);
        let found = snapshots::look(self.rules, &self.observed.events);
        let none = found.events > 0 && found.carried.iter().all(|count| *count == 0);
        if none && expected.carried.iter().any(|count| *count > 0) {
            let says = format!("`{}` carries no snapshot in any of {} events", row.grows, found.events);
            let difference = Difference::new(Weight::Case, "", says);
            let form = self.rules.with_form(|form| matches!(form, Form::NoSnapshots).then_some(()));
            let difference = match form {
                Some((allowance, ())) => difference.allowed(allowance.name),
                None => difference,
            };
            self.findings.difference(checks::SNAPSHOTS, Seen { golden: None, observed: None }, difference);
        } else {
            for (at, within) in row.within.iter().enumerate() {
                if expected.carried[at] == 0 || !expected.lacking[at].is_empty() {
                    continue;
                }
                for record in &found.lacking[at] {
                    let difference = Difference::new(Weight::Case, *within, "the snapshot is missing");
                    let seen = Seen { golden: None, observed: Some(*record) };
                    self.findings.difference(checks::SNAPSHOTS, seen, difference);
                }
            }
        }
        for (record, difference) in found.wrong {
            self.findings.difference(
                checks::SNAPSHOTS,
                Seen { golden: None, observed: Some(record) },
                difference,
            );
        }
    }

    pub(super) fn framing(&mut self) {
        let (expected, found) = (self.golden.noise.len(), self.observed.noise.len());
        if expected != found {
            let says = format!("{found} lines are no JSON object instead of {expected}");
            // Programs in the same process may write to stdout. Such lines are only informative if the
            // recording has some too.
            let weight = if expected == 0 { Weight::Must } else { Weight::Info };
            let seen = Seen { golden: None, observed: self.observed.noise.first().copied() };
            self.findings.difference(checks::FRAMING, seen, Difference::new(weight, "", says));
        }
        if twice(&self.golden.dialogs).is_none()
            && let Some(dialog) = twice(&self.observed.dialogs)
        {
            let says = format!("`{}` came twice with one id", dialog.name);
            let seen = Seen { golden: None, observed: Some(dialog.record) };
            self.findings.difference(checks::FRAMING, seen, Difference::new(Weight::Must, "id", says));
        }
        if self.golden.undeclared.is_empty() {
            for (record, says) in &self.observed.undeclared {
                let seen = Seen { golden: None, observed: Some(*record) };
                let difference = Difference::new(Weight::Info, "", says.clone());
                self.findings.difference(checks::FRAMING, seen, difference);
            }
        }
        if !self.golden.misshapen.is_empty() {
            return;
        }
        for (record, says) in &self.observed.misshapen {
            let seen = Seen { golden: None, observed: Some(*record) };
            self.findings.difference(checks::FRAMING, seen, Difference::new(Weight::Must, "", says.clone()));
        }
    }
}

/// Returns the first dialog with the id of an earlier one.
fn twice(dialogs: &[Frame]) -> Option<&Frame> {
    let mut known = HashSet::new();
    dialogs.iter().find(|dialog| dialog.id.as_ref().is_some_and(|id| !known.insert((&dialog.name, id))))
}
