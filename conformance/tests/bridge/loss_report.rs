//! Reader of the loss report of two dialects. It finds the differences from a recording that the report
//! explains.

mod after_command;
mod answers;
mod lines;
mod lost_commands;
mod paths;
mod stopped;
mod streamed_text;

use agentese::any::{Fidelity, Intent, Member, RowFidelity, RowKind, explain};
use agentese::framing::FrameText;
use agentese::route::{RoutedFrame, route};
use agentese::spec::Spec;
use agentese::types::{ExpectedFailure, Scenario};
use agentese_conformance::transcript::{Record, Transcript};
use agentese_conformance::verdict::{Finding, LineExcerpt, Mismatch, Outcome};
use serde_json::Value;

use after_command::EVENTS;
pub use after_command::{CONTINUED_RUN, ORDER};
pub use lines::{command, is_wait_of_a_live_agent, sends, sends_any};
use lines::{lacks_a_member, sent_before, sent_until};
use paths::{in_answer, is_about, is_within, without_indexes};

use crate::runs;

/// Members that identify a frame. The bridge must set them correctly in every case.
const KINDS: &[&str] = &["type", "id", "command", "jsonrpc", "method"];

/// Members whose values depend on the models in the agent's profile, not on the case.
const PROFILE_MEMBERS: &[&str] = &[
    "model.",
    "context.window",
    "message<assistant>.model",
    "message<assistant>.provider",
    "message<assistant>.api",
    "message<assistant>.usage.cost",
];

/// Further members of this kind, which no generated table contains: the provider of the models, and the other
/// known providers.
const PROVIDERS: &[&str] = &["data.auth.provider", "data.auth.providers"];

/// Member with the thinking level. Its initial value comes from the agent's profile.
const LEVEL: &str = "thinkingLevel";

/// Intents of commands that set the thinking level. After such a command, the level no longer depends on the
/// profile.
const SETS_LEVEL: &[Intent] =
    &[Intent::SetThinking, Intent::CycleThinking, Intent::SetModel, Intent::CycleModel, Intent::OpenSession];

/// Member with the index of the content block to which a piece of text belongs.
const PLACE_OF_TEXT: &str = "message<assistant>.blocks<text>.index";

/// Name of the check that a case was played to its end.
pub const SCENARIO: &str = "scenario";

/// Name of the check of the model's requests. `USER_INPUT_CHECK` is its description if it is about the user's
/// input.
const REQUESTS: &str = "requests";
pub const USER_INPUT_CHECK: &str = "the model is sent the words of the user";

/// Names of the checks that compare frames.
pub const FRAME_CHECKS: &[&str] = &["answers", "events", "dialogs", "order", "order-between-streams"];

/// Checks of the agent's process and its lines. A bridge must pass them in every case.
pub const PROCESS_CHECKS: &[&str] = &["end", "exit", "frames", "lines", "leaks", "noise"];

/// A difference that the loss report does not explain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnexplainedDifference {
    /// Name of the failed check.
    pub check: String,
    /// Name of the frame's event, command or dialog; empty if there is no frame.
    pub row: String,
    /// Path in the frame, in the form that lists of known failures use.
    pub path: String,
    /// Description of the difference.
    pub message: String,
}

impl UnexplainedDifference {
    /// Returns `true` if an entry of a list of known failures describes this difference. An entry without a
    /// path describes differences of whole frames.
    pub fn is_listed_in(&self, line: &ExpectedFailure) -> bool {
        let path = line.path.as_deref().unwrap_or_default();
        let row = line.row.as_deref().unwrap_or_default();
        let is_row = if path.is_empty() { row == self.row } else { row.is_empty() || row == self.row };
        line.check == self.check && without_indexes(path).0 == self.path && is_row
    }
}

/// The loss report of two dialects: the client's and the agent's.
pub struct LossReport {
    front: &'static Spec,
    rows: Vec<RowFidelity>,
    /// Known failures of this project's server of the client's dialect, compared with the recordings, without
    /// a bridge.
    known: Vec<ExpectedFailure>,
    /// The observed session; `None` if unknown. It contains the positions of frames that are not in the
    /// recording.
    observed: Option<Transcript>,
}

/// A frame, with the name of its event, command or dialog in the client's dialect.
struct Frame {
    kind: RowKind,
    row: String,
    /// The event, the parameters of a dialog, or an object with the `data` of an answer.
    body: Value,
    /// For an answer: the line of its command, and `true` if the command succeeded.
    answers: Option<(String, bool)>,
}

impl LossReport {
    pub fn of(front: &str, agent: &str) -> Self {
        let spec = |name: &str| agentese::dynamic::spec(name).unwrap();
        let front = spec(front);
        Self { front, rows: explain(front, spec(agent)).unwrap(), known: Vec::new(), observed: None }
    }

