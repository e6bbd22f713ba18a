//! The location of an invalid value, for error messages.

use std::fmt::Write as _;

use pyo3::prelude::*;

use crate::errors;

/// The maximum length of the displayed value in an error message, in characters.
const SHOWN: usize = 60;

/// The location of a part of a value, for error messages.
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    segment: PathSegment<'a>,
}

enum PathSegment<'a> {
    Root(&'a str),
    Member(&'a str),
    Item(usize),
}

impl<'a> Path<'a> {
    /// Returns the location of a value itself. `what` is its name in messages.
    pub fn of(what: &'a str) -> Self {
        Path { parent: None, segment: PathSegment::Root(what) }
    }

    /// Returns the location of a member.
    pub fn member(&'a self, name: &'a str) -> Path<'a> {
        Path { parent: Some(self), segment: PathSegment::Member(name) }
    }

    /// Returns the location of an item.
    pub fn item(&'a self, at: usize) -> Path<'a> {
        Path { parent: Some(self), segment: PathSegment::Item(at) }
    }

    /// Returns the error for an invalid value at this location.
    pub fn mismatch(&self, py: Python<'_>, wrong: &str) -> PyErr {
        errors::encode(py, &format!("{}: {wrong}", self.text()))
    }

    fn text(&self) -> String {
        let mut text = self.parent.map(Path::text).unwrap_or_default();
        match self.segment {
            PathSegment::Root(what) => text.push_str(what),
            PathSegment::Member(name) => {
                let _ = write!(text, ".{name}");
            }
            PathSegment::Item(at) => {
                let _ = write!(text, "[{at}]");
            }
        }
        text
    }

    /// Returns the error for a value of the wrong type at this location.
    pub fn expected(&self, py: Python<'_>, what: &str, raw: &str) -> PyErr {
        let mut shown: String = raw.chars().take(SHOWN).collect();
        if shown.len() < raw.len() {
            shown.push('…');
        }
        self.mismatch(py, &format!("expected {what}, found {shown}"))
    }
}
