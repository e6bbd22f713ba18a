//! Limits of a run that the client enforces. A meter without I/O evaluates the events of the run.
//!
//! The declaration lists the events that contain turns, cost and tool calls, and the paths of the values.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use crate::generated::measures::MEASURES;
use crate::outcome::{RunFailure, find, scalar_text};

/// Limits of a run. When the run reaches a limit, the client sends the abort command. The run then fails with a
/// [`RunFailure`] whose code is the name of the limit.
///
/// `None` stands for no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RunLimits {
    /// Maximum number of turns (`max_turns`). The run is stopped when another turn begins.
    pub max_turns: Option<u64>,
    /// Maximum cost in US dollars (`max_cost`), as the agent reports it. The run is stopped when another turn begins.
    pub max_cost: Option<f64>,
    /// Maximum duration (`max_time`), from the prompt on.
    pub max_time: Option<Duration>,
    /// Maximum number of failures of equal tool calls (`max_equal_calls`). Calls are equal if tool and
    /// arguments are equal; the errors may differ. A successful call resets all counts if its result differs
    /// from that of the last equal call.
    pub max_equal_calls: Option<u64>,
}

/// Events of a dialect from which the usage of a run is computed.
#[derive(Debug, Clone, Copy)]
pub struct Measures {
    /// Name of the dialect.
    pub dialect: &'static str,
    /// The event with which a turn begins.
    pub turn: &'static str,
    /// The event that contains the cost of a model's answer, and the path of the cost; `None` if the dialect
    /// does not report the cost.
    pub cost: Option<(&'static str, MemberPath)>,
    /// The event with which a call begins.
    pub call: CallEvent,
    /// The result of a call.
    pub result: CallResultEvent,
}

/// The names that lead to a member.
pub type MemberPath = &'static [&'static str];

/// The event with which a call begins.
#[derive(Debug, Clone, Copy)]
pub struct CallEvent {
    /// Type of the event.
    pub event: &'static str,
    /// The call's id.
    pub id: MemberPath,
    /// Name of the tool.
    pub tool: MemberPath,
    /// Path of the call's arguments.
    pub arguments: MemberPath,
}

/// The event with the result of a call.
#[derive(Debug, Clone, Copy)]
pub struct CallResultEvent {
    /// Type of the event.
    pub event: &'static str,
    /// The call's id.
    pub id: MemberPath,
    /// The member that reports success or failure, and its value after a failure.
    pub failed: (MemberPath, &'static str),
    /// Path of the call's result.
    pub output: MemberPath,
}

impl RunLimits {
    /// Returns `true` if there is no limit.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the meter of a run of the given dialect. Fails if the dialect does not report a value that a
    /// limit needs.
    pub(crate) fn meter(self, dialect: &str) -> Result<RunMeter, String> {
        let measures = MEASURES.iter().find(|measures| measures.dialect == dialect);
        let measures = measures.ok_or_else(|| format!("agents of {dialect} do not report a run's usage"))?;
        if self.max_cost.is_some() && measures.cost.is_none() {
            return Err(format!("agents of {dialect} do not report a run's cost: leave max_cost out"));
        }
        Ok(RunMeter {
            limits: self,
            measures,
            turns: 0,
            cost: 0.0,
            calls: HashMap::new(),
            repeats: RepeatCounter::default(),
        })
    }

    /// Returns the failure of a run that has reached its maximum duration.
    pub(crate) fn out_of_time(&self) -> RunFailure {
        let seconds = self.max_time.unwrap_or_default().as_secs_f64();
        failure("max_time", format!("it has lasted {seconds} s, which is its limit"))
    }
}

fn failure(code: &str, reason: String) -> RunFailure {
    RunFailure {
        message: format!("the run was stopped: {reason}"),
        code: Some(code.to_owned()),
        retryable: false,
    }
}

/// Usage of a run with limits.
#[derive(Debug)]
pub(crate) struct RunMeter {
    pub limits: RunLimits,
    measures: &'static Measures,
    turns: u64,
    cost: f64,
    /// Calls without a result, by id.
    calls: HashMap<String, OpenCall>,
    repeats: RepeatCounter,
}

impl RunMeter {
    /// Processes an event. If the run reaches a limit, returns the failure of the run.
    pub fn record_event(&mut self, kind: &str, body: &str) -> Option<RunFailure> {
        let Measures { turn, cost, call, result, .. } = self.measures;
        if let Some((_, path)) = cost.filter(|(event, _)| *event == kind) {
            let cost = find(body, path).and_then(|raw| raw.trim().parse::<f64>().ok());
            self.cost += cost.unwrap_or_default();
        }
        if kind == *turn {
            return self.begin_turn();
        }
        if kind == call.event && self.limits.max_equal_calls.is_some() {
            let name = find(body, call.tool).and_then(scalar_text).unwrap_or_default();
            let arguments = find(body, call.arguments).map(canonical_json).unwrap_or_default();
            let digest = Digest::of(&format!("{name} {arguments}"));
            self.calls.insert(id(body, call.id), OpenCall { tool: name.into_owned(), digest });
        }
        if kind == result.event {
            let most = self.limits.max_equal_calls?;
            let OpenCall { tool, digest } = self.calls.remove(&id(body, result.id))?;
            let failed =
                find(body, result.failed.0).and_then(scalar_text).is_some_and(|word| word == result.failed.1);
            let output = find(body, result.output).unwrap_or_default();
            if failed && self.repeats.fail(digest) >= most {
                let reason = format!("one call of the tool {tool} has failed {most} times");
                return Some(failure("max_equal_calls", reason));
            }
            if !failed {
                self.repeats.succeed(digest, Digest::of(output));
            }
        }
        None
    }

