//! Reads the loss report of a pair: which differences from a recording it explains.

use agentese::any::{Fate, Intent, Member, RowFate, RowKind, explain};
use agentese::framing::FrameText;
use agentese::route::{Routed, route};
use agentese::spec::Spec;
use agentese::types::{ExpectedFailure, Scenario};
use agentese_conformance::transcript::{Record, Transcript};
use agentese_conformance::verdict::{Finding, Mismatch, Outcome, Shown};
use serde_json::Value;

/// Members that say what a frame is: whoever stands between always gets them right.
const OF_FRAMES: &[&str] = &["type", "id", "command", "jsonrpc", "method"];

/// What an agent's own profile gives it, and no case does: its models.
const GIVEN: &[&str] = &[
    "model.",
    "context.window",
    "message<assistant>.model",
    "message<assistant>.provider",
    "message<assistant>.api",
    "message<assistant>.usage.cost",
];

/// How hard the model thinks at first, the agent's own profile says.
const LEVEL: &str = "thinkingLevel";

/// From these on it is the client who says that, or a session.
const SETS_LEVEL: &[Intent] =
    &[Intent::SetThinking, Intent::CycleThinking, Intent::SetModel, Intent::CycleModel, Intent::OpenSession];

/// The check that a case was played to its end.
pub const SCENARIO: &str = "scenario";

/// Checks about the agent's process and its lines: whoever stands between two dialects always passes them.
pub const OF_THE_PROCESS: &[&str] = &["end", "exit", "frames", "lines", "leaks", "noise"];

/// What the report of a pair says.
pub struct Report {
    front: &'static Spec,
    rows: Vec<RowFate>,
    /// How the front differs from its recordings with an agent of its own.
    known: Vec<ExpectedFailure>,
}

/// A frame, as the front's dialect knows it.
struct Frame {
    kind: RowKind,
    row: String,
    /// The event, the parameters, or the whole answer with `data` in it.
    body: Value,
}

impl Report {
    pub fn of(front: &str, agent: &str) -> Self {
        let spec = |name: &str| agentese::dynamic::spec(name).unwrap();
        let front = spec(front);
        Self { front, rows: explain(front, spec(agent)).unwrap(), known: Vec::new() }
    }

    /// The same for a front that differs from its recordings in that way, whoever stands behind it.
    pub fn knowing(self, known: Vec<ExpectedFailure>) -> Self {
        Self { known, ..self }
    }

    fn row(&self, kind: RowKind, name: &str) -> Option<&RowFate> {
        self.rows.iter().find(|row| row.kind == kind && row.row == name)
    }

    /// The findings that the report does not explain, in words.
    pub fn unexplained(&self, case: &Scenario, findings: &[Finding], golden: &Transcript) -> Vec<String> {
        let failed = |finding: &Finding| match &finding.outcome {
            Outcome::Failed(mismatch) => Some((finding.check.clone(), mismatch.clone())),
            _ => None,
        };
        let failed: Vec<_> = findings.iter().filter_map(failed).collect();
        // A case that waits for what does not come is not played further: what stands behind that follows from it.
        let mut waits = failed.iter().filter(|(check, _)| check == SCENARIO);
        let in_vain = waits.find_map(|(_, wait)| self.awaited_in_vain(case, &wait.says));
        let broken_off = in_vain.map(|step| sent_until(case, step, golden));
        let lost = self.first_lost(golden);
        let unexplained = failed.iter().filter(|(check, mismatch)| {
            if OF_THE_PROCESS.contains(&check.as_str()) {
                return !self.is_known(&case.name, check, mismatch);
            }
            let place = mismatch.expected.as_ref().map(|shown| shown.record);
            let is_behind = broken_off.is_some_and(|last| match (check.as_str(), place) {
                (SCENARIO, _) => true,
                (_, Some(place)) => place > last,
                // What was expected of the whole case may be about what was not played.
                (check, None) => check.starts_with("expect "),
            });
            if is_behind {
                return false;
            }
            // What the model is asked, the agent alone says.
            check != "requests"
                && !self.is_known(&case.name, check, mismatch)
                && !self.follows(lost, mismatch)
                && !self.explains(mismatch, golden)
                && !self.is_of_another_session(mismatch, golden)
        });
        let words = |(check, mismatch): &(String, Mismatch)| {
            let shown = [&mismatch.expected, &mismatch.found];
            let mut frames = shown.into_iter().flatten().filter_map(|shown| self.frame(shown, golden));
            let row = frames.next().map(|frame| frame.row);
            let path = &mismatch.path;
            format!("{check} of {}, {path}: {}", row.unwrap_or_default(), mismatch.says)
        };
        unexplained.map(words).collect()
    }

