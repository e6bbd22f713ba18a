//! Required order of frames that belong to different streams.

use agentese::spec::{AnswerTiming, RunEffect, RunRole};

use super::events::JoinedEvent;
use super::findings::{Findings, RecordPair, checks};
use super::pairing::{self, AnswerPairing};
use super::rules::Rules;
use super::transcript_streams::{Frame, TranscriptStreams};
use crate::matching::difference::{Difference, Weight};

/// Paired events that affect a run: the record in the golden transcript, the record in the observed one, and
/// the effect.
pub(super) struct RunEvents {
    events: Vec<(usize, usize, RunEffect)>,
}

impl RunEvents {
    pub(super) fn new(
        rules: &Rules,
        golden: &[JoinedEvent],
        observed: &[JoinedEvent],
        pairs: &[(usize, usize)],
    ) -> Self {
        let turns = pairs.iter().filter_map(|(expected, actual)| {
            let effect = rules.spec.event(&golden[*expected].name)?.run;
            (effect != RunEffect::None).then_some((
                golden[*expected].record,
                observed[*actual].record,
                effect,
            ))
        });
        let mut events: Vec<_> = turns.collect();
        events.sort_unstable_by_key(|(record, ..)| *record);
        Self { events }
    }

    fn after(&self, record: usize, is: impl Fn(RunEffect) -> bool) -> Option<(usize, usize)> {
        let from = self.events.partition_point(|(at, ..)| *at < record);
        self.events[from..]
            .iter()
            .find(|(.., effect)| is(*effect))
            .map(|(expected, actual, _)| (*expected, *actual))
    }

    fn before(&self, record: usize, is: impl Fn(RunEffect) -> bool) -> Option<(usize, usize)> {
        let to = self.events.partition_point(|(at, ..)| *at < record);
        self.events[..to]
            .iter()
            .rev()
            .find(|(.., effect)| is(*effect))
            .map(|(expected, actual, _)| (*expected, *actual))
    }
}

fn starts_run(effect: RunEffect) -> bool {
    effect == RunEffect::Begins
}

fn ends_run(effect: RunEffect) -> bool {
    matches!(
        effect,
        RunEffect::MayEnd
            | RunEffect::Ends
            | RunEffect::MayEndUnless(_)
            | RunEffect::MayEndIf(_)
            | RunEffect::HoldsIf(_)
    )
}

/// Compares the order of answers and events. The declaration of each command determines the rule.
pub(super) fn compare(
    rules: &Rules,
    golden: &TranscriptStreams<'_>,
    observed: &TranscriptStreams<'_>,
    pairing: &AnswerPairing,
    run_events: &RunEvents,
    findings: &mut Findings<'_>,
) {
    for answer in &observed.answers {
        let sent = answer.id.as_ref().and_then(|id| observed.by_id(id));
        // A JSON-RPC answer to an unreadable line has the id null.
        let is_null = answer.value.get("id").is_some_and(serde_json::Value::is_null);
        if !is_null && sent.is_some_and(|sent| answer.record < sent.record) {
            let records = RecordPair { golden: None, observed: Some(answer.record) };
            let message = format!("the answer to `{}` precedes its command", answer.name);
            findings.difference(
                checks::ORDER_BETWEEN_STREAMS,
                records,
                Difference::new(Weight::Must, "", message),
            );
        }
    }
    for (expected, actual) in &pairing.pairs {
        let (expected, actual) = (&golden.answers[*expected], &observed.answers[*actual]);
        let Some(sent) = pairing::command_of(golden, expected) else { continue };
        let Some(command) = sent.command.as_deref().and_then(|name| rules.spec.command(name)) else {
            continue;
        };
        if !(pairing::is_success(expected) && pairing::is_success(actual)) {
            continue;
        }
        let found = match command.run {
            RunRole::Starts if rules.spec.run_end.answer_ends => {
                after_its_run(run_events, sent.record, expected, actual)
            }
            RunRole::Starts if command.answer != AnswerTiming::Done => {
                before_its_run(run_events, sent.record, expected, actual)
            }
            RunRole::Stops | RunRole::Replaces => as_recorded(run_events, expected, actual),
            _ => None,
        };
        if let Some((weight, message)) = found {
            let records = RecordPair { golden: Some(expected.record), observed: Some(actual.record) };
            let difference =
                Difference::new(weight, "", format!("the answer to `{}` {message}", command.wire));
            findings.difference(checks::ORDER_BETWEEN_STREAMS, records, difference);
        }
    }
}

/// Checks the order for a command that is answered at once: the answer precedes the start of the run.
fn before_its_run(
    run_events: &RunEvents,
    sent: usize,
    expected: &Frame,
    actual: &Frame,
) -> Option<(Weight, String)> {
    let (begun, begins) = run_events.after(sent, starts_run)?;
    (expected.record < begun && actual.record > begins)
        .then(|| (Weight::Must, "follows the start of its run".to_owned()))
}

/// Checks the order for a command that is answered on completion: the answer follows the end of the run.
fn after_its_run(
    run_events: &RunEvents,
    sent: usize,
    expected: &Frame,
    actual: &Frame,
) -> Option<(Weight, String)> {
    let (ended, end) = run_events.after(sent, ends_run)?;
    (expected.record > ended && actual.record < end)
        .then(|| (Weight::Must, "precedes the end of its run".to_owned()))
}

/// Checks the order for a command that ends a run. The answer must precede or follow that end, as in the
/// recording.
fn as_recorded(run_events: &RunEvents, expected: &Frame, actual: &Frame) -> Option<(Weight, String)> {
    if let Some((_, end)) = run_events.before(expected.record, ends_run)
        && actual.record < end
    {
        return Some((
            Weight::Case,
            "precedes the end of the run, but follows it in the recording".to_owned(),
        ));
    }
    let (_, end) = run_events.after(expected.record, ends_run)?;
    (actual.record > end)
        .then(|| (Weight::Case, "follows the end of the run, but precedes it in the recording".to_owned()))
}
