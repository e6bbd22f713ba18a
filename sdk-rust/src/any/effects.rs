//! Effects of frames on a conversation, in a form that can be compared between dialects.

use crate::view::meaning::{Reducer, Rule, Source};

/// An effect: the reducer, and a text that distinguishes effects of the same reducer.
pub(super) type Effect = (Reducer, String);

/// Returns the effect in the form that it has if a command causes it. A compaction then counts as requested
/// by the client.
pub(super) fn of_command((reducer, kind): Effect) -> Effect {
    match reducer {
        Reducer::Compacting | Reducer::Compacted => (reducer, REQUESTED.to_owned()),
        reducer => (reducer, kind),
    }
}

/// The kind of a compaction that a client requested.
const REQUESTED: &str = "asked";

/// The kind of the output of a running tool.
pub(super) const TOOL_OUTPUT: &str = "output";

/// Returns the effects of a rule. Each effect has the reducer of the rule, and a constant of the rule that
/// distinguishes effects of this reducer.
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
        reducer => vec![(reducer, String::new())],
    }
}

/// Returns other reducers from whose effects the effect of this reducer can be derived.
pub(super) fn fallback_reducers(reducer: Reducer) -> &'static [Reducer] {
    match reducer {
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
