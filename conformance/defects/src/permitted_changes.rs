//! Detection of changes that an allowance of the dialect permits, and that are therefore no defects.

use agentese_conformance::matching::tables::Form;
use serde_json::Value;

use crate::change::{Application, Effect};
use crate::exclusions::Exclusions;
use crate::place::{Edit, PathStep, Place};
use crate::stream::{AgentLine, Envelope, Role};

impl Exclusions {
    /// Returns `true` if an allowance permits the change of a line. `envelope` is the envelope of the
    /// dialect.
    pub(super) fn is_permitted(
        &self,
        line: &AgentLine,
        envelope: Envelope,
        application: &Application,
    ) -> bool {
        match &application.effect {
            Effect::Bytes(bytes) if bytes.is_empty() => self.may_be_left_out(line),
            Effect::Edit(place, Edit::Put(json)) => {
                let Ok(value) = serde_json::from_str::<Value>(json) else { return false };
                self.forms().any(|form| is_permitted_value(form, line, envelope, place, &value))
            }
            _ => false,
        }
    }

    /// Returns `true` if an allowance lets an agent omit the line.
    pub(super) fn may_be_left_out(&self, line: &AgentLine) -> bool {
        self.forms().any(|form| match (form, &line.role) {
            (Form::Events(names), Role::Event { kind, .. }) => names.contains(&kind.as_str()),
            (Form::DialogsLeftOut(method, member, value), Role::Dialog) => {
                let is = |name: &str, text: &str| line.frame.get(name).and_then(Value::as_str) == Some(text);
                is("method", method) && is(member, value)
            }
            _ => false,
        })
    }
}

/// Returns `true` if an allowance accepts `value` instead of the value at `place`.
fn is_permitted_value(
    form: &Form,
    line: &AgentLine,
    envelope: Envelope,
    place: &Place,
    value: &Value,
) -> bool {
    let Some(was) = place.of(&line.frame) else { return false };
    match form {
        Form::Instead(rows) => rows.iter().any(|(record, member, from, to)| {
            let of_record = line.site(place).is_some_and(|site| site.record.as_deref() == Some(record));
            of_record && place.name() == Some(member) && equals_json(was, from) && equals_json(value, to)
        }),
        Form::ErrorCode(from, to) => {
            let steps = [PathStep::Member(envelope.error.to_owned()), PathStep::Member("code".to_owned())];
            line.is_answer() && place.0 == steps && was.as_i64() == Some(*from) && value.as_i64() == Some(*to)
        }
        _ => false,
    }
}

fn equals_json(value: &Value, json: &str) -> bool {
    serde_json::from_str::<Value>(json).is_ok_and(|wanted| wanted == *value)
}
