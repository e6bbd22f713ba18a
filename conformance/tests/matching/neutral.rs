//! Tests that changes without a meaning pass: the order of members, white space, the boundaries of pieces,
//! other generated names.

use std::collections::HashMap;

use agentese_conformance::Suite;
use agentese_conformance::transcript::{Record, Transcript};
use regex::Regex;
use serde_json::{Map, Value};

use crate::support::{DIALECTS, compared_in, failure_lines};

/// Applies a change to each golden transcript and compares the result with the original. The comparison must
/// pass.
fn passes(change: impl Fn(&str, &Transcript) -> Transcript) {
    let suite = Suite::embedded();
    let mut changed = 0;
    for dialect in DIALECTS {
        for case in suite.cases(dialect).unwrap() {
            let Some(golden) = suite.golden(dialect, &case.name).unwrap() else { continue };
            let observed = change(&serde_json::to_string(&case).unwrap(), &golden);
            changed += usize::from(observed.records != golden.records);
            let compared = compared_in(dialect, &case, &golden, &observed);
            assert_eq!(failure_lines(&compared), Vec::<String>::new(), "{dialect}/{}", case.name);
        }
    }
    assert!(changed > 80, "only {changed} transcripts were changed");
}

fn map(transcript: &Transcript, change: impl Fn(&str) -> String) -> Transcript {
    let mut changed = transcript.clone();
    for record in &mut changed.records {
        if let Record::Received(line) = record {
            *line = change(line.as_str()).into();
        }
    }
    changed
}

fn reversed(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: Vec<_> = members.into_iter().collect();
            Value::Object(
                members.into_iter().rev().map(|(name, value)| (name, reversed(value))).collect::<Map<_, _>>(),
            )
        }
        Value::Array(values) => Value::Array(values.into_iter().map(reversed).collect()),
        other => other,
    }
}

#[test]
fn the_order_of_members_is_free() {
    passes(|_, golden| {
        map(golden, |line| {
            // The name of an incomplete argument is recognised only as the last member, so such lines are
            // not reordered.
            if line.contains("partialJson") || line.contains("partialArgs") {
                return line.to_owned();
            }
            serde_json::from_str(line).map_or_else(|_| line.to_owned(), |value| reversed(value).to_string())
        })
    });
}

#[test]
fn white_space_is_free() {
    passes(|_, golden| {
        map(golden, |line| match serde_json::from_str::<Value>(line) {
            Ok(value) => serde_json::to_string_pretty(&value).unwrap().replace('\n', " "),
            Err(_) => line.to_owned(),
        })
    });
}

#[test]
fn names_that_agents_make_up_are_free() {
    let names = Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").unwrap();
    passes(|case, golden| {
        let mut known: HashMap<String, String> = HashMap::new();
        let mut text = |line: &str| {
            let renamed = names.replace_all(line, |found: &regex::Captures<'_>| {
                let name = found[0].to_owned();
                if case.contains(&name) {
                    return name;
                }
                let number = known.len() + 1;
                known
                    .entry(name)
                    .or_insert_with(|| format!("{number:08x}-0000-4000-8000-{number:012x}"))
                    .clone()
            });
            renamed.into_owned()
        };
        let mut changed = golden.clone();
        for record in &mut changed.records {
            match record {
                Record::Received(line) | Record::Sent(line) => *line = text(line.as_str()).into(),
                Record::Control(_) => {}
            }
        }
        changed
    });
}

/// Splits each piece in two. The first half keeps the snapshot with the complete piece, because agents may
/// send a newer snapshot.
#[test]
fn the_number_of_pieces_is_free() {
    passes(|_, golden| {
        let mut changed = golden.clone();
        changed.records.clear();
        for record in &golden.records {
            let halves = match record {
                Record::Received(line) => halves(line.as_str()),
                _ => None,
            };
            match halves {
                Some(halves) => changed.records.extend(halves.map(|line| Record::Received(line.into()))),
                None => changed.records.push(record.clone()),
            }
        }
        changed
    });
}

fn halves(line: &str) -> Option<[String; 2]> {
    let frame: Value = serde_json::from_str(line).ok()?;
    let at = ["/assistantMessageEvent/delta", "/params/delta"]
        .into_iter()
        .find(|at| frame.pointer(at).is_some())?;
    let piece = frame.pointer(at)?.as_str()?;
    let middle = piece.char_indices().nth(piece.chars().count() / 2)?.0;
    let half = |text: &str| {
        let mut frame = frame.clone();
        *frame.pointer_mut(at)? = text.into();
        Some(frame.to_string())
    };
    Some([half(&piece[..middle])?, half(&piece[middle..])?])
}
