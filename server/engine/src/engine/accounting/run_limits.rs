//! Limits of a run: turns, cost, time, and equal failures of one tool call. Without I/O: the
//! [`crate::engine::UsageTracker`] holds the meter and supplies the cost.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use agentese::types::ToolCall;
use serde_json::Value;

use crate::config::RunLimits;
use crate::tools::{ToolContent, ToolOutput};

/// Number of equal failures of a tool call from which on the model receives a notice.
const NOTICE_THRESHOLD: u64 = 3;

/// A limit that a run has reached.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(in crate::engine) enum RunLimitError {
    #[error(
        "The run was ended: it has had {0} turns, which is its limit (limits.maxTurns, --max-turns). Send another prompt to go on."
    )]
    Turns(u64),
    #[error(
        "The run was ended: it has cost {used:.4} US dollars, and its limit is {limit} (limits.maxCostUsd, --max-cost). Send another prompt to go on."
    )]
    Cost { used: f64, limit: f64 },
    #[error(
        "The run was ended: it has lasted {} s, which is its limit (limits.maxTimeMs, --max-time). Send another prompt to go on.",
        .0.as_secs_f64()
    )]
    Time(Duration),
    #[error(
        "The run was ended: the same call of the tool {tool} has failed {count} times with the same error (limits.maxEqualCalls, --max-equal-calls). Send another prompt to go on."
    )]
    EqualCalls { tool: String, count: u64 },
}

/// The limits of a run, and the amount that the run has used of each.
#[derive(Debug, Default)]
pub(in crate::engine) struct RunMeter {
    limits: RunLimits,
    /// Start of the run, in milliseconds since the Unix epoch.
    started_at_ms: i64,
    /// Cost before the run began, in US dollars.
    cost_before: f64,
    turns: u64,
    failures: FailureCounts,
    /// The first reached limit.
    reached: Option<RunLimitError>,
}

impl RunMeter {
    /// Creates the meter of a run that starts now, with the cost before it in US dollars.
    pub fn new(limits: RunLimits, now_ms: i64, cost_before: f64) -> Self {
        Self { limits, started_at_ms: now_ms, cost_before, ..Self::default() }
    }

    /// Counts a turn that has its answer.
    pub fn count_turn(&mut self) {
        self.turns += 1;
    }

    /// Returns the limit that the run has reached.
    pub fn reached(&self) -> Option<&RunLimitError> {
        self.reached.as_ref()
    }

    /// Checks time and cost, the limits that also end the runs of subagents. Returns the limit that the run has
    /// reached.
    pub fn check_shared(&mut self, cost: f64, now_ms: i64) -> Option<&RunLimitError> {
        let used = cost - self.cost_before;
        let limit = self.limits.max_cost_usd;
        if self.reached.is_none() && self.until_end(now_ms).is_some_and(|left| left.is_zero()) {
            self.run_out_of_time();
        }
        if self.reached.is_none() && limit > 0.0 && used >= limit {
            self.reached = Some(RunLimitError::Cost { used, limit });
        }
        self.reached()
    }

    /// Checks all limits before another turn. Returns the limit that the run has reached.
    pub fn check(&mut self, cost: f64, now_ms: i64) -> Option<&RunLimitError> {
        let limit = self.limits.max_turns;
        if self.check_shared(cost, now_ms).is_none() && limit > 0 && self.turns >= limit {
            self.reached = Some(RunLimitError::Turns(limit));
        }
        self.reached()
    }

    /// Returns the remaining time of the run; `None` without a limit.
    pub fn until_end(&self, now_ms: i64) -> Option<Duration> {
        let limit = Some(self.limits.max_time_ms).filter(|limit| *limit > 0)?;
        let lasted = u64::try_from(now_ms.saturating_sub(self.started_at_ms)).unwrap_or_default();
        Some(Duration::from_millis(limit.saturating_sub(lasted)))
    }

    /// Records that the time of the run has elapsed.
    pub fn run_out_of_time(&mut self) {
        let limit = Duration::from_millis(self.limits.max_time_ms);
        self.reached.get_or_insert(RunLimitError::Time(limit));
    }

