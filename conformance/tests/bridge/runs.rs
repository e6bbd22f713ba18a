//! Check of the runs in a bridge's output. Runs, turns and messages start and end in order, and repeated
//! messages equal the original ones.
//!
//! A bridge creates all these events itself, so a wrong event is always an error of the bridge.

use agentese_conformance::transcript::Transcript;
use serde_json::Value;

use crate::front_output::{FrontFrame, front_frames};
use crate::loss_report::UnexplainedDifference;

/// Name of the check that runs are in order and repeated messages are correct.
const RUNS: &str = "runs";

/// Members that repeat the content of other frames, by event. This check compares them with those frames, so
/// they need not equal the recording.
const REPEATS: &[(&str, &[&str])] =
    &[("agent_end", &["messages"]), ("turn_end", &["message", "toolResults", "tool_results"])];

/// Returns `true` if the member of an event repeats content of other frames.
pub fn repeats(event: &str, path: &str) -> bool {
    let first = path.split(['.', '[']).next().unwrap_or_default();
    REPEATS.iter().any(|(known, members)| *known == event && members.contains(&first))
}

/// Member that a tool call gets only when it starts to run, after the end of its message.
const WRITTEN_LATER: &str = "intent";

/// Roles of messages that belong to a run. Messages with other roles may occur at any time.
const OF_RUNS: &[&str] = &["user", "assistant", "toolResult"];

/// State of a run, derived from its events so far.
#[derive(Default)]
struct RunChecker {
    is_active: bool,
    /// Completed messages of the run.
    messages: Vec<Value>,
    /// Number of messages of the run before the current turn; `None` outside a turn.
    turn: Option<usize>,
    /// Results of tools in the current turn that are not messages.
    results: Vec<Value>,
    /// Role of the message in progress; `None` without one.
    open: Option<String>,
    unexplained: Vec<UnexplainedDifference>,
}

/// Returns a difference for each event that is out of order or repeats a message wrongly. Only dialects with
/// events for the end of a message are checked.
pub fn wrong(observed: &Transcript) -> Vec<UnexplainedDifference> {
    let events = || {
        front_frames(observed).filter_map(|told| match told {
            FrontFrame::Event(kind, event) => Some((kind, event)),
            FrontFrame::Answer(_) => None,
        })
    };
    let mut runs = RunChecker::default();
    if events().any(|(kind, _)| kind == "message_end") {
        events().for_each(|(kind, event)| runs.add_event(&kind, &event));
    }
    runs.unexplained
}

impl RunChecker {
    fn add_event(&mut self, kind: &str, event: &Value) {
        match kind {
            "agent_start" => {
                self.check(!self.is_active, kind, "", "it begins within another run");
                let left = std::mem::take(&mut self.unexplained);
                *self = RunChecker { is_active: true, unexplained: left, ..RunChecker::default() };
            }
            "agent_end" => {
                self.check(self.is_active, kind, "", "no run has begun");
                self.check(self.turn.is_none(), kind, "", "a turn goes on");
                self.repeats(kind, "messages", event, |runs| Value::from(runs.messages.clone()));
                self.is_active = false;
            }
            "turn_start" => {
                self.check(self.is_active, kind, "", "no run has begun");
                self.check(self.turn.is_none(), kind, "", "it begins within another turn");
                self.turn = Some(self.messages.len());
                self.results.clear();
            }
            "turn_end" => {
                self.check(self.turn.is_some(), kind, "", "no turn has begun");
                self.repeats(kind, "message", event, |runs| {
                    let of_model = |message: &&&Value| message["role"] == "assistant";
                    runs.of_the_turn().rev().find(|message| of_model(&message)).cloned().unwrap_or_default()
                });
                self.repeats(kind, "toolResults", event, |runs| {
                    let of_tools = runs.of_the_turn().filter(|message| message["role"] == "toolResult");
                    Value::from(of_tools.cloned().collect::<Vec<_>>())
                });
                self.repeats(kind, "tool_results", event, |runs| Value::from(runs.results.clone()));
                self.turn = None;
            }
            "message_start" => {
                self.check(self.open.is_none(), kind, "", "the one before has not ended");
                let is_of_run = OF_RUNS.contains(&role(event));
                self.check(self.is_active || !is_of_run, kind, "", "it stands in no run");
                self.open = Some(role(event).to_owned());
            }
            "message_end" => {
                let begun = self.open.take();
                // The message of a failed answer may be null.
                let is_it = event["message"].is_null() || begun.as_deref() == Some(role(event));
                self.check(begun.is_some() && is_it, kind, "", "it is not the one that has begun");
                self.messages.extend(Some(&event["message"]).filter(|message| !message.is_null()).cloned());
            }
            "tool_execution_end" => self.results.extend(event.get("tool_result").cloned()),
            _ => {}
        }
    }

