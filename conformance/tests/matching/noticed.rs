//! Tests that the matcher notices each removal, repetition or change of a frame in a golden transcript.

use std::collections::BTreeMap;

use agentese::types::Scenario;
use agentese_conformance::Suite;
use agentese_conformance::transcript::{Record, Transcript};
use serde_json::Value;

use crate::support::{DIALECTS, allowed, compared_in, failures, rules, with_line};

/// One of this many values is changed, so that the test of a dialect takes some seconds.
const STRIDE: usize = 67;

/// Result of the comparison after a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reaction {
    Failed,
    /// An allowance permits the change.
    Allowed,
    Not,
}

/// Numbers of noticed changes and of all changes, by kind of change.
#[derive(Default)]
struct Rates {
    noticed: BTreeMap<&'static str, (usize, usize)>,
    allowed: usize,
    unnoticed: Vec<String>,
}

impl Rates {
    fn note(&mut self, kind: &'static str, seen: Reaction, what: impl FnOnce() -> String) {
        if seen == Reaction::Allowed {
            self.allowed += 1;
            return;
        }
        let (of, all) = self.noticed.entry(kind).or_default();
        *of += usize::from(seen == Reaction::Failed);
        *all += 1;
        if seen == Reaction::Not {
            self.unnoticed.push(format!("{kind}: {}", what()));
        }
    }
}

fn reaction(dialect: &str, case: &Scenario, golden: &Transcript, observed: &Transcript) -> Reaction {
    // The allowances of the case are removed; another test checks that they are narrow.
    let mut case = case.clone();
    case.allow = None;
    let compared = compared_in(dialect, &case, golden, observed);
    match (failures(&compared).is_empty(), allowed(&compared).is_empty()) {
        (false, _) => Reaction::Failed,
        (true, false) => Reaction::Allowed,
        (true, true) => Reaction::Not,
    }
}

/// Returns a key that is equal for events whose order is compared. Returns `None` for answers, questions,
/// and events of tools.
fn kind(line: &str) -> Option<String> {
    let frame: Value = serde_json::from_str(line).ok().filter(|frame| !is_free(frame))?;
    let event = frame.get("params").or(frame.get("event")).unwrap_or(&frame);
    let kind =
        event.get("type")?.as_str().filter(|kind| !["response", "extension_ui_request"].contains(kind))?;
    let mut mark = format!("{kind} {:?}", event.get("session_id"));
    mark.push_str(&format!("{:?}", event.pointer("/assistantMessageEvent/type")));
    mark.push_str(&format!("{:?}", event.pointer("/message/role")));
    (!kind.starts_with("tool_") && !mark.contains("toolResult") && kind != "sub_agent_event").then_some(mark)
}

/// Swaps a line with the next one, and changes the snapshots in it. Records whether the matcher notices the
/// change.
fn places(dialect: &str, what: &str, case: &Scenario, golden: &Transcript, record: usize, rates: &mut Rates) {
    let text = |record: usize| match golden.records.get(record) {
        Some(Record::Received(line)) => Some(line.as_str()),
        _ => None,
    };
    let kinds = (text(record).and_then(kind), text(record + 1).and_then(kind));
    if let (Some(kind), Some(next)) = kinds
        && kind != next
    {
        let mut observed = golden.clone();
        observed.records.swap(record, record + 1);
        rates.note("lines in another order", reaction(dialect, case, golden, &observed), || what.to_owned());
    }
    let frame: Option<Value> = text(record).and_then(|line| serde_json::from_str(line).ok());
    let Some(frame) = frame.filter(|frame| frame.pointer("/assistantMessageEvent/delta").is_some()) else {
        return;
    };
    for pointer in
        ["/message/content/0/text", "/assistantMessageEvent/partial/content/0/text", "/message/usage/input"]
    {
        let Some(value) = frame.pointer(pointer) else { continue };
        let mut frame = frame.clone();
        let other = match value {
            Value::String(text) => format!("{text} and more").into(),
            other => changed(other),
        };
        *frame.pointer_mut(pointer).unwrap() = other;
        let observed = with_line(golden, record, Some(frame.to_string()));
        rates.note("snapshot changed", reaction(dialect, case, golden, &observed), || {
            format!("{pointer} {what}")
        });
    }
}

/// Returns `true` for a frame that an agent may send any number of times, including zero.
fn is_free(frame: &Value) -> bool {
    let kind = |frame: &Value| frame.get("type").and_then(Value::as_str).map(str::to_owned);
    let names = [kind(frame), frame.get("params").and_then(kind), frame.get("event").and_then(kind)];
    names
        .into_iter()
        .flatten()
        .any(|name| ["tool_execution_update", "ready", "unknown", "tool_output"].contains(&name.as_str()))
        || frame.pointer("/assistantMessageEvent/delta").is_some_and(|piece| piece == "")
        || frame.get("widgetKey").is_some_and(|key| key == "autoresearch")
}

