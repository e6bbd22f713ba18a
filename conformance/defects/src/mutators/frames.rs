//! Mutators that remove or repeat frames.

use agentese::spec::RunEffect;

use super::{Effects, is_frame, whole_if};
use crate::change::with_end;
use crate::stream::{Role, Stream};
use crate::{Effect, Group, Lookahead, Mutator};

const fn frames(name: &'static str, description: &'static str, find: crate::EffectFinder) -> Mutator {
    Mutator::new(name, description, Group::Frames, find)
}

pub(super) const ALL: &[Mutator] = &[
    frames("drop-answer", "an answer does not come", |stream, at| dropped(stream.lines[at].is_answer())),
    frames("drop-event", "an event does not come", |stream, at| {
        dropped(stream.lines[at].is_event() && !stream.is_piece(at))
    }),
    frames("drop-dialog", "a question or a notice does not come", |stream, at| {
        dropped(stream.lines[at].role == Role::Dialog)
    }),
    frames("drop-run-start", "the event with which a run begins does not come", |stream, at| {
        dropped(is_run_start(stream, at))
    }),
    frames("drop-run-end", "the event with which a run may end does not come", |stream, at| {
        dropped(is_run_end(stream, at))
    }),
    frames("drop-first", "the first frame does not come", |stream, at| {
        dropped(at == 0 && is_frame(&stream.lines[at]))
    }),
    frames("drop-last", "the last frame does not come", |stream, at| {
        dropped(
            stream.complete
                && at + 1 == stream.lines.len()
                && is_frame(&stream.lines[at])
                && !stream.is_piece(at),
        )
    })
    .with_lookahead(Lookahead::All),
    frames("twice-answer", "an answer comes twice", |stream, at| {
        twice(stream, at, stream.lines[at].is_answer())
    }),
    frames("twice-event", "an event comes twice", |stream, at| {
        twice(stream, at, stream.lines[at].is_event() && !stream.is_piece(at))
    }),
    frames("twice-dialog", "a question or a notice comes twice", |stream, at| {
        twice(stream, at, stream.lines[at].role == Role::Dialog)
    }),
];

/// Returns `true` if the line is an event that starts a run.
pub(super) fn is_run_start(stream: &Stream, at: usize) -> bool {
    stream.lines[at].event().is_some_and(|event| event.run == RunEffect::Begins)
}

/// Returns `true` if the line is an event that ends a run, or may end one.
pub(super) fn is_run_end(stream: &Stream, at: usize) -> bool {
    stream.lines[at].event().is_some_and(|event| matches!(event.run, RunEffect::MayEnd | RunEffect::Ends))
}

fn dropped(applies: bool) -> Effects {
    whole_if(applies, || Effect::Bytes(Vec::new()))
}

fn twice(stream: &Stream, at: usize, applies: bool) -> Effects {
    whole_if(applies, || Effect::Bytes(with_end(&stream.lines[at].text).repeat(2)))
}