    /// Whether the report says of the frame, or of its member, that it is approximated or lost.
    fn explains(&self, mismatch: &Mismatch, golden: &Transcript) -> bool {
        // What an expectation names is a part of a frame: then it is the one that came.
        let shown = [&mismatch.expected, &mismatch.found];
        let mut frames = shown.into_iter().flatten().filter_map(|shown| self.frame(shown, golden));
        let Some(frame) = frames.next() else { return false };
        let Some(row) = self.row(frame.kind, &frame.row) else { return false };
        let path = mismatch.path.replace("result", "data");
        let path = if frame.kind == RowKind::Command { path } else { mismatch.path.clone() };
        match row.fate {
            Fate::Lost => true,
            // That it comes at all, how often, and in which order.
            fate if path.is_empty() => fate == Fate::Approximated,
            _ if OF_FRAMES.contains(&path.as_str()) => false,
            fate if path == "success" || path.starts_with("error") => fate == Fate::Approximated,
            _ => !row.members.iter().any(|member| {
                !self.is_given(member, mismatch, golden) && comes_from_agent(member, &path, &frame.body)
            }),
        }
    }

    /// Whether the front differs there with an agent of its own, too.
    fn is_known(&self, case: &str, check: &str, mismatch: &Mismatch) -> bool {
        let any = |path: &str| without_places(path).0;
        let path = any(&mismatch.path);
        self.known.iter().any(|line| {
            let known = line.path.as_deref().map(any).unwrap_or_default();
            line.case == case && line.check == check && known == path
        })
    }

