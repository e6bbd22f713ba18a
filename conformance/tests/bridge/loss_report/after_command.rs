//! Differences that the loss report permits in the answer to a command, or after it. The report names the
//! places that may differ: parts of the conversation.

use std::collections::BTreeSet;

use agentese::any::{Difference, RowFidelity, RowKind};
use agentese::framing::FrameText;
use agentese::route::{RoutedFrame, route};
use agentese::spec::{RunEffect, RunRole};
use agentese::types::Direction;
use agentese_conformance::transcript::{Record, Transcript};
use agentese_conformance::verdict::{LineExcerpt, Mismatch};
use serde_json::Value;

use super::lines::{command, sends_any};
use super::paths::{self, in_answer, is_about, is_within};
use super::{Frame, LossReport, REQUESTS, SCENARIO};

/// Name of the check of the order between answers and events.
const ORDER_BETWEEN_STREAMS: &str = "order-between-streams";

/// Place that may differ: the positions of the user's messages among the other messages, and the number of
/// turns.
pub const ORDER: &str = "order";
const OF_USER: &str = "message<user>";
/// Members about tool calls and their results. Events with such a member must be neither missing nor
/// additional, but their order may differ.
const OF_CALLS: &[&str] = &["tool.", "message<assistant>", "message<tool>"];

/// Place that may differ: the number and the content of the answers to the user's input. Another check
/// compares the answers with the model script.
const ANSWERS: &str = "answers";
/// Place that may differ: the message about a shell command of the user, which may be missing.
const SHELLS: &str = "shells";

/// Place that may differ: the tool calls of each answer.
const CALLS: &str = "calls";

/// Place that may differ: all events of a run, up to its end.
pub(super) const EVENTS: &str = "events";
/// Place that may differ: a run that the agent starts without a command, after an automatic compaction.
pub const CONTINUED_RUN: &str = "goesOn";
/// Members about an automatic compaction; `OF_SUMMARY` are the members of its summary.
const COMPACTED: &str = "Compacted";
const OF_SUMMARY: &str = "message<summary>";
/// Place of all messages in answers; `MESSAGES` are the members of these messages, and their number.
const HISTORY: &str = "history";
const MESSAGES: &[&str] = &["message", "Count.messages"];

/// Returns `true` if the run may have ended after an event with this effect.
fn may_end(effect: RunEffect) -> bool {
    !matches!(effect, RunEffect::None | RunEffect::Begins | RunEffect::Holds | RunEffect::HoldsIf(_))
}

