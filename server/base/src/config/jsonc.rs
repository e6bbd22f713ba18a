//! JSON with comments and trailing commas, for files written by people.

use serde_json::Value;

/// Position of a syntax error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: it is not valid JSON")]
pub struct JsoncError {
    /// Number of the line, counted from 1.
    pub line: usize,
    /// Number of the column, counted from 1.
    pub column: usize,
}

/// Parses a text and ignores its byte order mark. Returns null if the text has only comments.
pub fn from_jsonc(text: &str) -> Result<Value, JsoncError> {
    let options = jsonc_parser::ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    jsonc_parser::parse_to_serde_value(text, &options)
        .map_err(|error| JsoncError { line: error.line_display(), column: error.column_display() })
}
