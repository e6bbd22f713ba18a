//! Where a value stands in both frames, and what kind of difference there is.

use serde_json::{Map, Value};

/// The members of both objects that a value stands in.
pub(super) type Both<'a> = (&'a Map<String, Value>, &'a Map<String, Value>);

/// Where a value stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// The record; `*` where nothing is declared.
    pub(super) record: &'static str,
    pub(super) member: &'a str,
    pub(super) beside: Option<Both<'a>>,
}

/// What kind of difference there is at a place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind<'a> {
    Missing(&'a Value),
    Extra(&'a Value),
    Changed(&'a Value, &'a Value),
}