    /// Records the result of a call. If the call has failed several times in the same way, adds a notice for the model
    /// to the result.
    pub fn count_result(&mut self, call: &ToolCall, output: &mut ToolOutput) {
        let count = self.failures.count(call, output);
        let most = self.limits.max_equal_calls;
        let ends = most > 0 && count >= most;
        if ends && self.reached.is_none() {
            self.reached = Some(RunLimitError::EqualCalls { tool: call.name.clone(), count });
        }
        if ends || count >= NOTICE_THRESHOLD {
            add_notice(output, count, most);
        }
    }
}

/// Adds a notice for the model about the number of equal failures.
fn add_notice(output: &mut ToolOutput, count: u64, most: u64) {
    let advice = match most {
        0 => "Do something else.".to_owned(),
        most if count >= most => "The run was ended.".to_owned(),
        most => format!("Do something else: after {most} such failures the run is ended."),
    };
    let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let notice =
        format!("[This call has failed {times} with the same arguments and the same error. {advice}]");
    match output.content.last_mut() {
        Some(ToolContent::Text(text)) => {
            text.push_str(if text.is_empty() { "" } else { "\n\n" });
            text.push_str(&notice);
        }
        _ => output.content.push(ToolContent::Text(notice)),
    }
}

/// Number of equal failures, for each failed call of a run.
///
/// A successful call with a new result is progress and resets all counts. Any other success resets only the counts
/// of that call.
#[derive(Debug, Default)]
struct FailureCounts {
    /// Number of failures; the outer key is the hash of the call, the inner key is the hash of the error.
    failures: HashMap<u64, HashMap<u64, u64>>,
    /// Hash of the last result of each successful call, by the hash of the call.
    results: HashMap<u64, u64>,
}

impl FailureCounts {
    /// Records the result of a call. Returns the number of equal failures of the call so far; 0 if the call
    /// succeeded.
    fn count(&mut self, call: &ToolCall, output: &ToolOutput) -> u64 {
        let (call, result) = (hash_of_call(call), hash_of_output(output));
        if output.is_error {
            let count = self.failures.entry(call).or_default().entry(result).or_default();
            *count += 1;
            return *count;
        }
        if self.results.insert(call, result) == Some(result) {
            self.failures.remove(&call);
        } else {
            self.failures.clear();
        }
        0
    }
}

/// Returns a hash of a call: its tool, its arguments, and the error in the arguments. The order of the arguments
/// does not matter.
fn hash_of_call(call: &ToolCall) -> u64 {
    let mut arguments = Value::Object(call.arguments.clone());
    arguments.sort_all_objects();
    let mut hasher = DefaultHasher::new();
    (&call.name, arguments.to_string(), &call.arguments_error).hash(&mut hasher);
    hasher.finish()
}

