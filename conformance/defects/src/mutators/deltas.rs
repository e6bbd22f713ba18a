//! Mutators for the growth of messages.

use serde_json::json;

use super::{Effects, edit, put, whole, whole_if};
use crate::change::with_end;
use crate::place::{Edit, Place, edited, span};
use crate::stream::Stream;
use crate::{Effect, Group, Lookahead, Mutator};

const fn deltas(name: &'static str, description: &'static str, find: crate::EffectFinder) -> Mutator {
    Mutator::new(name, description, Group::Deltas, find)
}

pub(super) const ALL: &[Mutator] = &[
    deltas("piece-lost", "a piece of a message does not come", |stream, at| {
        whole_if(stream.piece(at).is_some(), || Effect::Bytes(Vec::new()))
    }),
    deltas("piece-twice", "a piece of a message comes twice", |stream, at| {
        whole_if(stream.piece(at).is_some(), || Effect::Bytes(with_end(&stream.lines[at].text).repeat(2)))
    }),
    deltas("pieces-swapped", "two pieces of a message come in the wrong order", |stream, at| {
        let next = at + 1;
        let swapped = || {
            let (one, other) = (stream.piece(at)?, stream.piece(next)?);
            (format!("{one}{other}") != format!("{other}{one}")).then_some(())
        };
        whole_if(next < stream.lines.len() && swapped().is_some(), || Effect::Behind(next))
    })
    .with_lookahead(Lookahead::Next),
    deltas("piece-of-another-block", "a piece says that it belongs to another block", |stream, at| {
        let block = stream.piece(at).and_then(|_| stream.grows(at)).map(|row| stream.within(at, row.block));
        let number = block.and_then(|place| Some((place.of(&stream.lines[at].frame)?.as_u64()?, place)));
        number
            .map(|(number, place)| put(&place, if number == 0 { 1 } else { number - 1 }))
            .into_iter()
            .collect()
    }),
    deltas("snapshot-behind", "the message so far lacks the newest piece", snapshot_behind),
    deltas("snapshot-empty", "the message so far is empty", |stream, at| {
        let Some(row) = stream.grows(at) else { return Vec::new() };
        let lists = stream.snapshots(at).into_iter().map(|place| place.member(row.blocks));
        // Before the first piece of a text, an empty message is not a defect.
        let has_text = stream.text_so_far(at).is_some_and(|(text, _)| !text.is_empty());
        let full = |place: &Place| {
            place
                .of(&stream.lines[at].frame)
                .and_then(|list| list.as_array())
                .is_some_and(|list| !list.is_empty())
        };
        lists.filter(|place| has_text && full(place)).map(|place| put(&place, "[]")).collect()
    }),
    deltas(
        "snapshot-lost",
        "one piece comes without the message so far, and others with it",
        |stream, at| {
            let others = (0..stream.lines.len())
                .filter(|other| *other != at)
                .any(|other| !stream.snapshots(other).is_empty());
            let places = stream.snapshots(at).into_iter().filter(|_| others);
            places.map(|place| edit(&place, Edit::Remove)).collect()
        },
    ),
    deltas("snapshot-of-another", "the message so far is that of an earlier message", |stream, at| {
        let Some(row) = stream.grows(at) else { return Vec::new() };
        // There must be some text before, because an empty message is an earlier version of every message.
        let Some((text, _)) = stream.text_so_far(at).filter(|(text, _)| !text.is_empty()) else {
            return Vec::new();
        };
        stream
            .snapshots(at)
            .into_iter()
            .filter_map(|place| {
                let mut earlier = (0..at).rev().filter_map(|earlier| {
                    let other = place.of(&stream.lines[earlier].frame)?;
                    let told = other.get(row.blocks)?.to_string();
                    (!told.contains(text.as_str())
                        && other.get(row.blocks)?.as_array().is_some_and(|list| !list.is_empty()))
                    .then(|| other.to_string())
                });
                Some(put(&place, earlier.next()?))
            })
            .collect()
    }),
];

/// Removes the newest piece, and everything after it, from the growing text in all snapshots of the event.
fn snapshot_behind(stream: &Stream, at: usize) -> Effects {
    let (Some(row), Some(piece)) = (stream.grows(at), stream.piece(at)) else { return Vec::new() };
    let Some((text, member)) = stream.text_so_far(at) else { return Vec::new() };
    let Some(block) =
        stream.within(at, row.block).of(&stream.lines[at].frame).and_then(|block| block.as_u64())
    else {
        return Vec::new();
    };
    let Ok(block) = usize::try_from(block) else { return Vec::new() };
    let behind = text.strip_suffix(piece).unwrap_or_default();
    let mut line = stream.lines[at].text.clone();
    for place in stream.snapshots(at) {
        let place = place.member(row.blocks).item(block).member(member);
        if span(&line, &place).is_some() {
            line = edited(&line, &place, &Edit::Put(json!(behind).to_string())).unwrap_or(line);
        }
    }
    if line == stream.lines[at].text { Vec::new() } else { whole(Effect::Bytes(with_end(&line))) }
}
