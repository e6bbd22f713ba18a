//! Lines of a case, and the reasons for which a case can break off.

use agentese::types::Scenario;
use agentese_conformance::transcript::{Record, Transcript};
use serde_json::Value;

/// Returns the steps of a case that send a line: the number of the step, from 1, and the line.
pub fn sends(case: &Scenario) -> impl Iterator<Item = (usize, String)> {
    let steps = serde_json::to_value(&case.steps).unwrap();
    let steps: Vec<Value> = steps.as_array().cloned().unwrap_or_default();
    let numbered = steps.into_iter().zip(1..);
    numbered.filter_map(|(step, number)| Some((number, step.get("send")?.to_string())))
}

/// Returns the position of the last line that the client sends before a step. If the case broke off at that
/// step, all later records may be missing.
pub fn sent_until(case: &Scenario, step: usize, golden: &Transcript) -> usize {
    let sent = sends(case).filter(|(number, _)| *number < step).count();
    let places = golden.records.iter().enumerate().filter(|(_, record)| matches!(record, Record::Sent(_)));
    places.take(sent).last().map_or(0, |(place, _)| place)
}

/// Returns `true` if a wait timed out while the agent was running and had answered all commands. Also
/// returns `true` if an answer lacks a member that the case needs.
pub fn is_wait_of_a_live_agent(message: &str) -> bool {
    let is_over = message.contains("no frame like ") && message.contains(": timeout");
    lacks_a_member(message) || is_over && !message.contains("was not answered")
}

pub fn lacks_a_member(message: &str) -> bool {
    message.contains("the awaited frame has no `")
}

/// Returns the client's last command before a position of the recording.
pub fn sent_before(record: usize, golden: &Transcript) -> Option<String> {
    golden.records.get(..record)?.iter().rev().find_map(|record| match record {
        Record::Sent(line) => command(line.as_str()).map(|_| line.as_str().to_owned()),
        _ => None,
    })
}

/// Returns `true` if the command has one of these parameters.
pub fn sends_any(line: &str, params: &[String]) -> bool {
    let frame: Value = serde_json::from_str(line).unwrap_or_default();
    let given = frame.get("params").unwrap_or(&frame);
    params.iter().any(|param| given.get(param).is_some_and(|value| !value.is_null()))
}

/// Returns the name of the command in a line of the client.
pub fn command(line: &str) -> Option<String> {
    let frame: Value = serde_json::from_str(line).ok()?;
    let name = frame.get("method").or_else(|| frame.get("type"))?;
    name.as_str().map(str::to_owned)
}
