//! Types of frames and of the objects in them.

use agentese::wire::{ConstantValue, Record};
use serde_json::{Map, Value};

/// Returns the name of an event's or a frame's type on the wire.
pub(super) fn type_of<T: Record>() -> &'static str {
    match T::CONSTANTS {
        [(_, ConstantValue::String(name)), ..] => name,
        _ => "",
    }
}

/// Returns the members of an object. Returns no members for any other value.
pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
