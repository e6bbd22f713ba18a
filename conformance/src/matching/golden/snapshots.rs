//! Checks of snapshots. A snapshot is the whole message so far, in an update of a growing message.
//!
//! Each snapshot must contain all pieces so far. It must be an earlier version of the next snapshot, and of
//! the complete message.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::declared;
use super::rules::Rules;
use super::tables::{Snapshots, Ty};
use super::transcript_streams::Frame;
use crate::matching::difference::{Difference, Weight, brief};
use crate::matching::path;

/// Findings about the snapshots of a transcript.
#[derive(Debug, Default)]
pub(super) struct SnapshotFindings {
    /// Number of events that may carry snapshots.
    pub(super) events: usize,
    /// Number of snapshots at each path that may have one.
    pub(super) carried: Vec<usize>,
    /// Wrong snapshots: the record of each, and the difference.
    pub(super) wrong: Vec<(usize, Difference)>,
    /// For each such path: records of events without a snapshot there.
    pub(super) lacking: Vec<Vec<usize>>,
}

struct SnapshotChecker<'a> {
    row: &'static Snapshots,
    /// Snapshots of the growing message: record, path, value.
    open: Vec<(usize, &'static str, &'a Value)>,
    /// Text of the pieces so far, by kind and index of the content block.
    pieces: HashMap<(String, u64), String>,
    findings: SnapshotFindings,
}

/// Checks the snapshots of a transcript.
pub(super) fn check(rules: &Rules, events: &[Frame]) -> SnapshotFindings {
    let Some(row) = &rules.tables.matching.snapshots else { return SnapshotFindings::default() };
    let count = row.within.len();
    let found = SnapshotFindings {
        carried: vec![0; count],
        lacking: vec![Vec::new(); count],
        ..SnapshotFindings::default()
    };
    let mut growing = SnapshotChecker { row, open: Vec::new(), pieces: HashMap::new(), findings: found };
    for event in events {
        let message = event.value.get(row.message);
        if event.name == row.begins && message.is_some_and(|message| grows(row, message)) {
            growing.close(None);
        } else if event.name == row.grows {
            growing.event(event);
        } else if event.name == row.ends
            && let Some(message) = message.filter(|message| grows(row, message))
        {
            growing.close(Some(message));
        }
    }
    growing.close(None);
    growing.findings
}

/// Returns `true` if the message is of the growing kind.
pub(super) fn grows(row: &Snapshots, message: &Value) -> bool {
    let def = Rules::named(row.record);
    let members = message.as_object();
    def.zip(members).is_some_and(|(def, members)| {
        Rules::record(&Ty::Named(row.record), members).is_some_and(|found| found.name == def.name)
            && declared_tags_fit(row, members)
    })
}

fn declared_tags_fit(row: &Snapshots, members: &Map<String, Value>) -> bool {
    let Some(def) = Rules::named(row.record) else { return false };
    let super::tables::Shape::Record { constants, .. } = def.shape else { return false };
    constants.iter().all(|(name, constant)| match constant {
        super::tables::Constant::String(text) => members.get(*name).and_then(Value::as_str) == Some(text),
        super::tables::Constant::Boolean(flag) => members.get(*name).and_then(Value::as_bool) == Some(*flag),
    })
}

impl<'a> SnapshotChecker<'a> {
    fn event(&mut self, event: &'a Frame) {
        let row = self.row;
        self.findings.events += 1;
        let kind = path::get(&event.value, row.kind).and_then(Value::as_str).unwrap_or_default();
        let block = path::get(&event.value, row.block).and_then(Value::as_u64);
        if let (Some(piece), Some(block)) =
            (path::get(&event.value, row.piece).and_then(Value::as_str), block)
        {
            self.pieces.entry((kind.to_owned(), block)).or_default().push_str(piece);
        }
        for (at, within) in row.within.iter().enumerate() {
            let Some(snapshot) = path::get(&event.value, within) else {
                self.findings.lacking[at].push(event.record);
                continue;
            };
            self.findings.carried[at] += 1;
            if let Some((inside, says)) = declared::type_mismatch(&Ty::Named(row.record), snapshot) {
                self.add_wrong(event.record, format!("{within}{inside}"), says, Weight::Must);
            }
            if let Some(block) = block
                && let Some(says) = self.missing_pieces(kind, block, snapshot)
            {
                self.add_wrong(event.record, format!("{within}.{}[{block}]", row.blocks), says, Weight::Must);
            }
            self.open.push((event.record, within, snapshot));
        }
    }

