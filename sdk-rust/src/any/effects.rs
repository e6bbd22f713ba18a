//! Effects of a dialect's rules on a conversation, independent of their names.

use crate::view::meaning::{Reducer, Rule, Source};

/// An effect: the act, and the text that distinguishes kinds of the act.
pub(super) type Effect = (Reducer, String);

/// Returns the effect of a command. A command causes only requested compactions.
pub(super) fn of_command((act, kind): Effect) -> Effect {
    match act {
        Reducer::Compacting | Reducer::Compacted => (act, REQUESTED.to_owned()),
        act => (act, kind),
    }
}

/// The kind of a compaction that a client requested.
const REQUESTED: &str = "asked";

/// The kind of the output of a running tool.
pub(super) const TOOL_OUTPUT: &str = "output";

/// Returns the effects of a rule: its act, with the constant that distinguishes kinds.
pub(super) fn effects(rule: &Rule) -> Vec<Effect> {
    let kind = |slot: &str| match rule.slots.get(slot) {
        Some(Source::Is { is }) => is.as_str().unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    match rule.act {
        Reducer::Piece | Reducer::Block => vec![(rule.act, kind("type"))],
        Reducer::Ask => vec![(rule.act, kind("kind"))],
        Reducer::Entry => vec![(rule.act, kind("in"))],
        Reducer::Retry => vec![(rule.act, kind("reason"))],
        Reducer::Notice => vec![(rule.act, kind("text"))],
        Reducer::Tool if rule.slots.contains_key(TOOL_OUTPUT) => vec![(rule.act, TOOL_OUTPUT.to_owned())],
        // Each assigned member is an effect of its own.
        Reducer::Set | Reducer::Keep => rule.slots.keys().map(|slot| (Reducer::Set, slot.clone())).collect(),
        act => vec![(act, String::new())],
    }
}

/// Returns the acts with the same effect in a less direct form.
pub(super) fn fallback_reducers(act: Reducer) -> &'static [Reducer] {
    match act {
        Reducer::Begin | Reducer::Message => &[Reducer::Piece, Reducer::Snapshot, Reducer::End],
        Reducer::Snapshot => &[Reducer::Piece, Reducer::Block],
        Reducer::Piece => &[Reducer::Snapshot, Reducer::Block, Reducer::End],
        Reducer::Block => &[Reducer::Snapshot, Reducer::Piece, Reducer::End],
        Reducer::End => &[Reducer::Work],
        Reducer::Arrive => &[Reducer::Begin, Reducer::End],
        Reducer::Tool => &[Reducer::End],
        Reducer::Queue => &[Reducer::Waited],
        Reducer::Usage => &[Reducer::End],
        Reducer::Compacted | Reducer::Compacting => &[Reducer::Compacting, Reducer::Compacted],
        _ => &[],
    }
}
