//! Outcome of a run, computed from its events. The declaration contains the rules for each event.

use std::borrow::Cow;

use crate::scan;

/// Outcome of a run according to one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportedOutcome {
    /// The request to the model failed.
    Failed,
    /// A client or the user aborted the run.
    Aborted,
    /// The agent repeats the request by itself.
    Retried,
    /// The run is successful so far.
    Fine,
}

/// A condition on a member. The member is given by its path of names. Null is treated as absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeTest {
    /// The member has that value, as text.
    Is(&'static [&'static str], &'static str),
    /// The member is present.
    Has(&'static [&'static str]),
}

/// The path of a member, and the outcome for each of its values.
pub type ValueOutcomes = (&'static [&'static str], &'static [(&'static str, ReportedOutcome)]);

/// A rule by which an event reports the outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutcomeRule {
    /// The list to whose items the rule applies; `None` if the rule applies to the event itself.
    pub over: Option<&'static [&'static str]>,
    /// Conditions, all of which must hold.
    pub when: &'static [OutcomeTest],
    /// The outcome. With `value_outcomes`, it applies only to values that are not listed there.
    pub outcome: ReportedOutcome,
    /// A member whose value determines the outcome, and the outcome for each value.
    pub value_outcomes: Option<ValueOutcomes>,
    /// Paths of members that may contain the reason. The first member with a value applies.
    pub message: &'static [&'static [&'static str]],
    /// The reason if no member contains one.
    pub text: &'static str,
    /// Paths of members that may contain the code of the failure. The first member with a value applies.
    pub code: &'static [&'static [&'static str]],
    /// `true` if the same prompt may succeed.
    pub retryable: bool,
}

/// Reason for the failure of a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the run failed: {message}")]
#[non_exhaustive]
pub struct RunFailure {
    /// The reason in the agent's words.
    pub message: String,
    /// Code of the failure, in dialects with codes.
    pub code: Option<String>,
    /// `true` if a repetition of the prompt may succeed. This is so if the agent itself retried, or reported
    /// that it was restarted.
    pub retryable: bool,
}

/// The reason of a failure for which the agent reports no reason.
const NO_REASON: &str = "the agent gave no reason";

/// The outcome of a run so far.
#[derive(Debug, Clone, Default)]
pub struct OutcomeTracker {
    reported: Option<ReportedOutcome>,
    message: Option<String>,
    code: Option<String>,
    retryable: bool,
    /// `true` after the agent acknowledged an abort.
    is_stopped: bool,
}

/// The outcome of a run after its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOutcome {
    /// The run completed.
    Done,
    /// A client or the user aborted the run.
    Aborted,
    /// The request to the model failed, and no retry succeeded.
    Failed(RunFailure),
}

impl OutcomeTracker {
    /// Applies an event according to these rules.
    pub fn apply_event(&mut self, rules: &[OutcomeRule], body: &str) {
        for rule in rules {
            let Some(list) = rule.over else {
                self.apply(rule, body);
                continue;
            };
            let Some(list) = find(body, list) else { continue };
            let each = |item| {
                self.apply(rule, item);
                Ok::<(), ()>(())
            };
            // A value that is not a list has no items.
            let _ = scan::items(list, each);
        }
    }

    /// Records the agent's acknowledgement of an abort.
    pub fn record_abort(&mut self) {
        self.is_stopped = true;
    }

    /// Records the rejection of the prompt during its run.
    pub fn record_rejection(&mut self, message: &str, code: Option<String>) {
        if self.reported != Some(ReportedOutcome::Failed) {
            self.reported = Some(ReportedOutcome::Failed);
            self.message = Some(message.to_owned());
        }
        self.code = self.code.take().or(code);
    }

    /// Returns `true` if the latest reported outcome is a failure or an abort.
    pub fn is_unsuccessful(&self) -> bool {
        matches!(self.reported, Some(ReportedOutcome::Failed | ReportedOutcome::Aborted))
    }

    /// Returns the final outcome of a run that has just ended.
    pub fn outcome(&self) -> RunOutcome {
        match self.reported {
            Some(ReportedOutcome::Aborted) => RunOutcome::Aborted,
            Some(ReportedOutcome::Failed) if !self.is_stopped => RunOutcome::Failed(RunFailure {
                message: self.message.clone().unwrap_or_else(|| NO_REASON.to_owned()),
                code: self.code.clone(),
                retryable: self.retryable,
            }),
            Some(ReportedOutcome::Fine) => RunOutcome::Done,
            _ if self.is_stopped => RunOutcome::Aborted,
            _ => RunOutcome::Done,
        }
    }

