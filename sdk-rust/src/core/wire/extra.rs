//! What a declaration does not know and a decoded value keeps.

use serde::ser::SerializeMap;
use serde_json::{Map, Value};

/// Members of an object that the declaration does not name, in the order in which they came.
///
/// Empty for most values, and then as small as a pointer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extra(Option<Box<Map<String, Value>>>);

impl Extra {
    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|members| members.is_empty())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |members| members.len())
    }

    /// The value of a member.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.as_ref()?.get(name)
    }

    /// Adds a member; of two with one name the last stays.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.0.get_or_insert_default().insert(name.into(), value.into());
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.iter().flat_map(|members| members.iter())
    }

    pub(crate) fn encode<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        for (name, value) in self.iter() {
            map.serialize_entry(name, value)?;
        }
        Ok(())
    }
}

/// A value of an open union whose tag the declaration does not name.
#[derive(Debug, Clone, PartialEq)]
pub struct Unknown {
    /// The tag's value.
    pub tag: String,
    /// All members, the tag among them, in the order in which they came.
    pub members: Map<String, Value>,
}

impl serde::Serialize for Unknown {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.members.serialize(serializer)
    }
}
