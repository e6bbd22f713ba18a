//! Pairing of recorded and observed answers.

use std::collections::{HashMap, HashSet};

use agentese::spec::{RunEffect, RunRole};
use serde_json::Value;

use super::align::align;
use super::declared;
use super::rules::Rules;
use super::tables::{Allowance, AllowanceScope, Form};
use super::transcript_streams::{Frame, SentLine, TranscriptStreams};
use crate::matching::difference::{Difference, Weight};

/// Result of the pairing: indexes of paired answers, and of answers without a partner.
#[derive(Debug, Default)]
pub(super) struct AnswerPairing {
    pub(super) pairs: Vec<(usize, usize)>,
    pub(super) missing: Vec<usize>,
    pub(super) extra: Vec<usize>,
    /// Differences about a pair of answers as a whole: golden index, observed index, difference.
    pub(super) remarks: Vec<(usize, usize, Difference)>,
}

/// Returns `true` if the answer is a success.
pub(super) fn is_success(answer: &Frame) -> bool {
    match answer.value.get("success") {
        Some(success) => *success == Value::Bool(true),
        None => answer.value.get("error").is_none(),
    }
}

/// Returns the command that an answer belongs to, by the id. For an answer without an id, returns the last
/// earlier command whose id is in no answer.
pub(super) fn command_of<'a>(streams: &'a TranscriptStreams<'_>, answer: &Frame) -> Option<&'a SentLine> {
    if let Some(id) = &answer.id {
        return streams.by_id(id);
    }
    let answered: HashSet<&String> = streams.answers.iter().filter_map(|answer| answer.id.as_ref()).collect();
    let before = streams.sent.iter().take(streams.sent_before(answer.record)).rev();
    before
        .filter(|sent| !sent.is_answer)
        .find(|sent| !sent.id.as_ref().is_some_and(|id| answered.contains(id)))
}

/// Returns the name of the first allowance that applies to all cases and has a matching form.
pub(super) fn allowance_with_form(rules: &Rules, is: impl Fn(&Form) -> bool) -> Option<&'static str> {
    let everywhere = |row: &&Allowance| row.scope == AllowanceScope::Everywhere && is(&row.form);
    rules.allowances().find(everywhere).map(|row| row.name)
}

/// Pairs the answers of two transcripts.
pub(super) fn pair(
    rules: &Rules,
    golden: &TranscriptStreams<'_>,
    observed: &TranscriptStreams<'_>,
) -> AnswerPairing {
    let mut pairing = AnswerPairing::default();
    let (expected, mut nameless) = groups(&golden.answers);
    let (found, came_nameless) = groups(&observed.answers);
    for (id, actual) in &found {
        if expected.iter().any(|(known, _)| known == id) {
            continue;
        }
        for at in actual {
            // The recorded failure of this command has no id.
            let asked = golden.by_id(id).map(|sent| sent.record);
            let behind = |recorded: &usize| {
                let recorded = &golden.answers[*recorded];
                !is_success(recorded) && asked.is_some_and(|asked| asked < recorded.record)
            };
            let answers = |recorded: &usize| {
                command_of(golden, &golden.answers[*recorded]).map(|sent| sent.record) == asked
            };
            let place = nameless.iter().position(|recorded| behind(recorded) && answers(recorded));
            let place = place.or_else(|| nameless.iter().position(behind));
            match place.filter(|_| !is_success(&observed.answers[*at])) {
                Some(place) => pairing.pairs.push((nameless.remove(place), *at)),
                None => pairing.extra.push(*at),
            }
        }
    }
    for (id, recorded) in &expected {
        let actual = found.iter().find(|(other, _)| other == id).map_or(&[][..], |(_, came)| came.as_slice());
        if !both_ways(rules, golden, observed, recorded, actual, &mut pairing) {
            in_order(&golden.answers, &observed.answers, recorded, actual, &mut pairing);
        }
    }
    // If the agent ignores all blank lines, the unpaired recorded answers are those to blank lines.
    if allowance_with_form(rules, |row| matches!(row, Form::BlankUnanswered)).is_some() {
        let is_blank =
            |at: &usize| command_of(golden, &golden.answers[*at]).is_some_and(|sent| golden.is_blank(sent));
        let (blank, others): (Vec<usize>, Vec<usize>) = nameless.iter().partition(|at| is_blank(at));
        if others.len() == came_nameless.len() {
            pairing.missing.extend(blank);
            nameless = others;
        }
    }
    in_order(&golden.answers, &observed.answers, &nameless, &came_nameless, &mut pairing);
    pair_near_answers(golden, observed, &mut pairing);
    pairing.pairs.sort_unstable();
    pairing
}

/// Pairs each missing answer with an additional answer to the same command. Such a pair has a wrong id, or a
/// wrong `success`.
fn pair_near_answers(
    golden: &TranscriptStreams<'_>,
    observed: &TranscriptStreams<'_>,
    pairing: &mut AnswerPairing,
) {
    for same_success in [true, false] {
        let (extra, pairs) = (&mut pairing.extra, &mut pairing.pairs);
        pairing.missing.retain(|at| {
            let expected = &golden.answers[*at];
            let is_meant = |actual: &Frame| {
                let is_named = actual.name == expected.name || actual.name.is_empty();
                is_named && (!same_success || is_success(expected) == is_success(actual))
            };
            let Some(place) = extra.iter().position(|at| is_meant(&observed.answers[*at])) else {
                return true;
            };
            pairs.push((*at, extra.remove(place)));
            false
        });
    }
}

