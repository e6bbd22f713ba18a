//! Pairing of answers.

use std::collections::{HashMap, HashSet};

use agentese::spec::{RunEffect, RunRole};
use serde_json::Value;

use super::align::align;
use super::declared;
use super::reading::{Frame, Reading, Sent};
use super::rules::Rules;
use super::tables::{Allowance, Form, Holds};
use crate::matching::difference::{Difference, Weight};

/// Indexes of the paired answers, and of the others.
#[derive(Debug, Default)]
pub(super) struct Paired {
    pub(super) pairs: Vec<(usize, usize)>,
    pub(super) missing: Vec<usize>,
    pub(super) extra: Vec<usize>,
    /// Differences in the outcome of a command as a whole.
    pub(super) remarks: Vec<(usize, usize, Difference)>,
}

/// Returns `true` if the answer is a success.
pub(super) fn is_success(answer: &Frame) -> bool {
    match answer.value.get("success") {
        Some(success) => *success == Value::Bool(true),
        None => answer.value.get("error").is_none(),
    }
}

/// Returns the command of an answer: by the id, or else the last command before the answer whose id is in no
/// answer.
pub(super) fn sent<'a>(reading: &'a Reading<'_>, answer: &Frame) -> Option<&'a Sent> {
    if let Some(id) = &answer.id {
        return reading.by_id(id);
    }
    let answered: HashSet<&String> = reading.answers.iter().filter_map(|answer| answer.id.as_ref()).collect();
    let before = reading.sent.iter().take(reading.sent_before(answer.record)).rev();
    before
        .filter(|sent| !sent.is_answer)
        .find(|sent| !sent.id.as_ref().is_some_and(|id| answered.contains(id)))
}

/// Returns the name of the first allowance of such a form that holds everywhere.
pub(super) fn form(rules: &Rules, is: impl Fn(&Form) -> bool) -> Option<&'static str> {
    let everywhere = |row: &&Allowance| row.holds == Holds::Everywhere && is(&row.form);
    rules.allowances().find(everywhere).map(|row| row.name)
}

/// Pairs the answers of two transcripts.
pub(super) fn pair(rules: &Rules, golden: &Reading<'_>, observed: &Reading<'_>) -> Paired {
    let mut paired = Paired::default();
    let (expected, mut nameless) = groups(&golden.answers);
    let (found, came_nameless) = groups(&observed.answers);
    for (id, came) in &found {
        if expected.iter().any(|(known, _)| known == id) {
            continue;
        }
        for at in came {
            // The recorded failure of the same command has no id.
            let asked = golden.by_id(id).map(|sent| sent.record);
            let behind = |was: &usize| {
                let was = &golden.answers[*was];
                !is_success(was) && asked.is_some_and(|asked| asked < was.record)
            };
            let answers = |was: &usize| sent(golden, &golden.answers[*was]).map(|sent| sent.record) == asked;
            let place = nameless.iter().position(|was| behind(was) && answers(was));
            let place = place.or_else(|| nameless.iter().position(behind));
            match place.filter(|_| !is_success(&observed.answers[*at])) {
                Some(place) => paired.pairs.push((nameless.remove(place), *at)),
                None => paired.extra.push(*at),
            }
        }
    }
    for (id, was) in &expected {
        let came = found.iter().find(|(other, _)| other == id).map_or(&[][..], |(_, came)| came.as_slice());
        if !both_ways(rules, golden, observed, was, came, &mut paired) {
            in_order(&golden.answers, &observed.answers, was, came, &mut paired);
        }
    }
    // If the agent ignores all blank lines, their answers are the missing ones.
    if form(rules, |row| matches!(row, Form::BlankUnanswered)).is_some() {
        let is_blank =
            |at: &usize| sent(golden, &golden.answers[*at]).is_some_and(|sent| golden.is_blank(sent));
        let (blank, others): (Vec<usize>, Vec<usize>) = nameless.iter().partition(|at| is_blank(at));
        if others.len() == came_nameless.len() {
            paired.missing.extend(blank);
            nameless = others;
        }
    }
    in_order(&golden.answers, &observed.answers, &nameless, &came_nameless, &mut paired);
    near(golden, observed, &mut paired);
    paired.pairs.sort_unstable();
    paired
}

/// Pairs missing answers with answers to the same command that have a wrong id or a wrong success.
fn near(golden: &Reading<'_>, observed: &Reading<'_>, paired: &mut Paired) {
    for same_success in [true, false] {
        let (extra, pairs) = (&mut paired.extra, &mut paired.pairs);
        paired.missing.retain(|at| {
            let was = &golden.answers[*at];
            let is_meant = |came: &Frame| {
                let is_named = came.name == was.name || came.name.is_empty();
                is_named && (!same_success || is_success(was) == is_success(came))
            };
            let Some(place) = extra.iter().position(|at| is_meant(&observed.answers[*at])) else {
                return true;
            };
            pairs.push((*at, extra.remove(place)));
            false
        });
    }
}

type Groups = (Vec<(String, Vec<usize>)>, Vec<usize>);

