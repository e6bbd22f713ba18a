//! Own choices of an agent, such as its model, its thinking level, or the use of a session file.
//!
//! The golden transcripts contain the choices of the recorded agent. The observed agent may make other
//! choices, but must be consistent in all frames. Values that the case sends are not choices.

use std::collections::HashSet;

use agentese::types::Scenario;
use serde_json::{Map, Value};

use super::tables::{Choice, ChoiceEffect};
use crate::matching::path;

/// Choices of the recorded agent and of this one.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    recorded: Value,
    own: Value,
}

impl Choices {
    /// Reads the choices of both agents from their answers to the state query. If one of the answers is
    /// missing, all values are compared.
    pub fn new(recorded: Option<&Map<String, Value>>, own: Option<&Map<String, Value>>) -> Self {
        match (recorded, own) {
            (Some(recorded), Some(own)) => {
                Self { recorded: Value::Object(recorded.clone()), own: Value::Object(own.clone()) }
            }
            _ => Self::default(),
        }
    }

    /// Returns the recorded and the observed choice at a path of the state, or `None` if they are equal.
    fn at(&self, state: &str) -> Option<(Option<&Value>, Option<&Value>)> {
        let of = |value| path::get(value, state).filter(|value| !value.is_null());
        let (recorded, own) = (of(&self.recorded), of(&self.own));
        (recorded != own).then_some((recorded, own))
    }
}

/// Expectation that replaces the recorded agent's choice.
#[derive(Debug, PartialEq)]
pub(super) enum ExpectedChoice<'c> {
    /// This value is expected.
    Value(&'c Value),
    /// No value, or null, is expected.
    Nothing,
    /// Any number that is not negative is expected.
    Amount,
    /// Any value is accepted.
    Any,
}

/// The choices, and the values that one case sends.
#[derive(Debug)]
pub(super) struct CaseChoices<'a> {
    choices: &'a Choices,
    /// Texts and booleans that the case sends, as JSON.
    sent: HashSet<String>,
}

impl<'a> CaseChoices<'a> {
    pub(super) fn new(choices: &'a Choices, case: &Scenario) -> Self {
        let mut sent = HashSet::new();
        for step in &case.steps {
            if let agentese::types::ScenarioStep::Send(step) = step {
                collect_sent(&step.send, &mut sent);
            }
        }
        Self { choices, sent }
    }

    /// Returns the expectation for a member that depends on a choice. Returns `None` if `golden` does not
    /// come from the recorded agent's choice.
    pub(super) fn expected(&self, row: &Choice, golden: Option<&Value>) -> Option<ExpectedChoice<'a>> {
        let (recorded, own) = self.choices.at(row.state)?;
        match row.effect {
            ChoiceEffect::Amount => {
                golden.filter(|golden| golden.is_number()).map(|_| ExpectedChoice::Amount)
            }
            ChoiceEffect::Presence => match (recorded, own) {
                (Some(_), None) => golden.map(|_| ExpectedChoice::Nothing),
                (None, Some(_)) if golden.is_none_or(Value::is_null) => Some(ExpectedChoice::Any),
                _ => None,
            },
            ChoiceEffect::Value => {
                let golden = golden.filter(|golden| !golden.is_null());
                if golden != recorded || golden.is_some_and(|golden| self.sent.contains(&golden.to_string()))
                {
                    return None;
                }
                let is_within = row.state.contains('.');
                Some(own.map_or(
                    if is_within { ExpectedChoice::Any } else { ExpectedChoice::Nothing },
                    ExpectedChoice::Value,
                ))
            }
        }
    }
}

fn collect_sent(value: &Value, sent: &mut HashSet<String>) {
    match value {
        Value::Object(members) => members.values().for_each(|value| collect_sent(value, sent)),
        Value::Array(items) => items.iter().for_each(|value| collect_sent(value, sent)),
        Value::String(_) | Value::Bool(_) => {
            sent.insert(value.to_string());
        }
        Value::Null | Value::Number(_) => {}
    }
}
