//! Preparation of events for the comparison: pieces of a streamed text are joined, partial outputs of tools
//! are removed, and the rest is aligned.

use std::collections::HashMap;

use serde_json::Value;

use super::align::Alignment;
use super::rules::Rules;
use super::tools;
use super::transcript_streams::Frame;
use crate::matching::path;

/// One event, or several consecutive events with pieces of one text, joined.
#[derive(Debug)]
pub(super) struct JoinedEvent {
    /// Index of the first event's record.
    pub(super) record: usize,
    /// Number of joined events.
    pub(super) lines: usize,
    pub(super) name: String,
    /// The event without snapshots.
    pub(super) value: Value,
    /// Texts of the pieces so far; `None` if the event contains no piece.
    pieces: Option<Vec<String>>,
}

/// Prepares the events of a transcript for the comparison.
pub(super) fn prepare(
    rules: &Rules,
    events: &[Frame],
    overlapping: &std::collections::HashSet<String>,
) -> Vec<JoinedEvent> {
    let matching = &rules.tables.matching;
    let shows = matching.tools.as_ref().and_then(|tools| tools.shows.as_ref()).map(|shows| shows.event);
    let mut items: Vec<JoinedEvent> = Vec::with_capacity(events.len());
    for at in tools::parallel_order(rules, events, overlapping) {
        let event = &events[at];
        if shows == Some(event.name.as_str()) {
            continue;
        }
        let snapshots =
            matching.snapshots.as_ref().filter(|row| row.grows == event.name).map(|row| row.within);
        let value = path::without(&event.value, snapshots.unwrap_or_default());
        let mut item =
            JoinedEvent { record: event.record, lines: 1, name: event.name.clone(), value, pieces: None };
        take_pieces(rules, &mut item);
        if let Some(last) = items.last_mut()
            && joins(last, &item)
        {
            join(last, item);
        } else {
            items.push(item);
        }
    }
    items.iter_mut().for_each(|item| restore_pieces(rules, item));
    items
}

fn take_pieces(rules: &Rules, item: &mut JoinedEvent) {
    let Some(delta) = rules.tables.matching.deltas.iter().find(|delta| delta.event == item.name) else {
        return;
    };
    let texts = path::all(&item.value, delta.text);
    if texts.is_empty() || !texts.iter().all(|text| text.is_string()) {
        return;
    }
    let mut pieces = Vec::new();
    path::change(&mut item.value, delta.text, &mut |text| {
        if let Value::String(text) = text {
            pieces.push(std::mem::take(text));
        }
    });
    item.pieces = Some(pieces);
}

fn joins(last: &JoinedEvent, item: &JoinedEvent) -> bool {
    let (Some(before), Some(pieces)) = (&last.pieces, &item.pieces) else { return false };
    last.name == item.name && before.len() == pieces.len() && last.value == item.value
}

fn join(last: &mut JoinedEvent, item: JoinedEvent) {
    last.lines += item.lines;
    let Some(before) = &mut last.pieces else { return };
    for (text, piece) in before.iter_mut().zip(item.pieces.into_iter().flatten()) {
        text.push_str(&piece);
    }
}

fn restore_pieces(rules: &Rules, item: &mut JoinedEvent) {
    let Some(pieces) = item.pieces.take() else { return };
    let Some(delta) = rules.tables.matching.deltas.iter().find(|delta| delta.event == item.name) else {
        return;
    };
    let mut pieces = pieces.into_iter();
    path::change(&mut item.value, delta.text, &mut |text| {
        if let Some(piece) = pieces.next() {
            *text = Value::String(piece);
        }
    });
}

/// Returns the mark of an event, which distinguishes it from other events of its type. If `finely` is
/// `true`, the mark includes values that some agents omit.
pub(super) fn mark(rules: &Rules, item: &JoinedEvent, finely: bool) -> String {
    let matching = &rules.tables.matching;
    let fine = matching.fine_event_keys.iter().filter(|_| finely);
    let paths = matching.event_keys.iter().chain(fine);
    let marks = paths.filter_map(|mark| path::get(&item.value, mark)).filter(|value| !value.is_object());
    marks.fold(item.name.clone(), |mark, value| format!("{mark} {value}"))
}

/// Returns a title of an event for messages: its type, and its identifying texts in brackets.
pub(super) fn title(rules: &Rules, item: &JoinedEvent) -> String {
    let marks = rules.tables.matching.event_keys.iter();
    let texts: Vec<&str> = marks.filter_map(|mark| path::get(&item.value, mark)?.as_str()).collect();
    match texts.as_slice() {
        [] => format!("`{}`", item.name),
        texts => format!("`{}` ({})", item.name, texts.join(", ")),
    }
}

