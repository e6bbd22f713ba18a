//! Slots, which are the arguments of a reducer; the context of a reducer; and conversions of slots.

use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::super::conversation::Message;
use super::super::meaning::Meaning;

/// The values of a reducer's slots, by the slots' names.
pub(in super::super) type Slots = Map<String, Value>;

/// Context in which a reducer is called.
pub(in super::super) struct ReducerContext<'a> {
    /// The dialect's table.
    pub meaning: &'static Meaning,
    /// The row's name.
    pub name: &'a str,
    /// The id of the command or the dialog.
    pub id: Option<&'a Value>,
    /// Arrival of the frame, in milliseconds since the epoch.
    pub at: Option<f64>,
    /// The names of all slots, including slots without a value.
    pub names: Vec<&'static str>,
}

/// Returns a slot as text.
pub(super) fn text<'s>(slots: &'s Slots, name: &str) -> Option<&'s str> {
    slots.get(name)?.as_str()
}

/// Removes a slot and returns it as a record. Returns `None` if its value does not have the record's members.
pub(super) fn record<T: DeserializeOwned>(slots: &mut Slots, name: &str) -> Option<T> {
    serde_json::from_value(slots.remove(name)?).ok()
}

/// Returns the message in the slot `message`.
pub(super) fn message(slots: &mut Slots) -> Option<Message> {
    slots.get("message").and_then(message_of)
}

/// Converts the output of a reader to a message. Members whose values have a wrong type are omitted.
pub(super) fn message_of(value: &Value) -> Option<Message> {
    let members = value.as_object()?;
    let fits = |name: &String, member: &Value| {
        let alone = Map::from_iter([(name.clone(), member.clone())]);
        Message::deserialize(&Value::Object(alone)).is_ok()
    };
    Message::deserialize(value).ok().or_else(|| {
        let fitting = members.iter().filter(|(name, member)| fits(name, member));
        let fitting = fitting.map(|(name, member)| (name.clone(), member.clone())).collect();
        Message::deserialize(&Value::Object(fitting)).ok()
    })
}

/// Returns the JSON text of an id, for comparison with others.
pub(in super::super) fn id_text(id: Option<&Value>) -> String {
    id.map(Value::to_string).unwrap_or_default()
}