/// Collects the JSON pointers of all values that are compared for equality.
fn leaves(dialect: &str, value: &Value, at: &str, found: &mut Vec<String>) {
    let each = |name: String, value: &Value, found: &mut Vec<String>| {
        leaves(dialect, value, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
    };
    match value {
        Value::Object(members) => {
            // Texts of failed tools, of tools that write files, and of truncated output may differ.
            let is_free = members.get("isError") == Some(&Value::Bool(true))
                || members.get("is_error") == Some(&Value::Bool(true))
                || members.get("ok").is_some()
                || ["write", "edit"]
                    .iter()
                    .any(|tool| members.get("toolName").is_some_and(|name| name == tool))
                || members.get("role").is_some_and(|role| role == "tool_result");
            let free = ["content", "result", "details", "error", "output", "meta", "content", "metadata"];
            for (name, value) in members {
                if rules(dialect).is_bound(name) || is_free && free.contains(&name.as_str()) {
                    continue;
                }
                if ["message", "partial"].contains(&name.as_str()) && value.get("usage").is_some() {
                    // Snapshots are covered by another test.
                    continue;
                }
                each(name.clone(), value, found);
            }
        }
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(at, value)| each(at.to_string(), value, found));
        }
        _ => found.push(at.to_owned()),
    }
}

fn retyped(value: &Value) -> Value {
    match value {
        Value::String(text) => text.len().into(),
        Value::Number(number) => number.to_string().into(),
        Value::Bool(flag) => u8::from(*flag).into(),
        _ => "nothing".into(),
    }
}

fn changed(value: &Value) -> Value {
    match value {
        Value::String(text) => format!("{text} and more").into(),
        Value::Number(number) => (number.as_f64().unwrap_or_default() + 1000.0).into(),
        Value::Bool(flag) => (!flag).into(),
        _ => 1.into(),
    }
}

fn without(frame: &mut Value, pointer: &str) -> bool {
    let Some((parent, name)) = pointer.rsplit_once('/') else { return false };
    let name = name.replace("~1", "/").replace("~0", "~");
    match frame.pointer_mut(parent) {
        Some(Value::Object(members)) => members.shift_remove(&name).is_some(),
        _ => false,
    }
}

fn lines(
    dialect: &str,
    name: &str,
    case: &Scenario,
    golden: &Transcript,
    rates: &mut Rates,
    count: &mut usize,
) {
    for (record, line) in golden.records.iter().enumerate() {
        let Record::Received(line) = line else { continue };
        let Ok(frame) = serde_json::from_str::<Value>(line.as_str()) else { continue };
        if !frame.is_object() || is_free(&frame) {
            continue;
        }
        *count += 1;
        if !count.is_multiple_of(STRIDE) {
            continue;
        }
        let what = || format!("{dialect}/{name} record {record}: {:.200}", line.as_str());
        let taken = with_line(golden, record, None);
        rates.note("line taken away", reaction(dialect, case, golden, &taken), what);
        let mut twice = golden.clone();
        twice.records.insert(record, golden.records[record].clone());
        rates.note("line sent twice", reaction(dialect, case, golden, &twice), what);
        let text = line.as_str();
        let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
        let cut = with_line(golden, record, Some(text[..middle].to_owned()));
        rates.note("line cut off", reaction(dialect, case, golden, &cut), what);
        places(dialect, &what(), case, golden, record, rates);
        let mut found = Vec::new();
        leaves(dialect, &frame, "", &mut found);
        // The first occurrence of the id of a question or notice creates a binding, so any id is accepted
        // there.
        found.retain(|pointer| frame.get("method").is_none() || pointer != "/id");
        for pointer in found.iter().skip(*count % 3).step_by(3) {
            let what = || format!("{dialect}/{name} record {record} {pointer}: {:.200}", line.as_str());
            let value = frame.pointer(pointer).cloned().unwrap_or_default();
            for (kind, other) in
                [("value of another type", retyped(&value)), ("another value", changed(&value))]
            {
                let mut frame = frame.clone();
                *frame.pointer_mut(pointer).unwrap() = other;
                let observed = with_line(golden, record, Some(frame.to_string()));
                rates.note(kind, reaction(dialect, case, golden, &observed), what);
            }
            let mut frame = frame.clone();
            if without(&mut frame, pointer) {
                let observed = with_line(golden, record, Some(frame.to_string()));
                rates.note("member taken away", reaction(dialect, case, golden, &observed), what);
            }
        }
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "the counts are shown with --nocapture")]
fn removals_repetitions_and_changes_are_noticed() {
    let suite = Suite::embedded();
    let mut rates = Rates::default();
    let mut count = 0;
    for dialect in DIALECTS {
        for case in suite.cases(dialect).unwrap() {
            let Some(golden) = suite.golden(dialect, &case.name).unwrap() else { continue };
            lines(dialect, &case.name, &case, &golden, &mut rates, &mut count);
        }
    }
    let (noticed, all) = rates.noticed.values().fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    for (kind, (of, all)) in &rates.noticed {
        println!("{kind}: {of} of {all}");
    }
    println!("{noticed} of {all} changes are noticed; {} more fall under an allowance", rates.allowed);
    for what in rates.unnoticed.iter().take(40) {
        println!("not noticed: {what}");
    }
    assert!(all > 700, "only {all} changes");
    assert!(noticed * 1000 >= all * 995, "{noticed} of {all}");
    assert!(rates.allowed * 50 <= all, "{} of {all} changes fall under an allowance", rates.allowed);
}
