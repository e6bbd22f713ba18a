//! Undeclared parts of a decoded value.

use serde::ser::SerializeMap;
use serde_json::{Map, Value};

/// Undeclared members of an object, in the order of their arrival.
///
/// The list is empty for most values. An empty list takes only the size of a pointer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExtraMembers(Option<Box<Map<String, Value>>>);

impl ExtraMembers {
    /// Returns `true` if there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|members| members.is_empty())
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |members| members.len())
    }

    /// Returns the value of a member.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.as_ref()?.get(name)
    }

    /// Adds a member, replacing an earlier member of the same name.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.0.get_or_insert_default().insert(name.into(), value.into());
    }

    /// Returns all members.
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

/// A value of an open union whose tag is not declared.
#[derive(Debug, Clone, PartialEq)]
pub struct UnknownVariant {
    /// The value of the tag.
    pub tag: String,
    /// All members including the tag, in the order of their arrival.
    pub members: Map<String, Value>,
}

impl serde::Serialize for UnknownVariant {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.members.serialize(serializer)
    }
}
