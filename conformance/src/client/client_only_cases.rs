//! Cases that only clients can play, made from the golden transcripts. They contain undeclared members and
//! events, and characters that some readers treat as line ends. In others, answers arrive in another order,
//! or the agent ends unexpectedly.

use agentese::framing::FrameText;
use agentese::route::{RoutedFrame, route};
use agentese::spec::{Framing, RunEffect, RunRole, Spec};
use agentese::types::{CheckLevel, Scenario, ScenarioBuilder, TranscriptControl};
use agentese::wire::Maybe;
use serde_json::{Value, json};

use super::plan::{PlannedAction, PlannedCall, plan};
use crate::suite::{Suite, SuiteError};
use crate::transcript::{Record, Transcript};

/// A case that is not in the suite, with its transcript.
pub type ClientOnlyCase = (Scenario, Transcript);

/// Returns the cases for clients of a dialect. Omits a case if the dialect's transcripts have no material for
/// it.
///
/// # Errors
/// If a case or a transcript of the suite is invalid.
pub fn client_only_cases(suite: &Suite, spec: &'static Spec) -> Result<Vec<ClientOnlyCase>, SuiteError> {
    let mut played: Vec<(Transcript, Vec<PlannedAction>)> = Vec::new();
    for case in suite.cases(&spec.id())? {
        let Some(golden) = suite.golden(&case.dialect, &case.name)? else { continue };
        if let Ok(moves) = plan(spec, &case, &golden) {
            played.push((golden, moves));
        }
    }
    played.sort_by_key(|(golden, _)| golden.records.len());
    let mut probes = Vec::new();
    let mut add = |name: &str, title: &str, transcript: Transcript| {
        let mut case = ScenarioBuilder {
            scenario: 1,
            name: name.into(),
            dialect: spec.id(),
            title: title.into(),
            steps: Vec::new(),
        }
        .build();
        case.level = Some(CheckLevel::Must);
        probes.push((case, transcript));
    };
    let run = played.iter().map(|(golden, _)| golden).find(|golden| has_run(spec, golden));
    let mut asked: Vec<_> =
        played.iter().map(|(golden, moves)| recorded_queries(spec, golden, moves)).collect();
    // The shortest transcript with two questions is used, or else the shortest with one.
    asked.sort_by_key(|questions| std::cmp::Reverse(questions.len().min(2)));
    let questions = asked.first().map(Vec::as_slice).unwrap_or_default();
    if let Some(run) = run {
        add(
            "client-undeclared",
            "undeclared members and events are kept",
            with_undeclared_members(spec, run),
        );
        add("client-separators", "only a line feed ends a line", with_separators(spec, run));
    }
    if let [one, other, ..] = questions {
        add(
            "client-out-of-order",
            "answers in a different order than the requests",
            with_swapped_answers(spec, one, other),
        );
    }
    if let (Some(run), [(question, _), ..]) = (run, questions) {
        add(
            "client-agent-dies",
            "the agent exits during a run with a pending call",
            with_agent_death(spec, run, question),
        );
    }
    Ok(probes)
}

pub(super) fn run_effect(spec: &Spec, line: &FrameText) -> Option<RunEffect> {
    match route(spec, line) {
        Ok(RoutedFrame::Event { kind, .. }) => kind.spec().map(|event| event.run),
        _ => None,
    }
}

/// Returns `true` if the transcript has an event that begins a run, and an event that ends a run or may end
/// one.
fn has_run(spec: &Spec, golden: &Transcript) -> bool {
    let effects: Vec<_> = golden.received().filter_map(|line| run_effect(spec, line)).collect();
    let ends = effects.contains(&RunEffect::MayEnd) || effects.contains(&RunEffect::Ends);
    effects.contains(&RunEffect::Begins) && ends
}

/// A command without an effect on runs, and its recorded answer.
pub(super) type RecordedQuery = (PlannedCall, FrameText);

/// Returns recorded commands without parameters and without an effect on runs, if their answers have data.
/// Each command occurs once.
pub(super) fn recorded_queries(
    spec: &Spec,
    golden: &Transcript,
    actions: &[PlannedAction],
) -> Vec<RecordedQuery> {
    let calls = actions.iter().filter_map(|step| match step {
        PlannedAction::Call(call) => Some(call),
        _ => None,
    });
    let plain = |call: &&PlannedCall| {
        let row = spec.command(&call.command);
        call.params.is_empty() && call.id.is_some() && row.is_some_and(|row| row.run == RunRole::None)
    };
    let answer = |call: &PlannedCall| {
        golden.received().find(|line| match route(spec, line) {
            Ok(RoutedFrame::Answer { id, success, data, .. }) => {
                let full = data.is_some_and(|data| data.as_str().len() > 2);
                success && full && id.is_some_and(|id| Some(id.as_str()) == call.id.as_deref())
            }
            _ => false,
        })
    };
    let mut found: Vec<RecordedQuery> = Vec::new();
    for call in calls.filter(plain) {
        if let Some(line) = answer(call)
            && found.iter().all(|(known, _)| known.command != call.command)
        {
            found.push((call.clone(), line.clone()));
        }
    }
    found
}