    fn begin_turn(&mut self) -> Option<RunFailure> {
        if let Some(most) = self.limits.max_turns.filter(|most| self.turns >= *most) {
            return Some(failure("max_turns", format!("it has had {most} turns, which is its limit")));
        }
        if let Some(most) = self.limits.max_cost.filter(|most| self.turns > 0 && self.cost >= *most) {
            let reason = format!("it has cost {} US dollars, and its limit is {most}", self.cost);
            return Some(failure("max_cost", reason));
        }
        self.turns += 1;
        None
    }
}

fn id(body: &str, path: MemberPath) -> String {
    find(body, path).and_then(scalar_text).unwrap_or_default().into_owned()
}

/// Returns a text that is the same for all spellings of an equal value, regardless of the order of members.
fn canonical_json(raw: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<serde_json::Value>(raw) else { return raw.to_owned() };
    value.sort_all_objects();
    value.to_string()
}

/// A call without a result.
#[derive(Debug)]
struct OpenCall {
    tool: String,
    /// Digest of the tool and the arguments.
    digest: Digest,
}

/// Length and hash of a text. Digests of equal texts are equal; those of different texts almost never are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Digest {
    length: usize,
    hash: u64,
}

impl Digest {
    fn of(text: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Self { length: text.len(), hash: hasher.finish() }
    }
}

/// Number of failures of each call, and the last result of each successful call.
#[derive(Debug, Default)]
struct RepeatCounter {
    failures: HashMap<Digest, u64>,
    results: HashMap<Digest, Digest>,
}

impl RepeatCounter {
    fn fail(&mut self, call: Digest) -> u64 {
        let count = self.failures.entry(call).or_default();
        *count += 1;
        *count
    }

    fn succeed(&mut self, call: Digest, output: Digest) {
        self.failures.remove(&call);
        if self.results.insert(call, output) != Some(output) {
            self.failures.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Runs the test cases that the clients of all languages share.
    #[test]
    fn the_vectors_of_all_languages() {
        let cases: Vec<Value> =
            serde_json::from_str(include_str!("../../../conformance/vectors/run_limits.json")).unwrap();
        assert!(cases.len() > 10);
        for case in cases {
            let limits = &case["limits"];
            let limits = RunLimits {
                max_turns: limits["maxTurns"].as_u64(),
                max_cost: limits["maxCost"].as_f64(),
                max_time: None,
                max_equal_calls: limits["maxEqualCalls"].as_u64(),
            };
            let name = format!("{}: {}", case["dialect"], case["name"]);
            let mut meter = match limits.meter(case["dialect"].as_str().unwrap()) {
                Ok(meter) => meter,
                Err(reason) => {
                    assert_eq!(case["refused"], reason, "{name}");
                    continue;
                }
            };
            let events = case["events"].as_array().unwrap().iter().flat_map(|event| {
                let times = event["times"].as_u64().unwrap_or(1);
                let all = event["events"].as_array().cloned().unwrap_or_else(|| vec![event.clone()]);
                (0..times).flat_map(move |_| all.clone())
            });
            let reached = events.enumerate().find_map(|(at, event)| {
                let failure = meter.record_event(event["type"].as_str().unwrap(), &event.to_string())?;
                Some(serde_json::json!({"at": at, "code": failure.code, "message": failure.message}))
            });
            assert_eq!(reached.unwrap_or(Value::Null), case["expect"], "{name}");
        }
    }

    #[test]
    fn long_arguments_and_results_are_not_retained() {
        let limits = RunLimits { max_equal_calls: Some(2), ..RunLimits::default() };
        let mut meter = limits.meter("pi").unwrap();
        for number in 0..8 {
            let long = format!("{number} ").repeat(10_000);
            let call = json!({"type": "tool_execution_start", "toolCallId": number.to_string(), "toolName": "write",
                              "args": {"text": long}});
            assert_eq!(meter.record_event("tool_execution_start", &call.to_string()), None);
            let result = json!({"type": "tool_execution_end", "toolCallId": number.to_string(), "toolName": "write",
                                "isError": number % 3 == 1, "result": {"content": [{"type": "text", "text": long}]}});
            // The last calls have no result yet.
            if number < 6 {
                assert_eq!(meter.record_event("tool_execution_end", &result.to_string()), None);
            }
        }
        let kept = format!("{meter:?}").len();
        assert!(kept < 4000, "{kept} characters are stored for 8 long calls");
    }
}
