//! Types of frames, and objects within them.

use agentese::wire::{ConstantValue, Record};
use serde_json::{Map, Value};

/// Returns the type of an event or a frame, as on the wire.
pub(super) fn type_of<T: Record>() -> &'static str {
    match T::CONSTANTS {
        [(_, ConstantValue::String(name)), ..] => name,
        _ => "",
    }
}

/// Returns the members of an object; no members for any other value.
pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
