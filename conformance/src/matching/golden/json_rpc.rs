//! Comparison of two JSON-RPC 2.0 answers.

use serde_json::Value;

use super::answers::{AnswerComparer, compare_error_texts};
use super::pairing::{allowance_with_form, command_of};
use super::tables::Form;
use super::transcript_streams::Frame;
use super::walk::FrameWalker;
use crate::matching::difference::{Difference, Weight, brief};

impl AnswerComparer<'_, '_, '_> {
    pub(super) fn json_rpc(&mut self, expected: &Frame, actual: &Frame) -> Vec<Difference> {
        let mut found = Vec::new();
        let (golden, observed) = (&expected.value, &actual.value);
        if golden.get("id") != observed.get("id") {
            found.push(Difference::new(Weight::Must, "id", "the id is different"));
        }
        match (golden.get("error"), observed.get("error")) {
            (None, None) => {
                let result =
                    self.state.rules.command(&expected.name).and_then(|command| command.result.as_ref());
                match (golden.get("result"), observed.get("result")) {
                    (Some(golden), Some(observed)) => {
                        found
                            .extend(FrameWalker::below(self.state, "result").typed(result, golden, observed));
                    }
                    (Some(_), None) => found.push(Difference::new(Weight::Must, "result", "missing")),
                    _ => {}
                }
            }
            (Some(golden), Some(observed)) => self.json_rpc_error(expected, golden, observed, &mut found),
            (None, Some(error)) => {
                let message = format!("failure {} instead of a result", brief(error));
                let difference = Difference::new(Weight::Must, "error", message);
                let is_error = error.get("code").is_some_and(Value::is_i64)
                    && error.get("message").is_some_and(Value::is_string);
                let allowance = command_of(self.golden, expected)
                    .filter(|_| is_error)
                    .and_then(|sent| self.refusal_allowance(sent));
                found.push(match allowance {
                    Some(allowance) => difference.allowed(allowance),
                    None => difference,
                });
            }
            (Some(error), None) => {
                let message = format!("result instead of the failure {}", brief(error));
                found.push(Difference::new(Weight::Must, "result", message));
            }
        }
        found
    }

    fn json_rpc_error(
        &mut self,
        recorded: &Frame,
        golden: &Value,
        observed: &Value,
        found: &mut Vec<Difference>,
    ) {
        let code = |error: &Value| error.get("code").and_then(Value::as_i64);
        let (expected, actual) = (code(golden), code(observed));
        let mut other = None;
        if expected != actual {
            let name = |code: Option<i64>| code.map_or("missing".to_owned(), |code| code.to_string());
            let message = format!("the code is {} instead of {}", name(actual), name(expected));
            let is = |row: &Form| matches!(row, Form::ErrorCode(from, to) if Some(*from) == expected && Some(*to) == actual);
            let difference = Difference::new(Weight::Must, "error.code", message);
            other = allowance_with_form(self.state.rules, is);
            found.push(match other {
                Some(allowance) => difference.allowed(allowance),
                None => difference,
            });
        }
        match (golden.get("message").and_then(Value::as_str), observed.get("message").and_then(Value::as_str))
        {
            (Some(golden), Some(observed)) => {
                let differs = compare_error_texts(
                    self.state,
                    &recorded.name,
                    &recorded.name,
                    golden,
                    observed,
                    "error.message",
                );
                // If the code differs, the text differs as a consequence.
                found.extend(differs.map(|differs| match other {
                    Some(allowance) => differs.allowed(allowance),
                    None => differs,
                }));
            }
            (_, None) => {
                found.push(Difference::new(Weight::Must, "error.message", "missing, or not a string"))
            }
            (None, Some(_)) => {}
        }
        if golden.get("data") != observed.get("data") {
            found.push(Difference::new(Weight::Info, "error.data", "the additional data is different"));
        }
        let names = observed.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        for name in names.filter(|name| golden.get(name).is_none() && *name != "data") {
            // Additional members are allowed in every record, also here.
            found.push(Difference::new(Weight::Info, format!("error.{name}"), "additional member"));
        }
    }
}
