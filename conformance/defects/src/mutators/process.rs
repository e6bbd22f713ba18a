//! Mutators that let the agent end too early, in a wrong way, or not at all.

use super::whole_if;
use crate::{Effect, Group, Lookahead, Mutator};

const fn process(name: &'static str, description: &'static str, find: crate::EffectFinder) -> Mutator {
    Mutator::new(name, description, Group::Process, find)
}

pub(super) const ALL: &[Mutator] = &[
    process("ends-early", "the agent ends in the middle of its work, as if all were well", |_, at| {
        whole_if(at > 0, || Effect::Ends(0))
    }),
    process("crashes", "the agent ends in the middle of its work, with exit code 1", |_, at| {
        whole_if(at > 0, || Effect::Ends(1))
    }),
    process("says-nothing", "the agent never says anything and ends", |_, at| {
        whole_if(at == 0, || Effect::Ends(0))
    }),
    process("hangs", "the agent says nothing any more and does not end", |_, _| {
        whole_if(true, || Effect::Hangs)
    }),
    process("other-exit-code", "the agent says everything and ends with another exit code", |stream, at| {
        whole_if(stream.complete && at + 1 == stream.lines.len(), || Effect::Code(3))
    })
    .with_lookahead(Lookahead::All),
    process("does-not-end", "the agent says everything and does not end with its input", |stream, at| {
        whole_if(stream.complete && at + 1 == stream.lines.len(), || Effect::Stays)
    })
    .with_lookahead(Lookahead::All),
];