impl LossReport {
    /// Returns `true` if the difference follows a command after which the loss report permits it. A
    /// frame that is not in the recording has its position from the observed session.
    pub(super) fn is_allowed_after_command(
        &self,
        check: &str,
        mismatch: &Mismatch,
        golden: &Transcript,
    ) -> bool {
        // The last frame shows only why the case broke off.
        if check == SCENARIO {
            return false;
        }
        // No difference excuses a request that lacks input of the user.
        if check == REQUESTS {
            return false;
        }
        // The frame of an expectation is not in the recording, so the found frame determines the position.
        let recorded = mismatch.expected.as_ref().filter(|_| !check.starts_with("expect "));
        let places = match (recorded, &mismatch.found, &self.observed) {
            (Some(shown), ..) => self.allowed_from(shown.record, golden),
            (None, Some(shown), Some(observed)) => self.allowed_from(shown.record, observed),
            _ => self.allowed_anywhere(golden),
        };
        if check == ORDER_BETWEEN_STREAMS {
            return [ORDER, EVENTS].iter().any(|place| places.contains(place))
                || (places.contains(CONTINUED_RUN) && self.follows_automatic_run(mismatch, golden));
        }
        let shown = || [&mismatch.expected, &mismatch.found].into_iter().flatten();
        let frames: Vec<Frame> = shown().filter_map(|shown| self.frame(shown, golden)).collect();
        let Some(frame) = frames.first() else { return false };
        if frame.kind == RowKind::Event {
            let ends = mismatch.path.is_empty() && self.ends_runs(&frame.row);
            if self.breaks_off_earlier(frame, mismatch, golden) {
                return true;
            }
            if !ends && places.contains(ANSWERS) && self.is_of_answers(frame, &mismatch.path) {
                return true;
            }
            let found = mismatch.found.as_ref().map_or(0, |shown| shown.record);
            if places.contains(CALLS) && frames.len() == 2 && self.lacks_calls(&frames, found, &mismatch.path)
            {
                return true;
            }
            let is_in_order =
                places.contains(ORDER) && frames.iter().any(|one| self.is_of_order(one, &mismatch.path));
            if !ends && (places.contains(EVENTS) || is_in_order) {
                return true;
            }
        }
        if let Some(shown) = &mismatch.expected
            && self.is_of_a_stop(shown.record, &frames, &mismatch.path, golden)
        {
            return true;
        }
        if let ([recorded, came], RowKind::Command) = (&frames[..], frame.kind) {
            let of_shells = |one: &SentCommand<'_>| {
                let mut places = one.row.differences.iter().flat_map(|differs| &differs.places);
                let came = self.observed.as_ref().and_then(|observed| self.has_succeeded(one.line, observed));
                // A command that failed in the recording too left no message there.
                places.any(|place| place == SHELLS)
                    && came == Some(false)
                    && self.has_succeeded(one.line, golden) != Some(false)
            };
            let at_most = mismatch
                .expected
                .as_ref()
                .map_or(0, |shown| self.sent(shown.record, golden).filter(of_shells).count());
            if self.lacks_shells(at_most, (recorded, came), &mismatch.path) {
                return true;
            }
        }
        if frame.kind == RowKind::Command
            && places.contains(ANSWERS)
            && self.has_other_answers(&frames, &mismatch.path)
        {
            return true;
        }
        let Some(row) = self.row(frame.kind, &frame.row).filter(|_| !mismatch.path.is_empty()) else {
            return false;
        };
        let is_answer = frame.kind == RowKind::Command;
        let path = if is_answer { in_answer(&mismatch.path) } else { mismatch.path.clone() };
        let is_other = |neutral: &str| {
            let is_within = |place: &&str| is_within(place, neutral);
            (is_answer && places.contains(HISTORY) && MESSAGES.iter().any(is_within))
                || places.iter().any(is_within)
        };
        let mut about = row.members.iter().filter(|member| is_about(member, &path, &frame.body)).peekable();
        about.peek().is_some() && about.all(|member| is_other(&member.neutral))
    }

    /// Returns `true` if the loss report permits that the agent accepts or rejects a command by its own
    /// rules. If the answer names no command, any command of the session may be the rejected one.
    pub(super) fn is_refused_otherwise(
        &self,
        row: Option<&RowFidelity>,
        sent: Option<&str>,
        golden: &Transcript,
    ) -> bool {
        self.sent(golden.records.len(), golden).any(|one| {
            let is_it =
                row.is_none_or(|row| std::ptr::eq(row, one.row)) && sent.is_none_or(|sent| sent == one.line);
            let refuses = |differs: &&Difference| {
                differs.refuses
                    && (one.is_busy || !differs.busy)
                    && (differs.with.is_empty() || sends_any(one.line, &differs.with))
            };
            is_it && one.row.differences.iter().any(|differs| refuses(&differs))
        })
    }

    /// Returns `true` if an event with this name may end a run. Such an event must not be missing, even if
    /// its content differs.
    pub(super) fn ends_runs(&self, event: &str) -> bool {
        self.front.event(event).is_some_and(|spec| may_end(spec.run))
    }

    /// Returns `true` if the event may be moved or missing because the agent reads the user's input at
    /// another time.
    ///
    /// Such an event contains a message of the user. A whole event may also be moved if it contains neither
    /// an answer nor a call.
    fn is_of_order(&self, frame: &Frame, path: &str) -> bool {
        let Some(row) = self.row(frame.kind, &frame.row) else { return false };
        let is_of = |place: &str| {
            row.members.iter().any(|member| {
                member.neutral.starts_with(place) && is_about(member, &member.path, &frame.body)
            })
        };
        is_of(OF_USER) || (path.is_empty() && !OF_CALLS.iter().any(|place| is_of(place)))
    }

    /// Returns `true` if the loss report permits other answers to some input of the recording.
    pub fn moves_answers(&self, golden: &Transcript) -> bool {
        self.allowed_anywhere(golden).contains(ANSWERS)
    }

    /// Returns the places that may differ at a position of a session.
    pub(super) fn allowed_from<'a>(&'a self, place: usize, session: &'a Transcript) -> BTreeSet<&'a str> {
        let over = self.run_ends(session);
        self.allowed_places(session, |place_sent, one| {
            let is_still = one != EVENTS || !over.iter().any(|end| (place_sent..place).contains(end));
            place_sent < place && is_still
        })
    }

    /// Returns `true` if the frame is an answer that follows the start of a run, because the agent began the
    /// run without a command.
    ///
    /// The agent had compacted the conversation before that run. The client had sent no command that begins a
    /// run in between.
    fn follows_automatic_run(&self, mismatch: &Mismatch, golden: &Transcript) -> bool {
        let (Some(shown), Some(observed)) = (&mismatch.expected, &self.observed) else { return false };
        let Some(frame) = self.frame(shown, golden) else { return false };
        let starts = |name: &str| self.front.command(name).is_some_and(|row| row.run == RunRole::Starts);
        if frame.kind != RowKind::Command || !starts(&frame.row) {
            return false;
        }
        let answer = id_of(&FrameText::from(shown.line.as_str()));
        // `works`: a run is active. `is_requested`: the client has requested a run that has not started.
        // `has_compacted`: a compaction has ended since the last run.
        let (mut works, mut is_requested, mut has_compacted) = (false, false, false);
        for record in &observed.records {
            match record {
                Record::Sent(line) if command(line.as_str()).is_some_and(|name| starts(&name)) => {
                    is_requested = true;
                }
                Record::Received(line) if answer.is_some() && id_of(line) == answer => return false,
                Record::Received(line) => {
                    let Ok(RoutedFrame::Event { kind, .. }) = route(self.front, line) else { continue };
                    let Some(run) = kind.spec().map(|spec| spec.run) else { continue };
                    if self.has_summary(line, observed) {
                        has_compacted |= !works;
                    } else if run == RunEffect::Begins {
                        if !works && !is_requested && has_compacted {
                            return true;
                        }
                        (works, is_requested, has_compacted) = (true, false, false);
                    } else if may_end(run) && works {
                        (works, has_compacted) = (false, false);
                    }
                }
                Record::Sent(_) | Record::Control(_) => {}
            }
        }
        false
    }

    /// Returns `true` if the event contains the summary of an automatic compaction.
    fn has_summary(&self, line: &FrameText, session: &Transcript) -> bool {
        let shown = LineExcerpt { record: 0, dir: Direction::S2c, line: line.as_str().to_owned() };
        let Some(frame) = self.frame(&shown, session) else { return false };
        let Some(row) = self.row(RowKind::Event, &frame.row) else { return false };
        let members = || row.members.iter();
        members().any(|member| is_within(COMPACTED, &member.neutral))
            && members()
                .filter(|member| is_within(OF_SUMMARY, &member.neutral))
                .any(|member| paths::at(&frame.body, &member.path, &[]).is_some_and(|told| !told.is_null()))
    }

    /// Returns `true` if the command succeeded, and `false` if it failed. Returns `None` if there is no
    /// answer with the command's id.
    fn has_succeeded(&self, sent: &str, session: &Transcript) -> Option<bool> {
        let id = id_of(&FrameText::from(sent))?;
        session.records.iter().find_map(|record| match record {
            Record::Received(line) => match route(self.front, line) {
                Ok(RoutedFrame::Answer { success, .. }) if id_of(line).as_ref() == Some(&id) => Some(success),
                _ => None,
            },
            _ => None,
        })
    }

    /// Returns the places that may differ at some position of the recording.
    fn allowed_anywhere<'a>(&'a self, golden: &'a Transcript) -> BTreeSet<&'a str> {
        self.allowed_places(golden, |_, _| true)
    }

    fn allowed_places<'a>(
        &'a self,
        golden: &'a Transcript,
        is_there: impl Fn(usize, &str) -> bool,
    ) -> BTreeSet<&'a str> {
        let sent = self.sent(golden.records.len(), golden);
        let told = sent.flat_map(|sent| {
            let counts = move |differs: &&Difference| sent.is_busy || !differs.busy;
            let differs = sent.row.differences.iter().filter(counts);
            differs.flat_map(|differs| &differs.places).map(move |one| (sent.place, one.as_str()))
        });
        told.filter(|(place, one)| is_there(*place, one)).map(|(_, one)| one).collect()
    }

    /// Returns the positions of the events in a recording that may end a run.
    pub(super) fn run_ends(&self, golden: &Transcript) -> Vec<usize> {
        let ends = |record: &Record| match record {
            Record::Received(line) => self.may_end_a_run(line),
            _ => false,
        };
        let records = golden.records.iter().enumerate();
        records.filter(|(_, record)| ends(record)).map(|(place, _)| place).collect()
    }

    fn may_end_a_run(&self, line: &FrameText) -> bool {
        match route(self.front, line) {
            Ok(RoutedFrame::Event { kind, .. }) => kind.spec().is_some_and(|spec| may_end(spec.run)),
            _ => false,
        }
    }

    /// Returns the commands before a position of the recording.
    pub(super) fn sent<'a>(
        &'a self,
        place: usize,
        golden: &'a Transcript,
    ) -> impl Iterator<Item = SentCommand<'a>> {
        // `began` is the id of the command that started the active run.
        let (mut is_busy, mut began) = (false, None);
        golden.records.iter().enumerate().take(place).filter_map(move |(place, record)| match record {
            Record::Sent(line) => {
                let name = command(line.as_str())?;
                let sent = SentCommand {
                    place,
                    line: line.as_str(),
                    row: self.row(RowKind::Command, &name)?,
                    is_busy,
                };
                if !is_busy && self.front.command(&name).is_some_and(|row| row.run == RunRole::Starts) {
                    (is_busy, began) = (true, id_of(line));
                }
                Some(sent)
            }
            Record::Received(line) => {
                // A rejected command starts no run.
                let is_refused = match route(self.front, line) {
                    Ok(RoutedFrame::Answer { success: false, .. }) => began.is_some() && id_of(line) == began,
                    _ => false,
                };
                is_busy &= !is_refused && !self.may_end_a_run(line);
                None
            }
            Record::Control(_) => None,
        })
    }
}

/// A command of the client.
#[derive(Clone, Copy)]
pub(super) struct SentCommand<'a> {
    pub(super) place: usize,
    line: &'a str,
    /// Entry of the command in the loss report.
    pub(super) row: &'a RowFidelity,
    /// `true` if a run was active when the client sent the command.
    pub(super) is_busy: bool,
}

fn id_of(line: &FrameText) -> Option<Value> {
    serde_json::from_str::<Value>(line.as_str()).ok()?.get("id").filter(|id| !id.is_null()).cloned()
}

#[cfg(test)]
mod tests;
