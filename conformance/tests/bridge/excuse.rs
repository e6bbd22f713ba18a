//! Reads the loss report of a pair: which differences from a recording it explains.

use agentese::any::{Fate, Member, RowFate, RowKind, explain};
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
        // A case that waits for what does not come is not played further: the rest follows from that.
        let broken_off = failed
            .iter()
            .any(|(check, mismatch)| check == "scenario" && self.is_awaited_in_vain(case, &mismatch.says));
        if broken_off {
            return Vec::new();
        }
        let lost = self.first_lost(golden);
        let unexplained = failed.iter().filter(|(check, mismatch)| {
            // What the model is asked, the agent alone says.
            check != "requests"
                && !self.is_known(&case.name, check, mismatch)
                && !self.follows(lost, mismatch)
                && !self.explains(mismatch, golden)
        });
        let words = |(check, mismatch): &(String, Mismatch)| {
            let row = mismatch.expected.as_ref().or(mismatch.found.as_ref());
            let row = row.and_then(|shown| self.frame(&shown.line, golden)).map(|frame| frame.row);
            let path = &mismatch.path;
            format!("{check} of {}, {path}: {}", row.unwrap_or_default(), mismatch.says)
        };
        unexplained.map(words).collect()
    }

    /// Whether the report says of the frame, or of its member, that it is approximated or lost.
    fn explains(&self, mismatch: &Mismatch, golden: &Transcript) -> bool {
        let shown = mismatch.expected.as_ref().or(mismatch.found.as_ref());
        let Some(frame) = shown.and_then(|shown| self.frame(&shown.line, golden)) else { return false };
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
                let is_given = GIVEN.iter().any(|given| member.neutral.starts_with(given));
                !is_given && comes_from_agent(member, &path, &frame.body)
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

    /// Whether a step waits for a frame that the report says is approximated or lost, or comes behind a command that is.
    fn is_awaited_in_vain(&self, case: &Scenario, says: &str) -> bool {
        let steps = serde_json::to_value(&case.steps).unwrap();
        let number = says.strip_prefix("step ").and_then(|rest| rest.split(':').next()?.parse().ok());
        let lost = steps.as_array().unwrap().iter().position(|step| {
            let line = step.get("send").map(Value::to_string).unwrap_or_default();
            command(&line).is_some_and(|name| self.is_lost(&name))
        });
        if number.zip(lost).is_some_and(|(number, lost): (usize, usize)| number > lost + 1) {
            return true;
        }
        let Some((_, awaited)) = says.split_once("nothing like ") else { return false };
        let mut values = serde_json::Deserializer::from_str(awaited).into_iter::<Value>();
        let Some(Ok(awaited)) = values.next() else { return false };
        let names = [awaited.pointer("/params/type"), awaited.get("method"), awaited.get("type")];
        let mut rows = names.into_iter().flatten().filter_map(Value::as_str).flat_map(|name| {
            [RowKind::Event, RowKind::Dialog].into_iter().filter_map(|kind| self.row(kind, name))
        });
        rows.next().is_some_and(|row| row.fate != Fate::Carried)
    }

    fn frame(&self, line: &str, golden: &Transcript) -> Option<Frame> {
        let text = FrameText::from(line);
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
                let asked = || {
                    let id = decoded(id?.as_str())?;
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
mod tests {
    use agentese::types::TranscriptHeader;

    use super::*;

    /// A session in which a prompt and a shell command of the user were sent.
    fn golden() -> Transcript {
        let sent =
            [r#"{"id":"1","type":"prompt","message":"go"}"#, r#"{"id":"2","type":"bash","command":"ls"}"#];
        let records = sent.map(|line| Record::Sent(FrameText::from(line))).into();
        Transcript { header: TranscriptHeader::new(1, "pi"), records }
    }

    fn mismatch(record: usize, line: &str, path: &str) -> Mismatch {
        let dir = agentese::types::Direction::S2c;
        let expected = Some(Shown { record, dir, line: line.to_owned() });
        Mismatch { path: path.to_owned(), expected, ..Mismatch::default() }
    }

    const END: &str = r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"thinking","thinking":"b","thinkingSignature":"s"}],"usage":{"cost":{"total":1}}}}"#;

    #[test]
    fn what_the_report_names_is_explained() {
        let report = Report::of("pi@0.55", "opal@0.1");
        for path in ["message.content[1].thinkingSignature", "message.usage.cost.input"] {
            assert!(report.explains(&mismatch(0, END, path), &golden()), "{path}");
        }
        let page = r#"{"id":"1","type":"response","command":"export_html","success":false,"error":"no"}"#;
        assert!(report.explains(&mismatch(0, page, "success"), &golden()));
    }

    #[test]
    fn a_difference_beside_the_report_is_not_explained() {
        let report = Report::of("pi@0.55", "opal@0.1");
        for path in ["message.content[0].text", "message.content", "type"] {
            assert!(!report.explains(&mismatch(0, END, path), &golden()), "{path}");
        }
        let name = r#"{"id":"1","type":"response","command":"prompt","success":true}"#;
        for path in ["id", "command"] {
            assert!(!report.explains(&mismatch(0, name, path), &golden()), "{path}");
        }
        // Nobody declared such a frame.
        assert!(!report.explains(&mismatch(0, r#"{"type":"made_up"}"#, ""), &golden()));
        // With an agent of the family it is told.
        let kin = Report::of("pi@0.55", "omp@12.7");
        assert!(!kin.explains(&mismatch(0, END, "message.content[1].thinkingSignature"), &golden()));
    }

    #[test]
    fn what_the_report_calls_carried_is_neither_dropped_nor_doubled() {
        let report = Report::of("omp@12.7", "pisces@13.18");
        let ended = r#"{"type":"tool_execution_end","toolCallId":"c","toolName":"bash","isError":false}"#;
        let begins = r#"{"type":"agent_start"}"#;
        for line in [END, ended, begins] {
            // Dropped: it was expected and never came. Doubled: it came, and nothing like it was expected.
            let dropped = mismatch(0, line, "");
            let doubled = Mismatch { expected: None, found: dropped.expected.clone(), ..Mismatch::default() };
            for changed in [dropped, doubled] {
                assert!(!report.explains(&changed, &golden()), "{line}");
            }
        }
        assert!(!report.explains(&mismatch(0, ended, "toolName"), &golden()));
    }

    #[test]
    fn a_front_differs_with_any_agent_as_with_its_own() {
        let line = ExpectedFailure::new("one", "answers", "the reason");
        let report = Report::of("pi@0.55", "omp@12.7").knowing(vec![line]);
        assert!(report.is_known("one", "answers", &mismatch(0, END, "")));
        for (case, check, path) in [("two", "answers", ""), ("one", "events", ""), ("one", "answers", "type")]
        {
            assert!(!report.is_known(case, check, &mismatch(0, END, path)), "{case} {check} {path}");
        }
    }

    #[test]
    fn what_stands_behind_a_lost_command_follows_from_it() {
        let report = Report::of("pi@0.55", "opal@0.1");
        let lost = report.first_lost(&golden());
        assert_eq!(lost, Some(1));
        assert!(report.follows(lost, &mismatch(2, END, "message.content")));
        assert!(!report.follows(lost, &mismatch(1, END, "message.content")), "it came before the answer");
        let kin = Report::of("pi@0.55", "omp@12.7");
        assert_eq!(kin.first_lost(&golden()), None);
    }
}