    /// Adds known failures of this project's server of the client's dialect. They occur with any agent behind
    /// the bridge.
    pub fn with_known(self, known: Vec<ExpectedFailure>) -> Self {
        Self { known, ..self }
    }

    /// Sets the observed session.
    pub fn observe(&mut self, observed: Option<Transcript>) {
        self.observed = observed;
    }

    /// Returns `true` if the client's dialect has an event, command or dialog with this name.
    pub fn has(&self, name: &str) -> bool {
        name == self.front.edges.parse_command || self.rows.iter().any(|row| row.row == name)
    }

    /// Returns `true` if the agent's events show the boundaries between the content blocks of an answer.
    pub fn shows_block_boundaries(&self) -> bool {
        let untold =
            self.rows.iter().filter(|row| row.kind == RowKind::Event).flat_map(|row| &row.missing_members);
        !untold.into_iter().any(|member| member.neutral == PLACE_OF_TEXT)
    }

    /// Returns the placeholder for a missing command name if the line is a failure that names no command.
    fn parse(&self, shown: &LineExcerpt) -> Option<String> {
        self.is_unnamed(&shown.line).then(|| self.front.edges.parse_command.to_owned())
    }

    fn row(&self, kind: RowKind, name: &str) -> Option<&RowFidelity> {
        self.rows.iter().find(|row| row.kind == kind && row.row == name)
    }

    /// Returns the failed checks that the loss report does not explain.
    pub fn unexplained(
        &self,
        case: &Scenario,
        findings: &[Finding],
        golden: &Transcript,
    ) -> Vec<UnexplainedDifference> {
        let failed = |finding: &Finding| match &finding.outcome {
            Outcome::Failed(mismatch) => Some((finding.check.clone(), mismatch.clone())),
            _ => None,
        };
        let failed: Vec<_> = findings.iter().filter_map(failed).collect();
        // A case that waits for a missing frame ends there, and all later differences follow from that.
        let mut waits = failed.iter().filter(|(check, _)| check == SCENARIO);
        let in_vain = waits.find_map(|(_, wait)| self.unmet_wait(case, wait, golden));
        let broken_off = in_vain.map(|step| sent_until(case, step, golden));
        let lost = self.lost_commands(golden);
        let unexplained = failed.iter().filter(|(check, mismatch)| {
            let is_known = || {
                let left = self.left(check, mismatch, golden);
                self.known.iter().any(|line| line.case == case.name && left.is_listed_in(line))
            };
            if PROCESS_CHECKS.contains(&check.as_str()) {
                return !is_known();
            }
            let place = mismatch.expected.as_ref().map(|shown| shown.record);
            let is_behind = broken_off.is_some_and(|last| match (check.as_str(), place) {
                (SCENARIO, _) => true,
                (_, Some(place)) => place > last,
                // An expectation of the whole case may concern the part that was not played.
                (check, None) => check.starts_with("expect ") || check == REQUESTS,
            });
            if is_behind {
                return false;
            }
            // All parts of a request except the user's input depend only on the agent.
            (check != REQUESTS || mismatch.message.starts_with(USER_INPUT_CHECK))
                && !is_known()
                && !self.follows_lost_command(&lost, mismatch, golden)
                && !self.explains(mismatch, golden)
                && !self.is_allowed_after_command(check, mismatch, golden)
                && !self.is_of_another_session(mismatch, golden)
        });
        unexplained.map(|(check, mismatch)| self.left(check, mismatch, golden)).collect()
    }

    /// Converts a failed check to the form of an entry in lists of known failures.
    fn left(&self, check: &str, mismatch: &Mismatch, golden: &Transcript) -> UnexplainedDifference {
        let shown = [&mismatch.expected, &mismatch.found];
        let named = |shown: &LineExcerpt| {
            self.frame(shown, golden).map(|frame| frame.row).or_else(|| self.parse(shown))
        };
        let row = shown.into_iter().flatten().find_map(named).unwrap_or_default();
        let path = match mismatch.path.as_str() {
            // A missing request lacks all of its messages.
            "" if check == REQUESTS => "messages".to_owned(),
            path => without_indexes(path).0,
        };
        let says = format!("{check} of {row}, {}: {}", mismatch.path, mismatch.message);
        UnexplainedDifference { check: check.to_owned(), row, path, message: says }
    }

