//! Neutral changes that send the same text in more or fewer pieces.

use serde_json::{Value, json};

use crate::place::{Edit, Place, edited};
use crate::stream::Stream;

/// Joins some neighbouring pieces of one text.
pub(super) fn joined(stream: &Stream, rng: &mut fastrand::Rng) -> Option<Vec<Vec<String>>> {
    let mut lines: Vec<Vec<String>> = stream.lines.iter().map(|said| vec![said.text.clone()]).collect();
    // Text of the previous piece, if it is joined with this one.
    let mut before = String::new();
    for (at, line) in lines.iter_mut().enumerate() {
        let (Some(place), Some(piece)) = (stream.piece_place(at), stream.piece(at)) else { continue };
        let text = std::mem::take(&mut before) + piece;
        if at + 1 < stream.lines.len() && are_of_one_text(stream, at, at + 1) && rng.bool() {
            line.clear();
            before = text;
        } else if text != piece {
            *line = vec![put(&stream.lines[at].text, &place, &text)?];
        }
    }
    Some(lines)
}

/// Splits some pieces in two.
pub(super) fn split(stream: &Stream, rng: &mut fastrand::Rng) -> Option<Vec<Vec<String>>> {
    let lines = (0..stream.lines.len()).map(|at| {
        let line = &stream.lines[at].text;
        let (Some(place), Some(piece)) = (stream.piece_place(at), stream.piece(at)) else {
            return Some(vec![line.clone()]);
        };
        let count = piece.chars().count();
        if count < 2 || rng.u8(0..4) == 0 {
            return Some(vec![line.clone()]);
        }
        let end = piece.char_indices().nth(rng.usize(1..count))?.0;
        let (first, second) = piece.split_at(end);
        let early = without_end(stream, at, second).unwrap_or_else(|| line.clone());
        Some(vec![put(&early, &place, first)?, put(line, &place, second)?])
    });
    lines.collect()
}

/// Returns `true` if two neighbouring lines carry pieces of the same text. Such lines differ only in the
/// piece and the message so far.
fn are_of_one_text(stream: &Stream, at: usize, next: usize) -> bool {
    let rest = |at: usize| -> Option<Value> {
        let mut frame = stream.lines[at].frame.clone();
        stream.piece(at)?;
        let places = stream.snapshots(at).into_iter().chain(stream.piece_place(at));
        for place in places {
            let value = place.0.iter().try_fold(&mut frame, |value, step| match step {
                crate::place::PathStep::Member(name) => value.get_mut(name),
                crate::place::PathStep::Item(item) => value.get_mut(item),
            })?;
            *value = Value::Null;
        }
        Some(frame)
    };
    stream.lines[at].after == stream.lines[next].after && rest(at).is_some() && rest(at) == rest(next)
}

/// Returns the line with shorter snapshots: their text ends before `second`, the second half of the piece.
/// Returns `None` if a snapshot does not end exactly with the piece.
fn without_end(stream: &Stream, at: usize, second: &str) -> Option<String> {
    let row = stream.grows(at)?;
    let (text, member) = stream.text_so_far(at)?;
    let frame = &stream.lines[at].frame;
    let block = usize::try_from(stream.within(at, row.block).of(frame)?.as_u64()?).ok()?;
    let mut line = stream.lines[at].text.clone();
    for place in stream.snapshots(at) {
        let place = place.member(row.blocks).item(block).member(member);
        let early = text.strip_suffix(second)?;
        // Some agents send snapshots that are ahead of their pieces, and a snapshot must never become
        // shorter.
        let before = (0..at).rev().find_map(|before| place.of(&stream.lines[before].frame)?.as_str());
        let is_ahead = before.is_some_and(|before| !early.starts_with(before) && text.starts_with(before));
        if place.of(frame)?.as_str()? != text || is_ahead {
            return None;
        }
        line = put(&line, &place, early)?;
    }
    Some(line)
}

fn put(line: &str, place: &Place, text: &str) -> Option<String> {
    edited(line, place, &Edit::Put(json!(text).to_string()))
}
