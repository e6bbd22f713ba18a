//! Required order of frames from different streams.

use agentese::spec::{Answer, RunEffect, RunRole};

use super::events::Item;
use super::findings::{Findings, Seen, checks};
use super::pairing::{self, Paired};
use super::reading::{Frame, Reading};
use super::rules::Rules;
use crate::matching::difference::{Difference, Weight};

/// Pairs of events: the records of both, and the event's effect on a run.
pub(super) struct Turns {
    turns: Vec<(usize, usize, RunEffect)>,
}

impl Turns {
    pub(super) fn new(rules: &Rules, golden: &[Item], observed: &[Item], pairs: &[(usize, usize)]) -> Self {
        let turns = pairs.iter().filter_map(|(was, came)| {
            let effect = rules.spec.event(&golden[*was].name)?.run;
            (effect != RunEffect::None).then_some((golden[*was].record, observed[*came].record, effect))
        });
        let mut turns: Vec<_> = turns.collect();
        turns.sort_unstable_by_key(|(record, ..)| *record);
        Self { turns }
    }

    fn after(&self, record: usize, is: impl Fn(RunEffect) -> bool) -> Option<(usize, usize)> {
        let from = self.turns.partition_point(|(at, ..)| *at < record);
        self.turns[from..].iter().find(|(.., effect)| is(*effect)).map(|(was, came, _)| (*was, *came))
    }

    fn before(&self, record: usize, is: impl Fn(RunEffect) -> bool) -> Option<(usize, usize)> {
        let to = self.turns.partition_point(|(at, ..)| *at < record);
        self.turns[..to].iter().rev().find(|(.., effect)| is(*effect)).map(|(was, came, _)| (*was, *came))
    }
}

fn begins(effect: RunEffect) -> bool {
    effect == RunEffect::Begins
}

fn ends(effect: RunEffect) -> bool {
    matches!(
        effect,
        RunEffect::MayEnd
            | RunEffect::Ends
            | RunEffect::MayEndUnless(_)
            | RunEffect::MayEndIf(_)
            | RunEffect::HoldsIf(_)
    )
}

/// Compares the positions of answers and events, by the declared rule of each command.
pub(super) fn compare(
    rules: &Rules,
    golden: &Reading<'_>,
    observed: &Reading<'_>,
    paired: &Paired,
    turns: &Turns,
    findings: &mut Findings<'_>,
) {
    for answer in &observed.answers {
        let sent = answer.id.as_ref().and_then(|id| observed.by_id(id));
        // A JSON-RPC answer to an unreadable line has the id null.
        let is_null = answer.value.get("id").is_some_and(serde_json::Value::is_null);
        if !is_null && sent.is_some_and(|sent| answer.record < sent.record) {
            let seen = Seen { golden: None, observed: Some(answer.record) };
            let says = format!("the answer to `{}` stands before its command", answer.name);
            findings.difference(checks::ORDER_BETWEEN_STREAMS, seen, Difference::new(Weight::Must, "", says));
        }
    }
    for (was, came) in &paired.pairs {
        let (was, came) = (&golden.answers[*was], &observed.answers[*came]);
        let Some(sent) = pairing::sent(golden, was) else { continue };
        let Some(command) = sent.command.as_deref().and_then(|name| rules.spec.command(name)) else {
            continue;
        };
        if !(pairing::is_success(was) && pairing::is_success(came)) {
            continue;
        }
        let found = match command.run {
            RunRole::Starts if rules.spec.run_end.answer_ends => {
                behind_its_end(turns, sent.record, was, came)
            }
            RunRole::Starts if command.answer != Answer::Done => {
                before_its_run(turns, sent.record, was, came)
            }
            RunRole::Stops | RunRole::Replaces => as_recorded(turns, was, came),
            _ => None,
        };
        if let Some((weight, says)) = found {
            let seen = Seen { golden: Some(was.record), observed: Some(came.record) };
            let difference = Difference::new(weight, "", format!("the answer to `{}` {says}", command.wire));
            findings.difference(checks::ORDER_BETWEEN_STREAMS, seen, difference);
        }
    }
}

/// Checks that a command that is answered at once is answered before its run begins.
fn before_its_run(turns: &Turns, sent: usize, was: &Frame, came: &Frame) -> Option<(Weight, String)> {
    let (begun, begins) = turns.after(sent, begins)?;
    (was.record < begun && came.record > begins)
        .then(|| (Weight::Must, "stands behind the beginning of its run".to_owned()))
}

/// Checks that a command that is answered on completion is answered after its run ends.
fn behind_its_end(turns: &Turns, sent: usize, was: &Frame, came: &Frame) -> Option<(Weight, String)> {
    let (ended, end) = turns.after(sent, ends)?;
    (was.record > ended && came.record < end)
        .then(|| (Weight::Must, "stands before the end of its run".to_owned()))
}

/// Checks that a command that ends a run is answered on the recorded side of that end.
fn as_recorded(turns: &Turns, was: &Frame, came: &Frame) -> Option<(Weight, String)> {
    if let Some((_, end)) = turns.before(was.record, ends)
        && came.record < end
    {
        return Some((
            Weight::Case,
            "stands before the end of the run, behind which it was recorded".to_owned(),
        ));
    }
    let (_, end) = turns.after(was.record, ends)?;
    (came.record > end)
        .then(|| (Weight::Case, "stands behind the end of the run, before which it was recorded".to_owned()))
}
