//! Messages that grow in a wrong way.

use super::super::{Group, Mutator};

const fn deltas(name: &'static str, says: &'static str, find: super::super::Find) -> Mutator {
    Mutator::new(name, says, Group::Deltas, find)
}

pub(super) const ALL: &[Mutator] = &[];
