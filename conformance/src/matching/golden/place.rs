//! Place of a value in both frames, and the kind of a difference there.

use serde_json::{Map, Value};

/// The objects that contain the value, in both frames.
pub(super) type ParentObjects<'a> = (&'a Map<String, Value>, &'a Map<String, Value>);

/// Place of a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// Name of the record; `*` if the value is undeclared.
    pub(super) record: &'static str,
    pub(super) member: &'a str,
    pub(super) parents: Option<ParentObjects<'a>>,
}

/// Kind of the difference.
#[derive(Debug, Clone, Copy)]
pub(super) enum DifferenceKind<'a> {
    Missing(&'a Value),
    Extra(&'a Value),
    Changed(&'a Value, &'a Value),
}