fn hash_of_output(output: &ToolOutput) -> u64 {
    let mut hasher = DefaultHasher::new();
    for block in &output.content {
        match block {
            ToolContent::Text(text) => text.hash(&mut hasher),
            ToolContent::Image { data, mime_type } => (data, mime_type).hash(&mut hasher),
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str, arguments: &Value) -> ToolCall {
        ToolCall::new("id", name, arguments.as_object().unwrap().clone())
    }

    fn meter(limits: RunLimits) -> RunMeter {
        RunMeter::new(limits, 1000, 1.0)
    }

    fn text(output: &ToolOutput) -> &str {
        match &output.content[..] {
            [ToolContent::Text(text)] => text,
            other => panic!("{other:?}"),
        }
    }

    /// Records `times` failures of the tool call `a`, and after each failure the results `between`. Returns
    /// the texts of the failures.
    fn failures(meter: &mut RunMeter, times: usize, between: &[(&str, ToolOutput)]) -> Vec<String> {
        let mut texts = Vec::new();
        for _ in 0..times {
            let mut output = ToolOutput::error("no");
            meter.count_result(&call("a", &json!({"x": 1, "y": {"b": 1, "a": 2}})), &mut output);
            texts.push(text(&output).to_owned());
            for (tool, output) in between {
                meter.count_result(&call(tool, &json!({})), &mut output.clone());
            }
        }
        texts
    }

    #[test]
    fn equal_failures_get_a_notice_from_the_third_and_end_the_run_at_the_eighth() {
        let mut meter = meter(RunLimits::default());
        let texts = failures(&mut meter, 7, &[]);
        assert_eq!(texts[..2], ["no", "no"]);
        assert_eq!(
            texts[2],
            "no\n\n[This call has failed 3 times with the same arguments and the same error. Do something else: after 8 such failures the run is ended.]"
        );
        assert_eq!(meter.reached(), None);
        assert!(failures(&mut meter, 1, &[])[0].ends_with("The run was ended.]"));
        assert_eq!(meter.reached(), Some(&RunLimitError::EqualCalls { tool: "a".into(), count: 8 }));
    }

    #[test]
    fn the_order_of_arguments_is_the_same_call_and_other_arguments_are_another() {
        let mut repeats = FailureCounts::default();
        let error = ToolOutput::error("no");
        assert_eq!(repeats.count(&call("a", &json!({"x": 1, "y": 2})), &error), 1);
        assert_eq!(repeats.count(&call("a", &json!({"y": 2, "x": 1})), &error), 2);
        assert_eq!(repeats.count(&call("a", &json!({"x": 1})), &error), 1);
        assert_eq!(repeats.count(&call("b", &json!({"x": 1, "y": 2})), &error), 1);
        assert_eq!(repeats.count(&call("a", &json!({"x": 1, "y": 2})), &ToolOutput::error("other")), 1);
        assert_eq!(repeats.count(&call("a", &json!({"x": 1, "y": 2})), &error), 3);
    }

    #[test]
    fn alternating_failures_and_repeated_successes_do_not_reset_the_count() {
        let mut two = meter(RunLimits::default());
        // The first success of `c` is progress.
        failures(&mut two, 9, &[("b", ToolOutput::error("no")), ("c", ToolOutput::text("same"))]);
        assert!(two.reached().is_some());
        let mut polling = meter(RunLimits::default());
        for number in 0..50 {
            failures(&mut polling, 1, &[("b", ToolOutput::text(number.to_string()))]);
        }
        assert_eq!(polling.reached(), None, "something new was seen each time");
        let mut again = meter(RunLimits::default());
        for _ in 0..50 {
            failures(&mut again, 7, &[("a", ToolOutput::error("another"))]);
            again.count_result(
                &call("a", &json!({"x": 1, "y": {"a": 2, "b": 1}})),
                &mut ToolOutput::text("ok"),
            );
            again.count_result(&call("a", &json!({})), &mut ToolOutput::text("ok"));
        }
        assert_eq!(again.reached(), None, "it succeeds now and then");
    }

    #[test]
    fn without_a_limit_the_model_gets_a_notice_and_the_run_continues() {
        let mut endless = meter(RunLimits { max_equal_calls: 0, ..RunLimits::default() });
        let texts = failures(&mut endless, 100, &[]);
        assert!(texts[99].ends_with(
            "[This call has failed 100 times with the same arguments and the same error. Do something else.]"
        ));
        assert_eq!(endless.check(1000.0, i64::MAX), None);
    }

    #[test]
    fn turns_cost_and_time_have_limits_of_their_own() {
        let limits = RunLimits { max_turns: 2, max_cost_usd: 0.5, max_time_ms: 300, ..RunLimits::default() };
        let mut turns = meter(limits);
        turns.count_turn();
        assert_eq!(turns.check(1.4, 1299), None, "what was spent before does not count");
        turns.count_turn();
        assert_eq!(turns.check_shared(1.4, 1299), None, "turns are those of the run alone");
        assert_eq!(turns.check(1.4, 1299), Some(&RunLimitError::Turns(2)));
        assert_eq!(turns.check(9.0, 9999), Some(&RunLimitError::Turns(2)), "the first one is reported");
        assert_eq!(meter(limits).check(1.5, 1299), Some(&RunLimitError::Cost { used: 0.5, limit: 0.5 }));
        let mut late = meter(limits);
        assert_eq!(late.until_end(1100), Some(Duration::from_millis(200)));
        assert_eq!(late.check(1.0, 1300), Some(&RunLimitError::Time(Duration::from_millis(300))));
        assert_eq!(meter(RunLimits::default()).until_end(5), None);
    }
}
