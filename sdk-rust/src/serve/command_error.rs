//! Errors of commands: the answers to rejected and failed commands.

use serde_json::Value;

use crate::spec::Spec;

/// Reason for the rejection or failure of a command.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct CommandError {
    /// Text of the answer.
    pub message: String,
    /// The JSON-RPC code; `None` for -32603.
    pub code: Option<i64>,
    /// Additional data in JSON-RPC answers.
    pub data: Option<Value>,
    /// `true` if a value in the command is the cause, or if a [`Gate`](super::Gate) rejected it. Some dialects
    /// omit the command's name and id in failures. They include them in this case.
    pub invalid_params: bool,
}

impl CommandError {
    /// Creates an error with a text.
    pub fn new(message: impl Into<String>) -> Self {
        CommandError { message: message.into(), code: None, data: None, invalid_params: false }
    }

    /// Marks a value of the command as the cause, such as a file that cannot be loaded.
    pub fn invalid_params(self) -> Self {
        CommandError { invalid_params: true, ..self }
    }

    /// Creates an error with a text and a JSON-RPC code.
    pub fn with_code(message: impl Into<String>, code: i64) -> Self {
        CommandError { code: Some(code), ..CommandError::new(message) }
    }

    /// Creates an error of a declared kind, with its text and code. Each `{name}` in the text is replaced by
    /// the value of that name. If several texts are declared, the one whose names are those of `values` is
    /// used.
    pub fn declared(spec: &Spec, kind: &str, values: &[(&str, &str)]) -> Self {
        let fits = |text: &str| {
            (values.is_empty() || text.matches('{').count() == values.len())
                && values.iter().all(|(name, _)| text.contains(&format!("{{{name}}}")))
        };
        let of_kind = || spec.failures.iter().filter(|failure| failure.kind == kind);
        let Some(failure) = of_kind().find(|failure| fits(failure.text)).or_else(|| of_kind().next()) else {
            return CommandError::new(kind.replace('_', " "));
        };
        // One pass suffices: a value may look like a place.
        let mut message = String::new();
        let mut rest = failure.text;
        while let Some((before, (name, after))) =
            rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        {
            message.push_str(before);
            match values.iter().find(|(known, _)| *known == name) {
                Some((_, value)) => message.push_str(value),
                // Braces without the name of a value are text.
                None => message.push_str(&format!("{{{name}}}")),
            }
            rest = after;
        }
        message.push_str(rest);
        CommandError { code: failure.code, ..CommandError::new(message) }
    }

    /// Adds data, for JSON-RPC answers.
    pub fn with_data(self, data: impl Into<Value>) -> Self {
        CommandError { data: Some(data.into()), ..self }
    }

    /// Creates the error for a command that is declared, but that this server does not support.
    pub fn not_available(command: &str) -> Self {
        CommandError::new(format!("`{command}` is not available in this server"))
    }
}
