//! Frames of a run after the client has stopped it.
//!
//! After some commands, the loss report permits two differences: a call that had not started has no events,
//! and a call that had started has another result.

use std::collections::BTreeSet;

use agentese::any::{RowFidelity, RowKind};
use agentese::types::Direction;
use agentese_conformance::transcript::{Record, Transcript};
use agentese_conformance::verdict::LineExcerpt;
use serde_json::Value;

use super::answers::{Blocks, HISTORY, text};
use super::paths::{self, in_answer, is_about, is_within};
use super::{Frame, LossReport};
use crate::front_output::matching;

/// Place that may differ: the calls of a stopped answer, and the empty answer at the end of the run.
const STOPPED: &str = "stopped";

/// Members with the id of the call that a frame is about.
const CALL: &[&str] = &["tool.callId", "message<tool>.callId"];

/// Part of a recording from a stop to the end of the stopped run.
struct StoppedSpan {
    from: usize,
    until: usize,
    calls: Calls,
}

/// Tool calls of a stopped run.
#[derive(Default)]
struct Calls {
    /// Calls that had started before the stop and had not ended.
    open: BTreeSet<String>,
    /// Calls that start only after the stop.
    unbegun: BTreeSet<String>,
}

impl LossReport {
    /// Returns `true` if the loss report allows that a frame of a stopped run differs or is missing.
    pub(super) fn is_of_a_stop(
        &self,
        record: usize,
        frames: &[Frame],
        path: &str,
        golden: &Transcript,
    ) -> bool {
        let stops = self.stops(golden);
        let Some(recorded) = frames.first().filter(|_| !stops.is_empty()) else { return false };
        let here = || stops.iter().find(|stop| (stop.from..stop.until).contains(&record));
        match (recorded.kind, frames) {
            (RowKind::Command, [recorded, came]) => {
                let behind = stops.iter().filter(|stop| stop.from < record).map(|stop| &stop.calls);
                let mut calls = Calls::default();
                for stop in behind {
                    calls.open.extend(stop.open.iter().cloned());
                    calls.unbegun.extend(stop.unbegun.iter().cloned());
                }
                is_within(HISTORY, &in_answer(path)) && lacks_only_stopped_parts(recorded, came, &calls)
            }
            (RowKind::Event, [recorded, came]) if path == "message.content" => {
                let about = self.calls(recorded);
                let is_result =
                    !about.is_empty() && here().is_some_and(|stop| about.is_subset(&stop.calls.open));
                let [was, now] = [recorded, came].map(|frame| Blocks::of(&frame.body["message"]));
                // An answer may precede the stop although its calls start after it.
                let is_unbegun = |call: &String| stops.iter().any(|stop| stop.calls.unbegun.contains(call));
                let lacking = was.calls.strip_prefix(&now.calls[..]).filter(|_| !now.calls.is_empty());
                let lacks = || lacking.is_some_and(|calls| calls.iter().all(is_unbegun));
                is_result || (was.others == now.others && lacks())
            }
            (RowKind::Event, [_]) => {
                let is_untold =
                    |stop: &StoppedSpan| self.may_be_missing_after_stop(recorded, &stop.calls.unbegun);
                path.is_empty() && here().is_some_and(is_untold)
            }
            _ => false,
        }
    }

    /// Returns `true` if the whole event may be missing after a stop.
    ///
    /// Such an event is about calls that had not started, or about the empty answer at the end of the run.
    /// An event without members from the agent may also be missing.
    fn may_be_missing_after_stop(&self, frame: &Frame, unbegun: &BTreeSet<String>) -> bool {
        let calls = self.calls(frame);
        let message = &frame.body["message"];
        let is_empty = message["content"].as_array().is_some_and(Vec::is_empty);
        let has_no_members = |row: &RowFidelity| row.members.is_empty() && row.missing_members.is_empty();
        (!calls.is_empty() && calls.is_subset(unbegun))
            || (message.is_object() && calls.is_empty() && is_empty)
            || (self.row_of(frame).is_some_and(has_no_members) && !self.ends_runs(&frame.row))
    }

    fn row_of(&self, frame: &Frame) -> Option<&RowFidelity> {
        self.row(frame.kind, &frame.row)
    }

    /// Returns the ids of the calls that an event is about.
    fn calls(&self, frame: &Frame) -> BTreeSet<String> {
        let members =
            self.row_of(frame).into_iter().flat_map(|row| row.members.iter().chain(&row.missing_members));
        let named = members.filter(|member| CALL.contains(&member.neutral.as_str()));
        let here = named.filter(|member| is_about(member, &member.path, &frame.body));
        here.filter_map(|member| Some(paths::at(&frame.body, &member.path, &[])?.as_str()?.to_owned()))
            .collect()
    }

    /// Returns the stops in a recording after which the loss report allows that frames are missing.
    fn stops(&self, golden: &Transcript) -> Vec<StoppedSpan> {
        let sent = self.sent(golden.records.len(), golden).filter(|sent| {
            let mut places = sent.row.differences.iter().filter(|differs| sent.is_busy || !differs.busy);
            places.any(|differs| differs.places.iter().any(|place| place == STOPPED))
        });
        let ends = self.run_ends(golden);
        let tools = matching(self.front).tools;
        let told = |row: &str, from: usize, until: usize| -> BTreeSet<String> {
            let records = golden.records.iter().enumerate().take(until).skip(from);
            let frames = records.filter_map(|(record, one)| {
                let Record::Received(line) = one else { return None };
                let shown = LineExcerpt { record, dir: Direction::S2c, line: line.as_str().to_owned() };
                self.frame(&shown, golden).filter(|frame| frame.kind == RowKind::Event && frame.row == row)
            });
            frames.flat_map(|frame| self.calls(&frame)).collect()
        };
        let stop = |from: usize| {
            let until = ends.iter().copied().find(|end| *end > from).unwrap_or(golden.records.len());
            let calls = tools.map(|tools| {
                let begun = told(tools.begins, 0, from);
                let ended = told(tools.ends, 0, from);
                let unbegun = told(tools.begins, from, until);
                Calls { open: &begun - &ended, unbegun: &unbegun - &begun }
            });
            StoppedSpan { from, until, calls: calls.unwrap_or_default() }
        };
        sent.map(|sent| stop(sent.place)).collect()
    }
}

/// Returns `true` if the messages of two answers differ only in effects of a stop. Effects are missing
/// calls that had not started, their missing results, other output of open calls, and empty answers.
fn lacks_only_stopped_parts(recorded: &Frame, came: &Frame, calls: &Calls) -> bool {
    let told = |frame: &Frame| -> Vec<Value> {
        let messages = frame.body["data"]["messages"].as_array().into_iter().flatten();
        let told = messages.filter_map(|message| {
            let of = message["toolCallId"].as_str().unwrap_or_default();
            let is_empty = message["content"].as_array().is_some_and(Vec::is_empty);
            let is_answer = message["role"] == "assistant";
            if calls.unbegun.contains(of) || (is_answer && is_empty) {
                return None;
            }
            let blocks = Blocks::of(message);
            let begun = blocks.calls.into_iter().filter(|call| !calls.unbegun.contains(call));
            let gave = if calls.open.contains(of) { String::new() } else { text(message) };
            Some(serde_json::json!([message["role"], of, gave, begun.collect::<Vec<_>>()]))
        });
        told.collect()
    };
    let (was, now) = (told(recorded), told(came));
    !was.is_empty() && was == now
}
