//! What the report says is other behind a command, or with its answer.

use std::collections::BTreeSet;

use agentese::any::{Difference, RowFate, RowKind};
use agentese::framing::FrameText;
use agentese::route::{Routed, route};
use agentese::spec::{RunEffect, RunRole};
use agentese::types::Direction;
use agentese_conformance::transcript::{Record, Transcript};
use agentese_conformance::verdict::{Mismatch, Shown};
use serde_json::Value;

use super::lines::{command, sends_any};
use super::paths::{self, in_answer, is_about, is_within};
use super::{Frame, REQUESTS, Report, SCENARIO};

/// The check that answers stand before the events that they stood before, and behind those that they stood behind.
const BESIDE_EVENTS: &str = "order-between-streams";

/// Where words of the user stand among the other messages, and how many turns there are.
pub const ORDER: &str = "order";
const OF_USER: &str = "message<user>";
/// What comes of each call, whatever the order: such events are neither missing nor more.
const OF_CALLS: &[&str] = &["tool.", "message<assistant>", "message<tool>"];

/// How many answers follow words of the user, and which. That each is told whole is a check of its own.
const ANSWERS: &str = "answers";
/// Whether a shell command of the user leaves a message.
const SHELLS: &str = "shells";

/// In which answers calls stand.
const CALLS: &str = "calls";

/// All that events tell of a run, until it ends.
pub(super) const EVENTS: &str = "events";
/// Whether a run of the agent's own follows a summary that it makes by itself.
pub const GOES_ON: &str = "goesOn";
/// What tells of such a summary, and where it stands.
const COMPACTED: &str = "Compacted";
const OF_SUMMARY: &str = "message<summary>";
/// All that answers tell of messages, and where they tell of them.
const HISTORY: &str = "history";
const MESSAGES: &[&str] = &["message", "Count.messages"];

/// Whether a run may be over behind such an event.
fn may_end(effect: RunEffect) -> bool {
    !matches!(effect, RunEffect::None | RunEffect::Begins | RunEffect::Holds | RunEffect::HoldsIf(_))
}

impl Report {
    /// Whether a difference stands behind a command of which the report says that this is other from then on. What came
    /// beside the recording stands where it was observed.
    pub(super) fn is_other_behind(&self, check: &str, mismatch: &Mismatch, golden: &Transcript) -> bool {
        // What shows why a case broke off is the last that came.
        if check == SCENARIO {
            return false;
        }
        // That the words of the user reach the model, nothing excuses.
        if check == REQUESTS {
            return false;
        }
        // What an expectation of the case names is no frame of the recording: the one that came shows where it stands.
        let recorded = mismatch.expected.as_ref().filter(|_| !check.starts_with("expect "));
        let places = match (recorded, &mismatch.found, &self.observed) {
            (Some(shown), ..) => self.other_from(shown.record, golden),
            (None, Some(shown), Some(observed)) => self.other_from(shown.record, observed),
            _ => self.other_anywhere(golden),
        };
        if check == BESIDE_EVENTS {
            return [ORDER, EVENTS].iter().any(|place| places.contains(place))
                || (places.contains(GOES_ON)
                    && self.stands_behind_a_run_of_the_agents_own(mismatch, golden));
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
                let mut places = one.row.differs.iter().flat_map(|differs| &differs.places);
                let came = self.observed.as_ref().and_then(|observed| self.has_succeeded(one.line, observed));
                // One that failed in the recording, too, left no message there.
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
            && self.tells_other_answers(&frames, &mismatch.path)
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

    /// Whether the report says of a command in the recording that the agent refuses it, or carries it out, by rules of its
    /// own. Of an answer that names no command, whether it says that of any command that is sent.
    pub(super) fn is_refused_otherwise(
        &self,
        row: Option<&RowFate>,
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
            is_it && one.row.differs.iter().any(|differs| refuses(&differs))
        })
    }

    /// Whether a run may be over behind an event of that name. However other it is, it ends.
    pub(super) fn ends_runs(&self, event: &str) -> bool {
        self.front.event(event).is_some_and(|spec| may_end(spec.run))
    }

    /// Whether an event may stand elsewhere, or be missing, where words of the user are read at another time: one of such
    /// words, and, as a whole, one that tells of no answer and of no call.
    fn is_of_order(&self, frame: &Frame, path: &str) -> bool {
        let Some(row) = self.row(frame.kind, &frame.row) else { return false };
        let is_of = |place: &str| {
            row.members.iter().any(|member| {
                member.neutral.starts_with(place) && is_about(member, &member.path, &frame.body)
            })
        };
        is_of(OF_USER) || (path.is_empty() && !OF_CALLS.iter().any(|place| is_of(place)))
    }

    /// Whether the report says that words in the recording may have other answers.
    pub fn moves_answers(&self, golden: &Transcript) -> bool {
        self.other_anywhere(golden).contains(ANSWERS)
    }

    /// What is other at a place of a session.
    pub(super) fn other_from<'a>(&'a self, place: usize, session: &'a Transcript) -> BTreeSet<&'a str> {
        let over = self.run_ends(session);
        self.other(session, |place_sent, one| {
            let is_still = one != EVENTS || !over.iter().any(|end| (place_sent..place).contains(end));
            place_sent < place && is_still
        })
    }