    fn add_wrong(&mut self, record: usize, path: String, message: String, weight: Weight) {
        self.findings.wrong.push((record, Difference::new(weight, path, message)));
    }

    /// Returns a description of the error if a snapshot does not contain all pieces so far.
    fn missing_pieces(&self, kind: &str, block: u64, snapshot: &Value) -> Option<String> {
        let (_, member) = self.row.texts.iter().find(|(of, _)| *of == kind)?;
        let pieces = self.pieces.get(&(kind.to_owned(), block))?;
        let blocks = snapshot.get(self.row.blocks)?.as_array()?;
        let Some(text) =
            blocks.get(usize::try_from(block).ok()?).and_then(|block| block.get(member)?.as_str())
        else {
            return Some("the growing block is missing".to_owned());
        };
        (!text.starts_with(pieces.as_str()))
            .then(|| format!("it differs from the pieces so far: {}", super::text::unequal(pieces, text)))
    }

    /// Compares each snapshot with the next one. Compares the last snapshot with the complete message, if it
    /// is known.
    fn close(&mut self, message: Option<&'a Value>) {
        let open = std::mem::take(&mut self.open);
        self.pieces.clear();
        for (at, (record, within, snapshot)) in open.iter().enumerate() {
            let next = open[at + 1..].iter().find(|(_, place, _)| place == within);
            let next = next.map(|(_, _, next)| (*next, "the next snapshot"));
            let Some((later, what)) = next.or(message.map(|message| (message, "the complete message")))
            else {
                continue;
            };
            let mut found = Vec::new();
            earlier(self.row, snapshot, later, &mut String::new(), &mut found);
            for (path, says) in found {
                self.add_wrong(
                    *record,
                    format!("{within}{path}"),
                    format!("it is not an earlier version of {what}: {says}"),
                    Weight::Case,
                );
            }
        }
    }
}

/// Collects the reasons why the value `early` is not an earlier version of `late`.
pub(super) fn earlier(
    row: &Snapshots,
    early: &Value,
    late: &Value,
    at: &mut String,
    found: &mut Vec<(String, String)>,
) {
    match (early, late) {
        (Value::Object(early), Value::Object(late)) => {
            let count = early.len();
            for (place, (name, value)) in early.iter().enumerate() {
                let length = at.len();
                at.push('.');
                at.push_str(name);
                member(row, name, value, late, place + 1 == count, at, found);
                at.truncate(length);
            }
        }
        (Value::Array(early), Value::Array(late)) => {
            if early.len() > late.len() {
                found.push((at.clone(), format!("{} elements before {}", early.len(), late.len())));
            }
            for (place, (early, late)) in early.iter().zip(late).enumerate() {
                let length = at.len();
                at.push_str(&format!("[{place}]"));
                earlier(row, early, late, at, found);
                at.truncate(length);
            }
        }
        (Value::String(early), Value::String(late)) => {
            if !late.starts_with(early.as_str()) {
                found.push((at.clone(), super::text::unequal(late, early)));
            }
        }
        (Value::Number(was), Value::Number(is)) => {
            if was.as_f64() > is.as_f64().map(|number| number + 1e-9) {
                found.push((at.clone(), format!("{was} before {is}")));
            }
        }
        _ if early == late => {}
        _ => found.push((at.clone(), format!("{} before {}", brief(early), brief(late)))),
    }
}

fn member(
    row: &Snapshots,
    name: &str,
    value: &Value,
    late: &Map<String, Value>,
    is_last: bool,
    at: &mut String,
    found: &mut Vec<(String, String)>,
) {
    if row.loose.contains(&name) {
        return;
    }
    let until = row.until.iter().find(|(of, _)| *of == name);
    match late.get(name) {
        Some(later) if row.steady.contains(&name) => {
            if value != later {
                found.push((at.clone(), format!("{} before {}", brief(value), brief(later))));
            }
        }
        Some(_)
            if until.is_some_and(|(_, before)| {
                serde_json::from_str(before).is_ok_and(|before: Value| before == *value)
            }) => {}
        Some(later) => earlier(row, value, later, at, found),
        // The name of the last argument may still be incomplete.
        None if is_last && late.keys().any(|later| later.starts_with(name)) => {}
        None => found.push((at.clone(), "missing later".to_owned())),
    }
}
