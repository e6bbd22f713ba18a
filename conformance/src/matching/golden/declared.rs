//! Checks of values against their declared types.

use serde_json::{Map, Value};

use super::rules::Rules;
use super::tables::{Shape, Ty, TypeDef};

/// Returns `true` if the value has the declared type. Does not check members and elements.
pub(super) fn is_of(ty: &Ty, value: &Value) -> bool {
    match ty {
        Ty::Any => true,
        Ty::String => value.is_string(),
        Ty::Boolean => value.is_boolean(),
        Ty::Integer => value.is_i64() || value.is_u64(),
        Ty::Count => value.is_u64(),
        Ty::Number => value.is_number(),
        Ty::Object | Ty::Map(_) => value.is_object(),
        Ty::List(_) => value.is_array(),
        Ty::Named(name) => match Rules::named(name).map(|def| &def.shape) {
            None => true,
            Some(Shape::Record { .. } | Shape::Union { .. }) => value.is_object(),
            Some(Shape::Choice { alternatives }) => alternatives.iter().any(|ty| is_of(ty, value)),
            Some(Shape::Strings { open, values }) => {
                value.as_str().is_some_and(|text| *open || values.contains(&text))
            }
        },
    }
}

/// Returns the path of the first value that does not fit its declared type, and a description. Checks members
/// and elements too.
pub(super) fn type_mismatch(ty: &Ty, value: &Value) -> Option<(String, String)> {
    if !is_of(ty, value) {
        return Some((String::new(), "not of the declared type".to_owned()));
    }
    match (ty, value) {
        (Ty::List(item), Value::Array(values)) => values.iter().enumerate().find_map(|(at, value)| {
            type_mismatch(item, value).map(|(path, message)| (format!("[{at}]{path}"), message))
        }),
        (Ty::Named(_), Value::Object(members)) => record_mismatch(Rules::record(ty, members)?, members),
        _ => None,
    }
}

/// Returns the first member of a record that does not fit its declared type, as [`type_mismatch`] does.
pub(super) fn record_mismatch(def: &TypeDef, members: &Map<String, Value>) -> Option<(String, String)> {
    Rules::fields(def).iter().find_map(|field| match members.get(field.name) {
        None if field.required => Some((format!(".{}", field.name), "missing, but required".to_owned())),
        None => None,
        Some(Value::Null) if field.nullable => None,
        Some(value) => {
            type_mismatch(&field.ty, value).map(|(path, message)| (format!(".{}{path}", field.name), message))
        }
    })
}
