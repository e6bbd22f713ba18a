//! Place of a value in both frames, and kind of its difference.

use serde_json::{Map, Value};

/// The objects around the value in both frames.
pub(super) type ParentObjects<'a> = (&'a Map<String, Value>, &'a Map<String, Value>);

/// Place of a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// Name of the record; `*` for undeclared values.
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
