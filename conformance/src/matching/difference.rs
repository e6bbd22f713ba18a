//! One difference between two values.

use serde_json::{Map, Value};

/// How much a difference weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// The dialect's document says so.
    Must,
    /// The recording does so: as much as the case.
    Case,
    /// Worth knowing.
    Info,
}

/// A difference, and where it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Difference {
    /// The path within the frame; empty for the frame as a whole.
    pub(super) path: String,
    /// What differs, in words.
    pub(super) says: String,
    pub(super) weight: Weight,
    /// The allowance that it falls under.
    pub(super) allowance: Option<&'static str>,
}

impl Difference {
    pub(super) fn new(weight: Weight, path: impl Into<String>, says: impl Into<String>) -> Self {
        Self { path: path.into(), says: says.into(), weight, allowance: None }
    }

    pub(super) fn allowed(mut self, allowance: &'static str) -> Self {
        self.allowance = Some(allowance);
        self
    }

    /// Whether it counts against the agent.
    pub(super) fn counts(&self) -> bool {
        self.allowance.is_none() && self.weight != Weight::Info
    }
}

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

/// A value in few characters.
pub(super) fn brief(value: &Value) -> String {
    super::bindings::short(&value.to_string())
}
