//! What is told of a run behind its stop, where the report says that calls which had not begun are told nowhere.

use std::collections::BTreeSet;

use agentese::any::{RowFate, RowKind};
use agentese::types::Direction;
use agentese_conformance::transcript::{Record, Transcript};
use agentese_conformance::verdict::Shown;
use serde_json::Value;

use super::answers::{Blocks, said};
use super::paths::{self, in_answer, is_about, is_within};
use super::{Frame, Report};

/// What is told of calls that a stopped run had not begun, and the answer without words that ends such a run.
const STOPPED: &str = "stopped";

/// Where frames name the call that they are about.
const CALL: &[&str] = &["tool.callId", "message<tool>.callId"];

/// Where answers have messages.
const HISTORY: &str = "data.messages";

/// A part of a recording: from a stop to the end of the run that it stops.
struct Stop {
    from: usize,
    until: usize,
    /// The calls that began before it and end behind it.
    open: BTreeSet<String>,
    /// Those that begin behind it.
    unbegun: BTreeSet<String>,
}

impl Report {
    /// Whether a frame differs, or is missing, as the report says of a run that is stopped.
    pub(super) fn is_of_a_stop(
        &self,
        record: usize,
        frames: &[Frame],
        path: &str,
        golden: &Transcript,
    ) -> bool {
        let stops = self.stops(golden);
        let unbegun: BTreeSet<&String> = stops.iter().flat_map(|stop| &stop.unbegun).collect();
        let Some(recorded) = frames.first().filter(|_| !stops.is_empty()) else { return false };
        match (recorded.kind, frames) {
            (RowKind::Command, [recorded, came]) => {
                let is_behind = stops.iter().any(|stop| stop.from < record);
                is_behind && lacks_the_stopped(recorded, came, &in_answer(path), &unbegun)
            }
            // An answer whose calls had not begun.
            (RowKind::Event, [recorded, came])
                if self.row_of(recorded).is_some() && path == "message.content" =>
            {
                let calls = self.calls(recorded);
                let of =
                    |stop: &Stop| (stop.from..stop.until).contains(&record) && calls.is_subset(&stop.open);
                let is_result = !calls.is_empty() && stops.iter().any(of);
                let [was, now] = [recorded, came].map(|frame| Blocks::of(&frame.body["message"]));
                let lacks = || {
                    was.calls.strip_prefix(&now.calls[..]).is_some_and(|lacking| {
                        !now.calls.is_empty() && lacking.iter().all(|call| unbegun.contains(call))
                    })
                };
                is_result || (was.others == now.others && lacks())
            }
            (RowKind::Event, [_]) => {
                let is_here = stops.iter().any(|stop| (stop.from..stop.until).contains(&record));
                is_here && path.is_empty() && self.is_untold_behind_a_stop(recorded, &unbegun)
            }
            _ => false,
        }
    }

    /// Whether a whole event is about calls that had not begun, about the answer without words that ends the run, or about a turn.
    fn is_untold_behind_a_stop(&self, frame: &Frame, unbegun: &BTreeSet<&String>) -> bool {
        let calls = self.calls(frame);
        let message = &frame.body["message"];
        let is_empty = message["content"].as_array().is_some_and(Vec::is_empty);
        let tells_nothing = |row: &RowFate| row.members.is_empty() && row.untold.is_empty();
        (!calls.is_empty() && calls.iter().all(|call| unbegun.contains(call)))
            || (message.is_object() && calls.is_empty() && is_empty)
            || (self.row_of(frame).is_some_and(tells_nothing) && !self.ends_runs(&frame.row))
    }

    fn row_of(&self, frame: &Frame) -> Option<&RowFate> {
        self.row(frame.kind, &frame.row)
    }

    /// The calls that an event names as what it is about.
    fn calls(&self, frame: &Frame) -> BTreeSet<String> {
        let members = self.row_of(frame).into_iter().flat_map(|row| row.members.iter().chain(&row.untold));
        let named = members.filter(|member| CALL.contains(&member.neutral.as_str()));
        let here = named.filter(|member| is_about(member, &member.path, &frame.body));
        here.filter_map(|member| Some(paths::at(&frame.body, &member.path, &[])?.as_str()?.to_owned()))
            .collect()
    }

    /// The stops in a recording of which the report says that less is told.
    fn stops(&self, golden: &Transcript) -> Vec<Stop> {
        let sent = self.sent(golden.records.len(), golden).filter(|sent| {
            let mut places = sent.row.differs.iter().filter(|differs| sent.is_busy || !differs.busy);
            places.any(|differs| differs.places.iter().any(|place| place == STOPPED))
        });
        let ends = self.run_ends(golden);
        let named = |from: usize, until: usize| -> BTreeSet<String> {
            let records = golden.records.iter().enumerate().take(until).skip(from);
            let frames = records.filter_map(|(record, one)| {
                let Record::Received(line) = one else { return None };
                let shown = Shown { record, dir: Direction::S2c, line: line.as_str().to_owned() };
                self.frame(&shown, golden).filter(|frame| frame.kind == RowKind::Event)
            });
            frames.flat_map(|frame| self.calls(&frame)).collect()
        };
        let stop = |from: usize| {
            let until = ends.iter().copied().find(|end| *end > from).unwrap_or(golden.records.len());
            let (before, behind) = (named(0, from), named(from, until));
            Stop {
                from,
                until,
                open: behind.intersection(&before).cloned().collect(),
                unbegun: behind.difference(&before).cloned().collect(),
            }
        };
        sent.map(|sent| stop(sent.place)).collect()
    }
}

/// Whether the messages of an answer, recorded and as it came, differ in results of calls that had not begun, in what the calls
/// that were open gave, and in answers without words.
fn lacks_the_stopped(recorded: &Frame, came: &Frame, path: &str, unbegun: &BTreeSet<&String>) -> bool {
    let told = |frame: &Frame| {
        let messages = frame.body["data"]["messages"].as_array()?;
        let is_told = |message: &&Value| {
            let blocks = message["content"].as_array();
            let is_unbegun =
                message["toolCallId"].as_str().is_some_and(|call| unbegun.iter().any(|one| *one == call));
            !is_unbegun && (message["role"] != "assistant" || blocks.is_none_or(|blocks| !blocks.is_empty()))
        };
        Some(said(messages.iter().filter(is_told), &BTreeSet::from(["toolResult"])))
    };
    is_within(HISTORY, path)
        && !unbegun.is_empty()
        && told(recorded).is_some()
        && told(recorded) == told(came)
}
