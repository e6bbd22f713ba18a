//! Conversion of neutral parameters into command parameters, and of responses into neutral results.

use serde_json::{Map, Value, json};

use super::table::{CommandMapping, IntentTable, ParamSource};
use crate::view::read::read_all;

/// Converts neutral parameters to the parameters of a command.
pub(super) fn members(mapping: &CommandMapping, neutral: &Map<String, Value>) -> Map<String, Value> {
    let mut members = Map::new();
    for (name, send) in &mapping.sends {
        let value = match send {
            ParamSource::From(param) => neutral.get(param).filter(|value| !value.is_null()).cloned(),
            ParamSource::Is { is } => Some(is.clone()),
            ParamSource::Joined { join, with } => {
                let parts: Vec<&str> = join.iter().filter_map(|param| neutral.get(param)?.as_str()).collect();
                (!parts.is_empty()).then(|| parts.join(with).into())
            }
        };
        members.extend(value.map(|value| (name.clone(), value)));
    }
    members
}

/// Converts a response to neutral results. A result with a dot in its name becomes a member of an object.
pub(super) fn results(
    table: &IntentTable,
    mapping: &CommandMapping,
    params: Map<String, Value>,
    data: Option<Value>,
) -> Map<String, Value> {
    let answer = json!({"params": params, "data": data});
    let mut results = Map::new();
    for (name, value) in read_all(&table.meaning, &mapping.gives, &answer) {
        match name.split_once('.') {
            None => {
                results.insert(name, value);
            }
            Some((outer, inner)) => {
                let of = results.entry(outer).or_insert_with(|| json!({}));
                if let Value::Object(members) = of {
                    members.insert(inner.to_owned(), value);
                }
            }
        }
    }
    results
}