    fn apply(&mut self, rule: &OutcomeRule, value: &str) {
        if !rule.when.iter().all(|test| test.holds(value)) {
            return;
        }
        let mapped = rule.value_outcomes.and_then(|(path, outcomes)| {
            let text = scalar_text(find(value, path)?)?;
            outcomes.iter().find(|(known, _)| *known == text).map(|(_, outcome)| *outcome)
        });
        match mapped.unwrap_or(rule.outcome) {
            // A failure persists until the next answer of the model.
            ReportedOutcome::Retried => self.retryable = true,
            ReportedOutcome::Failed => {
                let message = first(value, rule.message)
                    .or_else(|| (!rule.text.is_empty()).then(|| rule.text.to_owned()));
                if self.reported != Some(ReportedOutcome::Failed) {
                    (self.message, self.code) = (None, None);
                }
                self.reported = Some(ReportedOutcome::Failed);
                self.message = message.or_else(|| self.message.take());
                self.code = first(value, rule.code).or_else(|| self.code.take());
                self.retryable |= rule.retryable;
            }
            outcome => {
                let is_stopped = self.is_stopped;
                *self = OutcomeTracker { reported: Some(outcome), is_stopped, ..OutcomeTracker::default() };
            }
        }
    }
}

impl OutcomeTest {
    fn holds(&self, value: &str) -> bool {
        let is =
            |path, wanted: &str| find(value, path).and_then(scalar_text).is_some_and(|word| word == wanted);
        match *self {
            OutcomeTest::Is(path, wanted) => is(path, wanted),
            OutcomeTest::Has(path) => find(value, path).is_some(),
        }
    }
}

/// Returns the raw member at a path. If several members have one name, the last one applies. Null is treated as
/// absent.
pub(crate) fn find<'a>(value: &'a str, path: &[&str]) -> Option<&'a str> {
    let mut found = value;
    for name in path {
        let mut member = None;
        let look = |raw, value| {
            if scan::is_named(raw, name) {
                member = Some(value);
            }
        };
        scan::members(found, look).ok()?;
        found = member?;
    }
    (!scan::is_null(found)).then_some(found)
}

/// Converts a value to the text that rules compare; `None` for objects and arrays.
pub(crate) fn scalar_text(raw: &str) -> Option<Cow<'_, str>> {
    match raw.as_bytes().first()? {
        b'"' => scan::string(raw),
        b'{' | b'[' => None,
        _ => Some(Cow::Borrowed(raw.trim())),
    }
}

/// Returns the first member in `paths` that has a value, as text.
fn first(value: &str, paths: &[&[&str]]) -> Option<String> {
    let found = paths.iter().find_map(|path| find(value, path))?;
    Some(scalar_text(found).map_or_else(|| found.to_owned(), Cow::into_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the test cases that the clients of all languages share.
    #[test]
    fn the_vectors_of_all_languages() {
        let cases: Vec<serde_json::Value> =
            serde_json::from_str(include_str!("../../../conformance/vectors/outcomes.json")).unwrap();
        assert!(cases.len() > 12);
        for case in cases {
            let (spec, _) = crate::dynamic::client(case["dialect"].as_str().unwrap()).unwrap();
            let mut standing = OutcomeTracker::default();
            for event in case["events"].as_array().unwrap() {
                if event == "stopped" {
                    standing.record_abort();
                    continue;
                }
                let rules = spec.event(event["type"].as_str().unwrap()).unwrap().outcome;
                standing.apply_event(rules, &event.to_string());
            }
            let verdict = match standing.outcome() {
                RunOutcome::Done => serde_json::json!("done"),
                RunOutcome::Aborted => serde_json::json!("aborted"),
                RunOutcome::Failed(failure) => serde_json::json!({
                    "message": failure.message, "code": failure.code, "retryable": failure.retryable,
                }),
            };
            assert_eq!(verdict, case["expect"], "{}: {}", case["dialect"], case["name"]);
        }
    }
}
