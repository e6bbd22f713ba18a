//! What every agent chooses for itself: its model, its thinking level, whether it keeps a session file.
//!
//! The golden transcripts show what the recorded agent chose. Where they show it, another agent has to show its own
//! choice instead, the same one throughout. What the case itself sends is nobody's choice.

use std::collections::HashSet;

use agentese::types::Scenario;
use serde_json::{Map, Value};

use super::tables::{Choice, Chosen};
use crate::matching::path;

/// What the recorded agent chose, and what this one did.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    recorded: Value,
    own: Value,
}

impl Choices {
    /// The choices of two agents, each as its first answer says. Where either is not known, all is compared.
    pub fn new(recorded: Option<&Map<String, Value>>, own: Option<&Map<String, Value>>) -> Self {
        match (recorded, own) {
            (Some(recorded), Some(own)) => {
                Self { recorded: Value::Object(recorded.clone()), own: Value::Object(own.clone()) }
            }
            _ => Self::default(),
        }
    }

    /// What the two chose at a place of the state; none where that is the same.
    fn at(&self, state: &str) -> Option<(Option<&Value>, Option<&Value>)> {
        let of = |value| path::get(value, state).filter(|value| !value.is_null());
        let (recorded, own) = (of(&self.recorded), of(&self.own));
        (recorded != own).then_some((recorded, own))
    }
}

/// What has to stand where the recorded agent shows a choice of its own.
#[derive(Debug, PartialEq)]
pub(super) enum Wanted<'c> {
    /// This value, in place of the recorded one.
    Value(&'c Value),
    /// Nothing, or null.
    Nothing,
    /// Any number from zero.
    Amount,
    /// Anything.
    Any,
}

/// The choices, as they hold in one case.
#[derive(Debug)]
pub(super) struct InCase<'a> {
    choices: &'a Choices,
    /// Texts and booleans that the case sends, as JSON.
    sent: HashSet<String>,
}

impl<'a> InCase<'a> {
    pub(super) fn new(choices: &'a Choices, case: &Scenario) -> Self {
        let mut sent = HashSet::new();
        for step in &case.steps {
            if let agentese::types::ScenarioStep::Send(step) = step {
                gather(&step.send, &mut sent);
            }
        }
        Self { choices, sent }
    }

    /// What has to stand in a member, where the golden transcript has `golden` and that is the recorded agent's choice.
    pub(super) fn wanted(&self, row: &Choice, golden: Option<&Value>) -> Option<Wanted<'a>> {
        let (recorded, own) = self.choices.at(row.state)?;
        match row.chosen {
            Chosen::Amount => golden.filter(|golden| golden.is_number()).map(|_| Wanted::Amount),
            Chosen::Presence => match (recorded, own) {
                (Some(_), None) => golden.map(|_| Wanted::Nothing),
                (None, Some(_)) if golden.is_none_or(Value::is_null) => Some(Wanted::Any),
                _ => None,
            },
            Chosen::Value => {
                let golden = golden.filter(|golden| !golden.is_null());
                if golden != recorded || golden.is_some_and(|golden| self.sent.contains(&golden.to_string()))
                {
                    return None;
                }
                let is_within = row.state.contains('.');
                Some(own.map_or(if is_within { Wanted::Any } else { Wanted::Nothing }, Wanted::Value))
            }
        }
    }
}

fn gather(value: &Value, sent: &mut HashSet<String>) {
    match value {
        Value::Object(members) => members.values().for_each(|value| gather(value, sent)),
        Value::Array(items) => items.iter().for_each(|value| gather(value, sent)),
        Value::String(_) | Value::Bool(_) => {
            sent.insert(value.to_string());
        }
        Value::Null | Value::Number(_) => {}
    }
}