    /// Whether a frame is the answer to a command that begins runs, and came behind the beginning of a run which followed a summary
    /// that the agent had made by itself: no such command was sent in between.
    fn stands_behind_a_run_of_the_agents_own(&self, mismatch: &Mismatch, golden: &Transcript) -> bool {
        let (Some(shown), Some(observed)) = (&mismatch.expected, &self.observed) else { return false };
        let Some(frame) = self.frame(shown, golden) else { return false };
        let starts = |name: &str| self.front.command(name).is_some_and(|row| row.run == RunRole::Starts);
        if frame.kind != RowKind::Command || !starts(&frame.row) {
            return false;
        }
        let answer = id_of(&FrameText::from(shown.line.as_str()));
        // Whether a run goes on, whether one was asked for that has not begun, and whether there is a summary since the last one.
        let (mut works, mut is_asked, mut has_compacted) = (false, false, false);
        for record in &observed.records {
            match record {
                Record::Sent(line) if command(line.as_str()).is_some_and(|name| starts(&name)) => {
                    is_asked = true;
                }
                Record::Received(line) if answer.is_some() && id_of(line) == answer => return false,
                Record::Received(line) => {
                    let Ok(Routed::Event { kind, .. }) = route(self.front, line) else { continue };
                    let Some(run) = kind.spec().map(|spec| spec.run) else { continue };
                    if self.tells_of_a_summary(line, observed) {
                        has_compacted |= !works;
                    } else if run == RunEffect::Begins {
                        if !works && !is_asked && has_compacted {
                            return true;
                        }
                        (works, is_asked, has_compacted) = (true, false, false);
                    } else if may_end(run) && works {
                        (works, has_compacted) = (false, false);
                    }
                }
                Record::Sent(_) | Record::Control(_) => {}
            }
        }
        false
    }

    /// Whether an event tells of a summary that the agent has made by itself, with the summary.
    fn tells_of_a_summary(&self, line: &FrameText, session: &Transcript) -> bool {
        let shown = Shown { record: 0, dir: Direction::S2c, line: line.as_str().to_owned() };
        let Some(frame) = self.frame(&shown, session) else { return false };
        let Some(row) = self.row(RowKind::Event, &frame.row) else { return false };
        let members = || row.members.iter();
        members().any(|member| is_within(COMPACTED, &member.neutral))
            && members()
                .filter(|member| is_within(OF_SUMMARY, &member.neutral))
                .any(|member| paths::at(&frame.body, &member.path, &[]).is_some_and(|told| !told.is_null()))
    }

    /// Whether the answer to a command was a success, or a failure; none where it has no answer of its own.
    fn has_succeeded(&self, sent: &str, session: &Transcript) -> Option<bool> {
        let id = id_of(&FrameText::from(sent))?;
        session.records.iter().find_map(|record| match record {
            Record::Received(line) => match route(self.front, line) {
                Ok(Routed::Answer { success, .. }) if id_of(line).as_ref() == Some(&id) => Some(success),
                _ => None,
            },
            _ => None,
        })
    }

    /// What is other at some place of the recording.
    fn other_anywhere<'a>(&'a self, golden: &'a Transcript) -> BTreeSet<&'a str> {
        self.other(golden, |_, _| true)
    }

    fn other<'a>(
        &'a self,
        golden: &'a Transcript,
        is_there: impl Fn(usize, &str) -> bool,
    ) -> BTreeSet<&'a str> {
        let sent = self.sent(golden.records.len(), golden);
        let told = sent.flat_map(|sent| {
            let counts = move |differs: &&Difference| sent.is_busy || !differs.busy;
            let differs = sent.row.differs.iter().filter(counts);
            differs.flat_map(|differs| &differs.places).map(move |one| (sent.place, one.as_str()))
        });
        told.filter(|(place, one)| is_there(*place, one)).map(|(_, one)| one).collect()
    }

    /// The records of a recording behind which a run may be over.
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
            Ok(Routed::Event { kind, .. }) => kind.spec().is_some_and(|spec| may_end(spec.run)),
            _ => false,
        }
    }

    /// The commands that are sent before a place of the recording.
    pub(super) fn sent<'a>(
        &'a self,
        place: usize,
        golden: &'a Transcript,
    ) -> impl Iterator<Item = SentCommand<'a>> {
        // The command that keeps it at work, by its id.
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
                // One that is refused begins no run.
                let is_refused = match route(self.front, line) {
                    Ok(Routed::Answer { success: false, .. }) => began.is_some() && id_of(line) == began,
                    _ => false,
                };
                is_busy &= !is_refused && !self.may_end_a_run(line);
                None
            }
            Record::Control(_) => None,
        })
    }
}

/// A command that is sent.
#[derive(Clone, Copy)]
pub(super) struct SentCommand<'a> {
    pub(super) place: usize,
    line: &'a str,
    /// What the report says of it.
    pub(super) row: &'a RowFate,
    /// Whether a run was going on.
    pub(super) is_busy: bool,
}

fn id_of(line: &FrameText) -> Option<Value> {
    serde_json::from_str::<Value>(line.as_str()).ok()?.get("id").filter(|id| !id.is_null()).cloned()
}

#[cfg(test)]
mod tests;