    fn of_the_turn(&self) -> impl DoubleEndedIterator<Item = &Value> {
        self.messages.iter().skip(self.turn.unwrap_or_default())
    }

    /// Checks that a member, if present, equals the earlier content that it repeats.
    fn repeats(&mut self, kind: &str, member: &str, event: &Value, said: impl Fn(&Self) -> Value) {
        let Some(again) = event.get(member) else { return };
        let (again, said) = (finished(again), finished(&said(self)));
        self.check(again == said, kind, member, &format!("it is {again}, and was {said}"));
    }

    fn check(&mut self, holds: bool, row: &str, path: &str, message: &str) {
        if !holds {
            let says = format!("{RUNS} of {row}, {path}: {message}");
            self.unexplained.push(UnexplainedDifference {
                check: RUNS.to_owned(),
                row: row.to_owned(),
                path: path.to_owned(),
                message: says,
            });
        }
    }
}

fn role(event: &Value) -> &str {
    event["message"]["role"].as_str().unwrap_or_default()
}

/// Returns the value without members that tool calls get later.
fn finished(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(finished).collect(),
        Value::Object(members) => {
            let is_call = members.get("type").is_some_and(|kind| kind == "toolCall");
            let kept = members.iter().filter(|(name, _)| !(is_call && *name == WRITTEN_LATER));
            kept.map(|(name, value)| (name.clone(), finished(value))).collect()
        }
        value => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::front_output::session_of;

    fn run() -> Vec<Value> {
        let said = json!({"role": "user", "content": "go"});
        let call = |more: Value| {
            let mut call = json!({"type": "toolCall", "id": "c"});
            call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"role": "assistant", "content": [call]})
        };
        let (answer, result) = (call(json!({})), json!({"role": "toolResult", "toolCallId": "c"}));
        let told = |message: &Value| {
            [
                json!({"type": "message_start", "message": message}),
                json!({"type": "message_end", "message": message}),
            ]
        };
        let mut frames = vec![json!({"type": "agent_start"}), json!({"type": "turn_start"})];
        frames.extend([&said, &answer, &result].into_iter().flat_map(told));
        let ran = call(json!({"intent": "looking"}));
        frames.push(json!({"type": "turn_end", "message": ran, "toolResults": [result]}));
        frames.push(json!({"type": "agent_end", "messages": [said, ran, result]}));
        frames
    }

    fn of(frames: &[Value]) -> Vec<(String, String)> {
        wrong(&session_of(frames)).into_iter().map(|left| (left.row, left.path)).collect()
    }

    #[test]
    fn a_run_in_order_with_correct_repetitions_passes() {
        assert_eq!(of(&run()), []);
        let enveloped: Vec<Value> =
            run().into_iter().map(|event| json!({"type": "event", "event": event})).collect();
        assert_eq!(of(&enveloped), []);
        assert_eq!(of(&[run(), run()].concat()), []);
    }

    #[test]
    fn a_member_that_repeats_otherwise_is_wrong() {
        for (place, member, value) in [
            (9, "messages", json!([])),
            (8, "message", json!({"role": "user", "content": "go"})),
            (8, "toolResults", json!([])),
        ] {
            let mut frames = run();
            frames[place][member] = value;
            let row = frames[place]["type"].as_str().unwrap().to_owned();
            assert_eq!(of(&frames), [(row, member.to_owned())]);
        }
    }

    #[test]
    fn dropped_and_repeated_frames_are_out_of_order() {
        for place in 0..10 {
            let (mut dropped, mut doubled) = (run(), run());
            dropped.remove(place);
            doubled.insert(place, doubled[place].clone());
            // Without the last frame, the run has no end, which this check does not report.
            assert!(place == 9 || !of(&dropped).is_empty(), "{place}");
            assert_ne!(of(&doubled), [], "{place}");
        }
    }
}
