//! Mutators that move frames.

use agentese::spec::{AnswerTiming, RunRole};

use super::frames::{is_run_end, is_run_start};
use super::{Effects, whole_if};
use crate::stream::{Role, Stream};
use crate::{Effect, Group, Lookahead, Mutator};

const fn order(name: &'static str, description: &'static str, find: crate::EffectFinder) -> Mutator {
    Mutator::new(name, description, Group::Order, find).with_lookahead(Lookahead::Next)
}

pub(super) const ALL: &[Mutator] = &[
    order("swap-events", "two events of one stream come in the wrong order", |stream, at| {
        behind_next(stream, at, |stream, at, next| {
            neighbours(stream, at, next) && !is_run_start(stream, at) && !is_run_end(stream, next)
        })
    }),
    order("start-after-event", "a run begins behind its first event", |stream, at| {
        behind_next(stream, at, |stream, at, next| is_run_start(stream, at) && neighbours(stream, at, next))
    }),
    order("event-after-end", "the last event of a run comes behind its end", |stream, at| {
        behind_next(stream, at, |stream, at, next| is_run_end(stream, next) && neighbours(stream, at, next))
    }),
    order("answer-after-events", "a run begins before the answer that it was accepted", |stream, at| {
        behind_next(stream, at, |stream, at, next| {
            starts_run(stream, at, &[AnswerTiming::Accepted, AnswerTiming::Acknowledged])
                && is_run_start(stream, next)
        })
    }),
    order("end-after-answer", "a run ends behind the answer that it is done", |stream, at| {
        behind_next(stream, at, |stream, at, next| {
            is_run_end(stream, at)
                && stream.spec.run_end.answer_ends
                && starts_run(stream, next, &[AnswerTiming::Done])
        })
    }),
    order("swap-dialogs", "two questions come in the wrong order", |stream, at| {
        behind_next(stream, at, |stream, at, next| {
            [at, next].iter().all(|at| stream.lines[*at].role == Role::Dialog)
        })
    }),
    order("event-at-exit", "an event comes when everything else is over", late)
        .with_lookahead(Lookahead::All),
    order("answer-at-exit", "an answer comes when everything else is over", |stream, at| {
        let comes_later = |later: usize| {
            stream.lines[later].is_answer() || stream.lines[later].after > stream.lines[at].after
        };
        let applies = stream.lines[at].is_answer() && (at + 1..stream.lines.len()).any(comes_later);
        whole_if(stream.complete && applies && client_sends_later(stream, at), || Effect::Last)
    })
    .with_lookahead(Lookahead::All),
];

/// Returns `true` if the client sent a line after this one.
fn client_sends_later(stream: &Stream, at: usize) -> bool {
    stream.lines[at].after < stream.client_lines.len()
}

fn late(stream: &Stream, at: usize) -> Effects {
    let applies = stream.complete
        && stream.lines[at].is_event()
        && !stream.is_piece(at)
        && (at + 1..stream.lines.len()).any(|later| neighbours(stream, at, later) && !stream.is_piece(later));
    whole_if(applies, || Effect::Last)
}

fn behind_next(stream: &Stream, at: usize, applies: fn(&Stream, usize, usize) -> bool) -> Effects {
    let next = at + 1;
    let differ = stream.lines.get(next).is_some_and(|other| other.text != stream.lines[at].text);
    whole_if(differ && applies(stream, at, next), || Effect::Behind(next))
}

/// Returns `true` if the matcher compares the order of two events.
fn neighbours(stream: &Stream, at: usize, next: usize) -> bool {
    stream.in_order(at, next)
}

/// Returns `true` for a successful answer to a command that starts a run. `ways` lists the accepted moments
/// of the answer.
fn starts_run(stream: &Stream, at: usize, ways: &[AnswerTiming]) -> bool {
    let Role::Answer { command: Some(command), success: true } = &stream.lines[at].role else { return false };
    let spec = stream.spec.command(command);
    spec.is_some_and(|spec| spec.run == RunRole::Starts && ways.contains(&spec.answer))
}