/// Returns the transcript with every frame of the agent changed.
fn map_agent_lines(golden: &Transcript, mut change: impl FnMut(&FrameText) -> Vec<FrameText>) -> Transcript {
    let records = golden.records.iter().flat_map(|record| match record {
        Record::Received(line) => change(line).into_iter().map(Record::Received).collect(),
        other => vec![other.clone()],
    });
    Transcript { header: golden.header.clone(), records: records.collect() }
}

/// Returns the event within a frame.
pub(super) fn event_body<'a>(spec: &Spec, frame: &'a mut Value) -> Option<&'a mut Value> {
    match spec.framing {
        Framing::JsonRpc { .. } => frame.get_mut("params"),
        Framing::Enveloped if frame.get("event").is_some() => frame.get_mut("event"),
        _ => Some(frame),
    }
}

fn with_undeclared_members(spec: &Spec, golden: &Transcript) -> Transcript {
    let extra = json!({"kept": [1, null, {"a": ""}], "": false});
    let mut first = true;
    map_agent_lines(golden, |line| {
        let Ok(mut frame) = agentese::wire::decode::<Value>(line.as_str()) else { return vec![line.clone()] };
        let mut lines = Vec::new();
        match route(spec, line) {
            Ok(RoutedFrame::Event { .. }) => {
                if let Some(body) = event_body(spec, &mut frame) {
                    body["x_later"] = extra.clone();
                }
                lines.push(FrameText::from(frame.to_string()));
                if std::mem::take(&mut first) {
                    if let Some(body) = event_body(spec, &mut frame) {
                        let session =
                            spec.session_member.and_then(|name| Some((name, body.get(name)?.clone())));
                        *body = json!({"type": "x_later_event", "text": "nobody knows it"});
                        session.into_iter().for_each(|(name, session)| body[name] = session);
                    }
                    lines.push(FrameText::from(frame.to_string()));
                }
            }
            Ok(RoutedFrame::Answer { success: true, .. }) => {
                let name = if spec.framing_is_flat() { "data" } else { "result" };
                if let Some(data) =
                    frame.get_mut(name).and_then(Value::as_object_mut).filter(|data| !data.is_empty())
                {
                    data.insert("x_later".to_owned(), extra.clone());
                }
                lines.push(FrameText::from(frame.to_string()));
            }
            _ => lines.push(line.clone()),
        }
        lines
    })
}

fn with_separators(spec: &Spec, golden: &Transcript) -> Transcript {
    map_agent_lines(golden, |line| {
        let Ok(mut frame) = agentese::wire::decode::<Value>(line.as_str()) else { return vec![line.clone()] };
        if matches!(route(spec, line), Ok(RoutedFrame::Event { .. }))
            && let Some(body) = event_body(spec, &mut frame)
        {
            body["x_text"] = Value::from("a\u{2028}b\u{2029}c\u{85}d\re\u{feff}f🙂g");
        }
        vec![FrameText::from(frame.to_string())]
    })
}

/// Creates a transcript with two commands whose answers arrive in reverse order.
fn with_swapped_answers(spec: &Spec, one: &RecordedQuery, other: &RecordedQuery) -> Transcript {
    let mut records: Vec<Record> = Vec::new();
    for (at, (call, _)) in [one, other].into_iter().enumerate() {
        records.push(Record::Sent(with_new_id(&call.line, at)));
    }
    for (at, (_, answer)) in [one, other].into_iter().enumerate().rev() {
        records.push(Record::Received(with_new_id(answer, at)));
    }
    records.push(Record::Control(TranscriptControl::new("stdin_closed")));
    records.push(exit(0));
    transcript(spec, records)
}

/// Creates a transcript in which a run has just begun: the client sends the command `question`, and the agent
/// exits without an answer.
fn with_agent_death(spec: &Spec, golden: &Transcript, question: &PlannedCall) -> Transcript {
    let begins = |record: &Record| match record {
        Record::Received(line) => run_effect(spec, line) == Some(RunEffect::Begins),
        _ => false,
    };
    let end = golden.records.iter().position(begins).map_or(golden.records.len(), |at| at + 1);
    let mut records = golden.records[..end].to_vec();
    records.push(Record::Sent(with_new_id(&question.line, 0)));
    records.push(exit(3));
    transcript(spec, records)
}

fn with_new_id(line: &FrameText, at: usize) -> FrameText {
    let mut frame: Value = agentese::wire::decode(line.as_str()).unwrap_or_default();
    frame["id"] = Value::from(format!("probe-{at}"));
    FrameText::from(frame.to_string())
}

fn exit(code: i64) -> Record {
    let mut control = TranscriptControl::new("exit");
    control.code = Maybe::Value(code);
    Record::Control(control)
}

fn transcript(spec: &Spec, records: Vec<Record>) -> Transcript {
    let header = agentese::types::TranscriptHeader::new(1, spec.agent);
    Transcript { header, records }
}