/// Groups the answers with an id by their ids, and collects the others.
fn groups(answers: &[Frame]) -> Groups {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut nameless = Vec::new();
    for (at, answer) in answers.iter().enumerate() {
        let Some(id) = &answer.id else {
            nameless.push(at);
            continue;
        };
        let place = *places.entry(id).or_insert_with(|| {
            groups.push((id.clone(), Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(at);
    }
    (groups, nameless)
}

fn in_order(golden: &[Frame], observed: &[Frame], was: &[usize], came: &[usize], paired: &mut Paired) {
    if was.len() == came.len() {
        paired.pairs.extend(was.iter().copied().zip(came.iter().copied()));
        return;
    }
    let mark = |answers: &[Frame], at: &[usize]| -> Vec<String> {
        at.iter().map(|at| format!("{} {}", answers[*at].name, is_success(&answers[*at]))).collect()
    };
    let aligned = align(&mark(golden, was), &mark(observed, came));
    let pairs = aligned.pairs.into_iter().chain(aligned.moved);
    paired.pairs.extend(pairs.map(|(first, second)| (was[first], came[second])));
    // Pairs failures with another name by their order.
    let (mut missing, mut extra) = (aligned.missing, aligned.extra);
    if missing.len() == extra.len() {
        paired
            .pairs
            .extend(missing.drain(..).zip(extra.drain(..)).map(|(first, second)| (was[first], came[second])));
    }
    paired.missing.extend(missing.into_iter().map(|at| was[at]));
    paired.extra.extend(extra.into_iter().map(|at| came[at]));
}

/// Pairs the answers of a command that has both a failure and a success in the recording. Returns `true` if
/// it has paired them.
fn both_ways(
    rules: &Rules,
    golden: &Reading<'_>,
    observed: &Reading<'_>,
    was: &[usize],
    came: &[usize],
    paired: &mut Paired,
) -> bool {
    let &[first, second] = was else { return false };
    let answers = (&golden.answers[first], &golden.answers[second]);
    let role = sent(golden, answers.0)
        .and_then(|sent| rules.spec.command(sent.command.as_deref()?))
        .map(|row| row.run);
    if is_success(answers.0) == is_success(answers.1) || role != Some(RunRole::Starts) {
        return false;
    }
    let (failure, success) = if is_success(answers.0) { (second, first) } else { (first, second) };
    match *came {
        [only] if !is_success(&observed.answers[only]) => {
            let is_busy = sent(golden, answers.0).is_some_and(|sent| is_busy(rules, golden, sent.record));
            let is = |row: &Form| match row {
                Form::OneAnswer => true,
                Form::AcknowledgedFirst => is_busy,
                _ => false,
            };
            let Some(allowance) = form(rules, is) else { return false };
            let says = "one failure instead of a failure and a success";
            let difference = Difference::new(Weight::Case, "", says).allowed(allowance);
            paired.remarks.push((failure, only, difference));
            paired.pairs.push((failure, only));
            true
        }
        [one, other] if is_success(&observed.answers[one]) != is_success(&observed.answers[other]) => {
            let success_first = is_success(&observed.answers[one]);
            let (came_failure, came_success) = if success_first { (other, one) } else { (one, other) };
            paired.pairs.extend([(failure, came_failure), (success, came_success)]);
            if success_first != is_success(answers.0) {
                let difference =
                    Difference::new(Weight::Case, "", "failure and success stand in the other order");
                let difference = match form(rules, |row| matches!(row, Form::AcknowledgedFirst)) {
                    Some(allowance) if success_first => difference.allowed(allowance),
                    _ => difference,
                };
                paired.remarks.push((success, came_success, difference));
            }
            true
        }
        _ => false,
    }
}

/// Returns `true` if a run is active at a record.
fn is_busy(rules: &Rules, reading: &Reading<'_>, record: usize) -> bool {
    let before = reading.events.iter().take_while(|event| event.record < record);
    let effects = before.filter_map(|event| rules.spec.event(&event.name)).map(|event| event.run);
    let last = effects.filter(|effect| *effect != RunEffect::None).last();
    matches!(last, Some(RunEffect::Begins | RunEffect::Holds))
}

/// Returns the record of the golden transcript from which a run is missing, and the allowance. The run is
/// missing if an allowance permits to refuse arguments of a wrong type.
pub(super) fn refused_run(
    rules: &Rules,
    golden: &Reading<'_>,
    observed: &Reading<'_>,
    paired: &Paired,
) -> Option<(usize, &'static str)> {
    let allowance = form(rules, |row| matches!(row, Form::Refused(_)))?;
    let refused = paired.pairs.iter().filter_map(|(was, came)| {
        let (was, came) = (&golden.answers[*was], &observed.answers[*came]);
        let sent = sent(golden, was).filter(|_| is_success(was) && !is_success(came))?;
        let row = rules.spec.command(sent.command.as_deref()?).filter(|row| row.run != RunRole::None)?;
        let def = rules.command(row.wire)?.params.and_then(Rules::named)?;
        declared::record_misfit(def, sent.value.as_ref()?.as_object()?)?;
        Some(sent.record.min(was.record))
    });
    refused.min().map(|from| (from, allowance))
}
