//! Effects of a dialect's rules on a conversation, independent of their names.

use crate::view::meaning::{Act, Rule, Source};

/// An effect: the act, and the text that distinguishes kinds of the act.
pub(super) type Effect = (Act, String);

/// Returns the effect of a command. A command causes only requested compactions.
pub(super) fn when_asked((act, kind): Effect) -> Effect {
    match act {
        Act::Compacting | Act::Compacted => (act, ASKED.to_owned()),
        act => (act, kind),
    }
}

/// The kind of a compaction that a client requested.
const ASKED: &str = "asked";

/// The kind of the output of a running tool.
pub(super) const SHOWN: &str = "output";

/// Returns the effects of a rule: its act, with the constant that distinguishes kinds.
pub(super) fn effects(rule: &Rule) -> Vec<Effect> {
    let kind = |slot: &str| match rule.slots.get(slot) {
        Some(Source::Is { is }) => is.as_str().unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    match rule.act {
        Act::Piece | Act::Block => vec![(rule.act, kind("type"))],
        Act::Ask => vec![(rule.act, kind("kind"))],
        Act::Entry => vec![(rule.act, kind("in"))],
        Act::Retry => vec![(rule.act, kind("reason"))],
        Act::Notice => vec![(rule.act, kind("text"))],
        Act::Tool if rule.slots.contains_key(SHOWN) => vec![(rule.act, SHOWN.to_owned())],
        // Each assigned member is an effect of its own.
        Act::Set | Act::Keep => rule.slots.keys().map(|slot| (Act::Set, slot.clone())).collect(),
        act => vec![(act, String::new())],
    }
}

/// Returns the acts with the same effect in a less direct form.
pub(super) fn instead(act: Act) -> &'static [Act] {
    match act {
        Act::Begin | Act::Message => &[Act::Piece, Act::Snapshot, Act::End],
        Act::Snapshot => &[Act::Piece, Act::Block],
        Act::Piece => &[Act::Snapshot, Act::Block, Act::End],
        Act::Block => &[Act::Snapshot, Act::Piece, Act::End],
        Act::End => &[Act::Work],
        Act::Arrive => &[Act::Begin, Act::End],
        Act::Tool => &[Act::End],
        Act::Queue => &[Act::Waited],
        Act::Usage => &[Act::End],
        Act::Compacted | Act::Compacting => &[Act::Compacting, Act::Compacted],
        _ => &[],
    }
}
