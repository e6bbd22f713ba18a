//! Differences between a frame and its expectation: a pattern, or a recorded frame.

use serde_json::Value;

/// Weight of a difference: the level that its finding gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Level *must*: the document of the dialect requires the expected value.
    Must,
    /// Level of the case: the expected value is known only from the recording.
    Case,
    /// Level *info*: the difference is useful to know and never a failure.
    Info,
}

/// A difference and its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    /// Path within the frame; empty for the frame as a whole.
    pub(crate) path: String,
    /// Description of the difference.
    pub(crate) message: String,
    pub(crate) weight: Weight,
    /// Allowance that permits the difference.
    pub(crate) allowance: Option<&'static str>,
}

impl Difference {
    pub(super) fn new(weight: Weight, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into(), weight, allowance: None }
    }

    pub(super) fn allowed(mut self, allowance: &'static str) -> Self {
        self.allowance = Some(allowance);
        self
    }

    /// Returns `true` if the difference makes the check fail.
    pub(super) fn is_failure(&self) -> bool {
        self.allowance.is_none() && self.weight != Weight::Info
    }
}

/// Formats a value as JSON of at most 60 characters, in backticks.
pub(super) fn brief(value: &Value) -> String {
    short(&value.to_string())
}

/// Formats at most 60 characters of a text, in backticks.
pub(crate) fn short(text: &str) -> String {
    format!("`{}`", clipped(text))
}

/// Shortens a text to at most 60 characters: its beginning, and its last 10 characters.
pub(super) fn clipped(text: &str) -> String {
    const LENGTH: usize = 60;
    const END: usize = 10;
    let length = text.chars().count();
    if length <= LENGTH {
        return text.to_owned();
    }
    let begin: String = text.chars().take(LENGTH - END - 2).collect();
    let end: String = text.chars().skip(length - END).collect();
    format!("{begin}…{end}")
}
