//! Frames that come at the wrong time.

use agentese::spec::{Answer, RunRole};

use super::frames::{begins, ends};
use super::{Effects, whole_if};
use crate::stream::{Role, Stream};
use crate::{Effect, Group, Mutator, Sees};

const fn order(name: &'static str, says: &'static str, find: crate::Find) -> Mutator {
    Mutator::new(name, says, Group::Order, find).seeing(Sees::Next)
}

pub(super) const ALL: &[Mutator] = &[
    order("swap-events", "two events of one stream come in the wrong order", |stream, at| {
        behind_next(stream, at, |stream, at, next| {
            neighbours(stream, at, next) && !begins(stream, at) && !ends(stream, next)
        })
    }),
    order("start-after-event", "a run begins behind its first event", |stream, at| {
        behind_next(stream, at, |stream, at, next| begins(stream, at) && neighbours(stream, at, next))
    }),
    order("event-after-end", "the last event of a run comes behind its end", |stream, at| {
        behind_next(stream, at, |stream, at, next| ends(stream, next) && neighbours(stream, at, next))
    }),
    order("answer-after-events", "a run begins before the answer that it was accepted", |stream, at| {
        behind_next(stream, at, |stream, at, next| {
            starts_run(stream, at, &[Answer::Accepted, Answer::Acknowledged]) && begins(stream, next)
        })
    }),
    order("end-after-answer", "a run ends behind the answer that it is done", |stream, at| {
        behind_next(stream, at, |stream, at, next| {
            ends(stream, at) && stream.spec.run_end.answer_ends && starts_run(stream, next, &[Answer::Done])
        })
    }),
    order("swap-dialogs", "two questions come in the wrong order", |stream, at| {
        behind_next(stream, at, |stream, at, next| {
            [at, next].iter().all(|at| stream.said[*at].role == Role::Dialog)
        })
    }),
    order("event-at-exit", "an event comes when everything else is over", late).seeing(Sees::All),
    order("answer-at-exit", "an answer comes when everything else is over", |stream, at| {
        let comes_later =
            |later: usize| stream.said[later].is_answer() || stream.said[later].after > stream.said[at].after;
        let applies = stream.said[at].is_answer() && (at + 1..stream.said.len()).any(comes_later);
        whole_if(stream.complete && applies && asked_later(stream, at), || Effect::Last)
    })
    .seeing(Sees::All),
];

/// Returns `true` if the client sent a line after this one.
fn asked_later(stream: &Stream, at: usize) -> bool {
    stream.said[at].after < stream.asked.len()
}

fn late(stream: &Stream, at: usize) -> Effects {
    let applies = stream.complete
        && stream.said[at].is_event()
        && !stream.is_piece(at)
        && (at + 1..stream.said.len()).any(|later| neighbours(stream, at, later) && !stream.is_piece(later));
    whole_if(applies, || Effect::Last)
}

fn behind_next(stream: &Stream, at: usize, applies: fn(&Stream, usize, usize) -> bool) -> Effects {
    let next = at + 1;
    let differ = stream.said.get(next).is_some_and(|other| other.line != stream.said[at].line);
    whole_if(differ && applies(stream, at, next), || Effect::Behind(next))
}

/// Returns `true` for two events of one stream whose order is compared.
fn neighbours(stream: &Stream, at: usize, next: usize) -> bool {
    stream.in_order(at, next)
}

/// Returns `true` for a successful answer to a command that starts a run, if the command is answered in one
/// of `ways`.
fn starts_run(stream: &Stream, at: usize, ways: &[Answer]) -> bool {
    let Role::Answer { command: Some(command), success: true } = &stream.said[at].role else { return false };
    let spec = stream.spec.command(command);
    spec.is_some_and(|spec| spec.run == RunRole::Starts && ways.contains(&spec.answer))
}
