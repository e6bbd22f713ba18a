//! Conversion of a parameter's text to JSON.

use serde_json::Value;

use super::grammar::ParamKind;

/// Parses the text of one occurrence of an option as the value of its parameter.
///
/// # Errors
/// Fails with a description of the expected form.
pub(super) fn read(kind: &ParamKind, text: &str) -> Result<Value, String> {
    match kind {
        ParamKind::Text | ParamKind::Choice(_) => Ok(text.into()),
        ParamKind::Switch => text.parse().map(Value::Bool).map_err(|_| "expected true or false".to_owned()),
        ParamKind::Integer => {
            text.parse::<i64>().map(Value::from).map_err(|_| "expected a whole number".to_owned())
        }
        ParamKind::Number => match serde_json::from_str(text) {
            Ok(Value::Number(number)) => Ok(Value::Number(number)),
            _ => Err("expected a number".to_owned()),
        },
        // The option contains one string, or a JSON array with all strings.
        ParamKind::Texts => Ok(match serde_json::from_str(text) {
            Ok(Value::Array(texts)) => Value::Array(texts),
            _ => text.into(),
        }),
        ParamKind::Json => serde_json::from_str(text).map_err(|error| format!("expected JSON: {error}")),
    }
}

/// Combines the values of all occurrences of an option. A list of strings collects all values; for any other
/// type, the last one applies.
pub(super) fn joined(kind: &ParamKind, values: Vec<Value>) -> Option<Value> {
    if *kind != ParamKind::Texts {
        return values.into_iter().last();
    }
    let mut all = Vec::new();
    for value in values {
        match value {
            Value::Array(values) => all.extend(values),
            value => all.push(value),
        }
    }
    Some(Value::Array(all))
}