    /// Whether a frame is about a session that stands beside the first one of its connection, where the report says of what
    /// opens them that not all of it is carried.
    fn is_of_another_session(&self, mismatch: &Mismatch, golden: &Transcript) -> bool {
        let (Some(member), Some(opens)) = (self.front.session_member, self.front.opens_session) else {
            return false;
        };
        if self.row(RowKind::Command, opens).is_none_or(|row| row.fate == Fate::Carried) {
            return false;
        }
        let opened = golden.records.iter().enumerate().filter_map(|(record, one)| match one {
            Record::Received(line) => {
                let dir = agentese::types::Direction::S2c;
                let shown = Shown { record, dir, line: line.as_str().to_owned() };
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

    /// Whether the agent's own profile gives it that member.
    fn is_given(&self, member: &Member, mismatch: &Mismatch, golden: &Transcript) -> bool {
        let before = mismatch.expected.as_ref().map_or(0, |shown| shown.record);
        let is_level = member.neutral == LEVEL;
        GIVEN.iter().any(|given| member.neutral.starts_with(given))
            || (is_level && !self.sends(SETS_LEVEL, golden.records.get(..before).unwrap_or_default()))
    }

    /// Whether a command that stands for one of these intents is sent in those records.
    fn sends(&self, intents: &[Intent], records: &[Record]) -> bool {
        let stands_for = |name: String| {
            let row = self.row(RowKind::Command, &name);
            let is_for = |intent: &Intent| row.is_some_and(|row| row.intents.contains(&intent.name()));
            // What may begin a fresh session need not open one.
            intents.iter().any(is_for) && !is_for(&Intent::NewSession)
        };
        records.iter().any(|record| match record {
            Record::Sent(line) => command(line.as_str()).is_some_and(stands_for),
            _ => false,
        })
    }

    /// The place of the first command in the recording that the report calls lost.
    fn first_lost(&self, golden: &Transcript) -> Option<usize> {
        golden.records.iter().position(|record| match record {
            Record::Sent(line) => command(line.as_str()).is_some_and(|name| self.is_lost(&name)),
            _ => false,
        })
    }

    fn is_lost(&self, command: &str) -> bool {
        self.row(RowKind::Command, command).is_some_and(|row| row.fate == Fate::Lost)
    }

    /// Whether a difference stands behind a command that is lost: what that would have done is missing.
    fn follows(&self, lost: Option<usize>, mismatch: &Mismatch) -> bool {
        let place = |shown: &Option<Shown>| shown.as_ref().map(|shown| shown.record);
        match (lost, place(&mismatch.expected)) {
            (Some(lost), Some(place)) => place > lost,
            // What came beside the recording is not behind anything in it.
            _ => false,
        }
    }

    /// The number of a step, from 1, that waits for a frame of which the report says that it is approximated or lost, or that
    /// comes behind a command that is lost. The agent is still there, and has answered what it was asked.
    fn awaited_in_vain(&self, case: &Scenario, says: &str) -> Option<usize> {
        let number: usize = says.strip_prefix("step ")?.split(':').next()?.parse().ok()?;
        if !is_wait_of_a_live_agent(says) {
            return None;
        }
        let lost = sends(case).find(|(_, line)| command(line).is_some_and(|name| self.is_lost(&name)));
        if lost.is_some_and(|(lost, _)| number > lost) {
            return Some(number);
        }
        let (_, awaited) = says.split_once("nothing like ")?;
        let mut values = serde_json::Deserializer::from_str(awaited).into_iter::<Value>();
        let awaited = values.next()?.ok()?;
        let names = [awaited.pointer("/params/type"), awaited.get("method"), awaited.get("type")];
        let mut rows = names.into_iter().flatten().filter_map(Value::as_str).flat_map(|name| {
            [RowKind::Event, RowKind::Dialog].into_iter().filter_map(|kind| self.row(kind, name))
        });
        rows.next().is_some_and(|row| row.fate != Fate::Carried).then_some(number)
    }

    fn frame(&self, shown: &Shown, golden: &Transcript) -> Option<Frame> {
        let text = FrameText::from(shown.line.as_str());
        let decoded = |text: &str| agentese::wire::decode::<Value>(text).ok();
        Some(match route(self.front, &text).ok()? {
            Routed::Event { kind, body, .. } => Frame {
                kind: RowKind::Event,
                row: kind.to_string(),
                body: decoded(body.as_ref().unwrap_or(&text).as_str())?,
            },
            Routed::Dialog { method, params, .. } => {
                Frame { kind: RowKind::Dialog, row: method, body: decoded(params.as_str())? }
            }
            Routed::Answer { id, command: named, data, .. } => {
                let named = named.filter(|name| *name != self.front.edges.parse_command);
                let asked = || {
                    // A failure that names no command stands behind the one that it is about.
                    let Some(id) = id else { return sent_before(shown.record, golden) };
                    let id = decoded(id.as_str())?;
                    golden.sent().find_map(|sent| {
                        let sent_id = decoded(sent.as_str())?.get("id").cloned();
                        (sent_id.as_ref() == Some(&id)).then(|| command(sent.as_str()))?
                    })
                };
                let data = data.and_then(|data| decoded(data.as_str()));
                let body = serde_json::json!({"data": data});
                Frame { kind: RowKind::Command, row: named.or_else(asked)?, body }
            }
        })
    }
}

/// The steps of a case that send a line: number, from 1, and line.
fn sends(case: &Scenario) -> impl Iterator<Item = (usize, String)> {
    let steps = serde_json::to_value(&case.steps).unwrap();
    let steps: Vec<Value> = steps.as_array().cloned().unwrap_or_default();
    let numbered = steps.into_iter().zip(1..);
    numbered.filter_map(|(step, number)| Some((number, step.get("send")?.to_string())))
}

/// The place in the recording of the last line that was sent before a step: everything behind it may be missing where the
/// case broke off there.
fn sent_until(case: &Scenario, step: usize, golden: &Transcript) -> usize {
    let sent = sends(case).filter(|(number, _)| *number < step).count();
    let places = golden.records.iter().enumerate().filter(|(_, record)| matches!(record, Record::Sent(_)));
    places.take(sent).last().map_or(0, |(place, _)| place)
}

/// Whether a case broke off because the time of a wait was over, with an agent that was still there and owed no answer.
pub fn is_wait_of_a_live_agent(says: &str) -> bool {
    says.contains("nothing like ") && says.contains("the time is over") && !says.contains("was not answered")
}

/// The name of the command that was sent last before that record.
fn sent_before(record: usize, golden: &Transcript) -> Option<String> {
    golden.records.get(..record)?.iter().rev().find_map(|record| match record {
        Record::Sent(line) => command(line.as_str()),
        _ => None,
    })
}

/// The name of the command in a line that a client sends.
fn command(line: &str) -> Option<String> {
    let frame: Value = serde_json::from_str(line).ok()?;
    let name = frame.get("method").or_else(|| frame.get("type"))?;
    name.as_str().map(str::to_owned)
}

/// Whether a place in a frame is, contains, or stands in a member that comes from the agent.
fn comes_from_agent(member: &Member, path: &str, body: &Value) -> bool {
    let (any, places) = without_places(path);
    let within = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    if !within(&member.path, &any) && !within(&any, &member.path) {
        return false;
    }
    member.only.iter().all(|(path, word)| match at(body, path, &places) {
        Some(value) => value.as_str().map_or_else(|| value.to_string(), str::to_owned) == *word,
        None => true,
    })
}

/// A path with `[]` for each place in a list, and the places.
fn without_places(path: &str) -> (String, Vec<usize>) {
    let (mut any, mut places) = (String::new(), Vec::new());
    let mut rest = path;
    while let Some((before, behind)) = rest.split_once('[') {
        let Some((place, behind)) = behind.split_once(']') else { break };
        any.push_str(before);
        any.push_str("[]");
        places.extend(place.parse::<usize>());
        rest = behind;
    }
    any.push_str(rest);
    (any, places)
}

/// The value at a path whose `[]` stand for these places in turn; none where there are too few.
fn at<'a>(body: &'a Value, path: &str, places: &[usize]) -> Option<&'a Value> {
    let mut places = places.iter();
    let mut found = body;
    for name in path.split('.') {
        let (name, lists) = (name.trim_end_matches("[]"), name.matches("[]").count());
        found = if name.is_empty() { found } else { found.get(name)? };
        for _ in 0..lists {
            found = found.get(places.next()?)?;
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests;
