//! What a frame has otherwise than it must, whoever says what that is: a pattern, or a frame that was recorded.

use serde_json::Value;

/// How much a difference weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// The dialect's document says so.
    Must,
    /// The recording does so: as much as the case.
    Case,
    /// Worth knowing.
    Info,
}

/// A difference, and where it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    /// The path within the frame; empty for the frame as a whole.
    pub(crate) path: String,
    /// What differs, in words.
    pub(crate) says: String,
    pub(crate) weight: Weight,
    /// The allowance that it falls under.
    pub(crate) allowance: Option<&'static str>,
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

/// A value in few characters.
pub(super) fn brief(value: &Value) -> String {
    short(&value.to_string())
}

/// A text in few characters, as it is told.
pub(super) fn short(text: &str) -> String {
    format!("`{}`", clipped(text))
}

/// A text in few characters: its beginning, and its end where it is long.
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