    /// Returns `true` if the frame or its differing member is approximated or lost according to the loss
    /// report.
    fn explains(&self, mismatch: &Mismatch, golden: &Transcript) -> bool {
        // An expectation contains only a part of a frame, so the found frame is examined first.
        let shown = [&mismatch.expected, &mismatch.found];
        let frames: Vec<Frame> =
            shown.into_iter().flatten().filter_map(|shown| self.frame(shown, golden)).collect();
        // A rejection that names no command may belong to any command that can be rejected.
        let unnamed = mismatch.found.as_ref().filter(|_| mismatch.expected.is_none());
        if unnamed.is_some_and(|found| self.parse(found).is_some())
            && self.is_refused_otherwise(None, None, golden)
        {
            return true;
        }
        let Some(frame) = frames.first() else { return false };
        let Some(row) = self.row(frame.kind, &frame.row) else { return false };
        let is_answer = frame.kind == RowKind::Command;
        let path = if is_answer { in_answer(&mismatch.path) } else { mismatch.path.clone() };
        let successes: Vec<bool> =
            frames.iter().filter_map(|frame| Some(frame.answers.as_ref()?.1)).collect();
        let is_refusal = path == "success" || successes.first() != successes.last();
        match row.fidelity {
            Fidelity::Lost => true,
            // The presence and the success of an answer depend on the command as a whole.
            _ if frame.kind == RowKind::Command && (path.is_empty() || is_refusal) => {
                let sent = frame.answers.as_ref().map(|(sent, _)| sent.as_str());
                sent.is_some_and(|sent| {
                    sends_any(sent, &row.unsupported_params)
                        || self.is_refused_otherwise(Some(row), Some(sent), golden)
                })
            }
            // The presence, the number and the order of frames.
            fate if path.is_empty() => fate == Fidelity::Approximated,
            _ if KINDS.contains(&path.as_str()) => false,
            // Other differences after a command do not affect its error.
            fate if path.starts_with("error") => {
                let refuses = row.differences.iter().any(|differs| differs.refuses);
                fate == Fidelity::Approximated
                    && (row.differences.is_empty() || refuses || !row.unsupported_params.is_empty())
            }
            _ if runs::repeats(&frame.row, &path) => true,
            _ if PROVIDERS.iter().any(|given| is_within(given, &path)) => true,
            _ => {
                let about = |member: &&Member| is_about(member, &path, &frame.body);
                let (given, told): (Vec<_>, Vec<_>) = row
                    .members
                    .iter()
                    .filter(about)
                    .partition(|member| self.is_set_by_profile(member, mismatch, golden));
                // An undeclared member does not come from the agent, so it must be correct.
                told.is_empty()
                    && (!given.is_empty() || row.missing_members.iter().any(|member| about(&member)))
            }
        }
    }

    /// Returns `true` if the frame belongs to a later session of the connection, not to the first one.
    ///
    /// Returns `false` if the loss report calls the command that opens sessions carried.
    fn is_of_another_session(&self, mismatch: &Mismatch, golden: &Transcript) -> bool {
        let (Some(member), Some(opens)) = (self.front.session_member, self.front.opens_session) else {
            return false;
        };
        if self.row(RowKind::Command, opens).is_none_or(|row| row.fidelity == Fidelity::Carried) {
            return false;
        }
        let opened = golden.records.iter().enumerate().filter_map(|(record, one)| match one {
            Record::Received(line) => {
                let dir = agentese::types::Direction::S2c;
                let shown = LineExcerpt { record, dir, line: line.as_str().to_owned() };
                let frame = self.frame(&shown, golden)?;
                let is_opened = frame.kind == RowKind::Command && frame.row == opens;
                frame.body["data"][member].as_str().filter(|_| is_opened).map(str::to_owned)
            }
            _ => None,
        });
        let opened: Vec<String> = opened.collect();
        let Some(line) = mismatch.expected.as_ref().map(|shown| shown.line.as_str()) else { return false };
        let asked = || {
            let id = serde_json::from_str::<Value>(line).ok()?.get("id")?.clone();
            let has_id = |sent: &&FrameText| {
                serde_json::from_str::<Value>(sent.as_str()).is_ok_and(|sent| sent.get("id") == Some(&id))
            };
            golden.sent().find(has_id).map(|sent| sent.as_str().to_owned())
        };
        let names = |text: &str| {
            let first = opened.first();
            let mut others = opened.iter().filter(|id| Some(*id) != first);
            others.any(|id| text.contains(&format!("\"{id}\"")))
        };
        names(line) || asked().is_some_and(|asked| names(&asked))
    }

    /// Returns `true` if the value of the member depends on the agent's profile.
    fn is_set_by_profile(&self, member: &Member, mismatch: &Mismatch, golden: &Transcript) -> bool {
        let before = mismatch.expected.as_ref().map_or(0, |shown| shown.record);
        let is_level = member.neutral == LEVEL;
        PROFILE_MEMBERS.iter().any(|given| member.neutral.starts_with(given))
            || (is_level && !self.sends(SETS_LEVEL, golden.records.get(..before).unwrap_or_default()))
    }

