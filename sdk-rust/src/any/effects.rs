//! What the rules of a dialect tell of a conversation, whatever they are called.

use crate::view::meaning::{Act, Rule, Source};

/// What an act tells, with what tells its kinds apart.
pub(super) type Effect = (Act, String);

/// What a command tells: of a compaction only that which was asked for.
pub(super) fn when_asked((act, kind): Effect) -> Effect {
    match act {
        Act::Compacting | Act::Compacted => (act, ASKED.to_owned()),
        act => (act, kind),
    }
}

/// The kind of a compaction that a client has asked for.
const ASKED: &str = "asked";

/// The kind of what a tool shows while it runs.
pub(super) const SHOWN: &str = "output";

/// What a rule tells: its act, with the constant that tells kinds apart.
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
        // Each member that is set is something told.
        Act::Set | Act::Keep => rule.slots.keys().map(|slot| (Act::Set, slot.clone())).collect(),
        act => vec![(act, String::new())],
    }
}

/// The acts that tell the same, if less directly.
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