type AnswerGroups = (Vec<(String, Vec<usize>)>, Vec<usize>);

/// Groups the answers with an id by their ids, and collects the others.
fn groups(answers: &[Frame]) -> AnswerGroups {
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

fn in_order(
    golden: &[Frame],
    observed: &[Frame],
    expected: &[usize],
    actual: &[usize],
    pairing: &mut AnswerPairing,
) {
    if expected.len() == actual.len() {
        pairing.pairs.extend(expected.iter().copied().zip(actual.iter().copied()));
        return;
    }
    let mark = |answers: &[Frame], at: &[usize]| -> Vec<String> {
        at.iter().map(|at| format!("{} {}", answers[*at].name, is_success(&answers[*at]))).collect()
    };
    let alignment = align(&mark(golden, expected), &mark(observed, actual));
    let pairs = alignment.pairs.into_iter().chain(alignment.moved);
    pairing.pairs.extend(pairs.map(|(first, second)| (expected[first], actual[second])));
    // Failures with another command name are paired in their order.
    let (mut missing, mut extra) = (alignment.missing, alignment.extra);
    if missing.len() == extra.len() {
        pairing.pairs.extend(
            missing.drain(..).zip(extra.drain(..)).map(|(first, second)| (expected[first], actual[second])),
        );
    }
    pairing.missing.extend(missing.into_iter().map(|at| expected[at]));
    pairing.extra.extend(extra.into_iter().map(|at| actual[at]));
}

/// Pairs the answers to a command that the recorded agent answered twice, with a failure and with a success.
/// Returns `true` if they are paired.
fn both_ways(
    rules: &Rules,
    golden: &TranscriptStreams<'_>,
    observed: &TranscriptStreams<'_>,
    expected: &[usize],
    actual: &[usize],
    pairing: &mut AnswerPairing,
) -> bool {
    let &[first, second] = expected else { return false };
    let answers = (&golden.answers[first], &golden.answers[second]);
    let role = command_of(golden, answers.0)
        .and_then(|sent| rules.spec.command(sent.command.as_deref()?))
        .map(|row| row.run);
    if is_success(answers.0) == is_success(answers.1) || role != Some(RunRole::Starts) {
        return false;
    }
    let (failure, success) = if is_success(answers.0) { (second, first) } else { (first, second) };
    match *actual {
        [only] if !is_success(&observed.answers[only]) => {
            let is_busy =
                command_of(golden, answers.0).is_some_and(|sent| is_busy(rules, golden, sent.record));
            let is = |row: &Form| match row {
                Form::OneAnswer => true,
                Form::AcknowledgedFirst => is_busy,
                _ => false,
            };
            let Some(allowance) = allowance_with_form(rules, is) else { return false };
            let message = "one failure instead of a failure and a success";
            let difference = Difference::new(Weight::Case, "", message).allowed(allowance);
            pairing.remarks.push((failure, only, difference));
            pairing.pairs.push((failure, only));
            true
        }
        [one, other] if is_success(&observed.answers[one]) != is_success(&observed.answers[other]) => {
            let success_first = is_success(&observed.answers[one]);
            let (came_failure, came_success) = if success_first { (other, one) } else { (one, other) };
            pairing.pairs.extend([(failure, came_failure), (success, came_success)]);
            if success_first != is_success(answers.0) {
                let difference =
                    Difference::new(Weight::Case, "", "failure and success are in reverse order");
                let difference =
                    match allowance_with_form(rules, |row| matches!(row, Form::AcknowledgedFirst)) {
                        Some(allowance) if success_first => difference.allowed(allowance),
                        _ => difference,
                    };
                pairing.remarks.push((success, came_success, difference));
            }
            true
        }
        _ => false,
    }
}

/// Returns `true` if a run is active at a record.
fn is_busy(rules: &Rules, streams: &TranscriptStreams<'_>, record: usize) -> bool {
    let before = streams.events.iter().take_while(|event| event.record < record);
    let effects = before.filter_map(|event| rules.spec.event(&event.name)).map(|event| event.run);
    let last = effects.filter(|effect| *effect != RunEffect::None).last();
    matches!(last, Some(RunEffect::Begins | RunEffect::Holds))
}

/// Returns the golden record at which a missing run would start, and the allowance. The run is missing if
/// the agent rejected its command because of a wrong type, and an allowance permits that.
pub(super) fn refused_run(
    rules: &Rules,
    golden: &TranscriptStreams<'_>,
    observed: &TranscriptStreams<'_>,
    pairing: &AnswerPairing,
) -> Option<(usize, &'static str)> {
    let allowance = allowance_with_form(rules, |row| matches!(row, Form::Refused(_)))?;
    let refused = pairing.pairs.iter().filter_map(|(expected, actual)| {
        let (expected, actual) = (&golden.answers[*expected], &observed.answers[*actual]);
        let sent = command_of(golden, expected).filter(|_| is_success(expected) && !is_success(actual))?;
        let row = rules.spec.command(sent.command.as_deref()?).filter(|row| row.run != RunRole::None)?;
        let def = rules.command(row.wire)?.params.and_then(Rules::named)?;
        declared::record_mismatch(def, sent.value.as_ref()?.as_object()?)?;
        Some(sent.record.min(expected.record))
    });
    refused.min().map(|from| (from, allowance))
}
