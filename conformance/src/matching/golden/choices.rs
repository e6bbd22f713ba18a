//! An agent's own choices: its model, its thinking level, its use of a session file.
//!
//! The golden transcripts show the choices of the recorded agent. In these places another agent has to show
//! its own choices, the same ones throughout. Values that the case itself sends are not choices.

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
    /// Takes the choices of two agents, from their first answers. If either is unknown, all values are
    /// compared.
    pub fn new(recorded: Option<&Map<String, Value>>, own: Option<&Map<String, Value>>) -> Self {
        match (recorded, own) {
            (Some(recorded), Some(own)) => {
                Self { recorded: Value::Object(recorded.clone()), own: Value::Object(own.clone()) }
            }
            _ => Self::default(),
        }
    }

    /// Returns the two choices at a place of the state, or `None` if they are equal.
    fn at(&self, state: &str) -> Option<(Option<&Value>, Option<&Value>)> {
        let of = |value| path::get(value, state).filter(|value| !value.is_null());
        let (recorded, own) = (of(&self.recorded), of(&self.own));
        (recorded != own).then_some((recorded, own))
    }
}

/// Expected value in place of a choice of the recorded agent.
#[derive(Debug, PartialEq)]
pub(super) enum ExpectedChoice<'c> {
    /// This value.
    Value(&'c Value),
    /// Nothing, or null.
    Nothing,
    /// Any number from zero.
    Amount,
    /// Anything.
    Any,
}

/// The choices with the facts of one case.
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

    /// Returns the expected value of a member, if `golden` is the recorded agent's choice.
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