/// Pairs a missing event with an additional one that differs only in one identifying value. Such a pair is
/// the same frame with a wrong member. Returns the pairs, each with the path of the wrong member.
pub(super) fn pair_near_events(
    rules: &Rules,
    expected: &[JoinedEvent],
    actual: &[JoinedEvent],
    alignment: &mut Alignment,
) -> Vec<(usize, usize, &'static str)> {
    let matching = &rules.tables.matching;
    let marks: Vec<&'static str> = matching.event_keys.iter().chain(matching.stream_keys).copied().collect();
    let of = |item: &'_ JoinedEvent, mark: &str| {
        path::get(&item.value, mark).filter(|value| !value.is_object()).map(Value::to_string)
    };
    // Agents choose the names of concurrent streams. The aligned events show which names correspond.
    let mut names: HashMap<(&str, String), Option<String>> = HashMap::new();
    for (g, o) in &alignment.pairs {
        for mark in matching.stream_keys {
            if let Some(name) = of(&expected[*g], mark) {
                names.entry((mark, name)).or_insert_with(|| of(&actual[*o], mark));
            }
        }
    }
    let named = |item: &JoinedEvent, mark: &'static str| {
        let own = of(item, mark)?;
        names.get(&(mark, own.clone())).cloned().unwrap_or(Some(own))
    };
    let only = |expected: &JoinedEvent, actual: &JoinedEvent| {
        let differ = |mark: &&&'static str| named(expected, mark) != of(actual, mark);
        let first = *marks.iter().find(differ).filter(|_| expected.name == actual.name)?;
        let parent = first.rsplit_once('.').map(|(parent, _)| parent);
        // The object that contains the value may be missing as a whole.
        let gone = parent.filter(|parent| path::get(&actual.value, parent).is_none());
        let follows = |mark: &&str| gone.is_some_and(|parent| mark.starts_with(&format!("{parent}.")));
        if marks.iter().filter(differ).any(|mark| *mark != first && !follows(mark)) {
            return None;
        }
        // If the content differs as well, the two may be unrelated frames.
        let others = marks.iter().any(|mark| *mark != first && of(expected, mark).is_some());
        (others || alike(expected, actual, first)).then_some(gone.unwrap_or(first))
    };
    let mut found = Vec::new();
    alignment.missing.retain(|g| {
        let pair = alignment
            .extra
            .iter()
            .enumerate()
            .find_map(|(at, o)| Some((at, only(&expected[*g], &actual[*o])?)));
        let Some((at, mark)) = pair else { return true };
        found.push((*g, alignment.extra.remove(at), mark));
        false
    });
    found
}

/// Returns `true` if at least half of the values are equal, apart from the value at `mark`.
fn alike(expected: &JoinedEvent, actual: &JoinedEvent, mark: &str) -> bool {
    let without = |item: &JoinedEvent| path::without(&item.value, &[mark]);
    let (mut alike, mut other) = (0, 0);
    count(&without(expected), &without(actual), &mut alike, &mut other);
    alike >= other
}

/// Counts the equal and the unequal values at corresponding places.
fn count(expected: &Value, actual: &Value, alike: &mut usize, other: &mut usize) {
    match (expected, actual) {
        (Value::Object(was), Value::Object(came)) => {
            for (name, value) in was {
                match came.get(name) {
                    Some(found) => count(value, found, alike, other),
                    None => *other += 1,
                }
            }
        }
        (Value::Array(was), Value::Array(came)) if was.len() == came.len() => {
            was.iter().zip(came).for_each(|(was, came)| count(was, came, alike, other));
        }
        _ if expected == actual => *alike += 1,
        _ => *other += 1,
    }
}

/// Events in a fixed order, which may be interleaved with the events of other concurrent streams.
pub(super) struct ConcurrentStream {
    /// For each stream key of the dialect: `true` if the events of this stream contain it.
    pub(super) marked: Vec<bool>,
    /// Indexes of the events, in order.
    pub(super) places: Vec<usize>,
}

/// Returns the concurrent streams of events, ordered by their first events.
pub(super) fn concurrent_streams(rules: &Rules, items: &[JoinedEvent]) -> Vec<ConcurrentStream> {
    let mut streams: Vec<(Vec<Option<String>>, Vec<usize>)> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let of = |path: &&str| path::get(&item.value, path).map(Value::to_string);
        let key: Vec<_> = rules.tables.matching.stream_keys.iter().map(of).collect();
        match streams.iter_mut().find(|(of, _)| *of == key) {
            Some((_, stream)) => stream.push(at),
            None => streams.push((key, vec![at])),
        }
    }
    let stream = |(marks, places): (Vec<Option<String>>, _)| ConcurrentStream {
        marked: marks.iter().map(Option::is_some).collect(),
        places,
    };
    streams.into_iter().map(stream).collect()
}