    /// Returns `true` if the records contain a command that carries one of these intents.
    fn sends(&self, intents: &[Intent], records: &[Record]) -> bool {
        let stands_for = |name: String| {
            let row = self.row(RowKind::Command, &name);
            let is_for = |intent: &Intent| row.is_some_and(|row| row.intents.contains(&intent.name()));
            // A command that can also start a new session does not prove that a stored one is opened.
            intents.iter().any(is_for) && !is_for(&Intent::NewSession)
        };
        records.iter().any(|record| match record {
            Record::Sent(line) => command(line.as_str()).is_some_and(stands_for),
            _ => false,
        })
    }

    /// Returns the number of the failed step, from 1, if the loss report explains why its wait failed.
    ///
    /// Such a step waits for an approximated or lost frame, or for a member of an answer whose rejection is
    /// explained. The agent must be running and must have answered its commands.
    fn unmet_wait(&self, case: &Scenario, wait: &Mismatch, golden: &Transcript) -> Option<usize> {
        let says = wait.message.as_str();
        let number: usize = says.strip_prefix("step ")?.split(':').next()?.parse().ok()?;
        if !is_wait_of_a_live_agent(says) {
            return None;
        }
        if lacks_a_member(says) {
            let wait =
                Mismatch { expected: self.recorded_answer(wait.found.as_ref()?, golden), ..wait.clone() };
            let is_explained = self.explains(&wait, golden) || self.is_of_another_session(&wait, golden);
            return is_explained.then_some(number);
        }
        let (_, awaited) = says.split_once("no frame like ")?;
        let mut values = serde_json::Deserializer::from_str(awaited).into_iter::<Value>();
        let awaited = values.next()?.ok()?;
        let names = [awaited.pointer("/params/type"), awaited.get("method"), awaited.get("type")];
        let mut rows = names.into_iter().flatten().filter_map(Value::as_str).flat_map(|name| {
            [RowKind::Event, RowKind::Dialog].into_iter().filter_map(|kind| self.row(kind, name))
        });
        let is_other = self.allowed_from(sent_until(case, number, golden) + 1, golden).contains(EVENTS);
        let explained = |row: &RowFidelity| {
            row.fidelity != Fidelity::Carried
                || (is_other && row.kind == RowKind::Event && !self.ends_runs(&row.row))
        };
        rows.next().is_some_and(explained).then_some(number)
    }

    /// Returns `true` if the line is a failure that names no command.
    fn is_unnamed(&self, line: &str) -> bool {
        serde_json::from_str::<Value>(line)
            .is_ok_and(|frame| frame["command"] == self.front.edges.parse_command)
    }

    /// Returns the recorded answer with the same id as the found answer.
    fn recorded_answer(&self, found: &LineExcerpt, golden: &Transcript) -> Option<LineExcerpt> {
        let id_of = |line: &str| serde_json::from_str::<Value>(line).ok()?.get("id").cloned();
        let id = id_of(&found.line)?;
        golden.records.iter().enumerate().find_map(|(record, one)| match one {
            Record::Received(line) if id_of(line.as_str()).as_ref() == Some(&id) => {
                let dir = agentese::types::Direction::S2c;
                Some(LineExcerpt { record, dir, line: line.as_str().to_owned() })
            }
            _ => None,
        })
    }

    fn frame(&self, shown: &LineExcerpt, golden: &Transcript) -> Option<Frame> {
        let text = FrameText::from(shown.line.as_str());
        let decoded = |text: &str| agentese::wire::decode::<Value>(text).ok();
        Some(match route(self.front, &text).ok()? {
            RoutedFrame::Event { kind, body, .. } => Frame {
                kind: RowKind::Event,
                row: kind.to_string(),
                body: decoded(body.as_ref().unwrap_or(&text).as_str())?,
                answers: None,
            },
            RoutedFrame::Dialog { method, params, .. } => {
                let body = decoded(params.as_str())?;
                Frame { kind: RowKind::Dialog, row: method, body, answers: None }
            }
            RoutedFrame::Answer { id, command: named, data, success, .. } => {
                let named = named.filter(|name| *name != self.front.edges.parse_command);
                let asked = match id {
                    Some(id) => {
                        let id = decoded(id.as_str())?;
                        let is_meant = |sent: &&FrameText| {
                            decoded(sent.as_str()).is_some_and(|sent| sent.get("id") == Some(&id))
                        };
                        golden.sent().find(is_meant).map(|sent| sent.as_str().to_owned())
                    }
                    // A failure that names no command follows the line that it concerns.
                    None => sent_before(shown.record, golden),
                };
                let name = || command(asked.as_deref()?);
                let data = data.and_then(|data| decoded(data.as_str()));
                let body = serde_json::json!({"data": data});
                Frame {
                    kind: RowKind::Command,
                    row: named.or_else(name)?,
                    body,
                    answers: Some((asked.unwrap_or_default(), success)),
                }
            }
        })
    }
}

#[cfg(test)]
mod tests;
