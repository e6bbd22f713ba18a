//! Reasons for rejecting a text.

use std::fmt;

/// Maximum number of nested brackets. Deeper text is rejected. The limit is the same in the clients of all
/// languages and in common JSON decoders.
pub const MAX_DEPTH: usize = 127;

/// Kind of a text that is not an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    /// The text begins like an array.
    Array,
    /// The text begins like a string.
    String,
    /// The text begins like a number.
    Number,
    /// The text is `true` or `false`.
    Boolean,
    /// The text is `null`.
    Null,
}

impl fmt::Display for JsonKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Array => "an array",
            Self::String => "a string",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::Null => "null",
        })
    }
}

/// Reason for rejecting a text as one JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// The text contains only white space.
    #[error("the text is blank")]
    Blank,
    /// The text is another kind of JSON than an object, according to its first character.
    #[error("expected an object, found {found}")]
    NotAnObject {
        /// The kind of the text.
        found: JsonKind,
    },
    /// Brackets nest deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {limit} levels at byte {offset}")]
    TooDeep {
        /// The limit, in levels.
        limit: usize,
        /// Position of the first bracket beyond the limit, in bytes from the start of the text.
        offset: usize,
    },
    /// The text has an unexpected character.
    #[error("expected {expected} at byte {offset}")]
    Malformed {
        /// The element that was expected instead.
        expected: &'static str,
        /// Position in bytes from the start of the text.
        offset: usize,
    },
    /// The text ends before its object ends.
    #[error("the object does not end")]
    Unfinished,
    /// Further text follows the object.
    #[error("text after the object at byte {offset}")]
    TrailingText {
        /// Position in bytes from the start of the text.
        offset: usize,
    },
}
