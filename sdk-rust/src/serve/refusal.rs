//! Refusals: answers to commands that are not carried out.

use serde_json::Value;

use crate::spec::Spec;

/// Why a command was not carried out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct Refusal {
    /// What the answer says.
    pub message: String,
    /// The JSON-RPC code; -32603 where there is none.
    pub code: Option<i64>,
    /// More about it, in JSON-RPC answers.
    pub data: Option<Value>,
    /// Whether a value of the command is what is wrong, or a [`Gate`](super::Gate) did not let it through. Dialects that answer other
    /// failures without the command's name and id answer this one with them.
    pub of_value: bool,
}

impl Refusal {
    /// With a text.
    pub fn new(message: impl Into<String>) -> Self {
        Refusal { message: message.into(), code: None, data: None, of_value: false }
    }

    /// The same for a value of the command that cannot be used: a file that is none of those it loads, say.
    pub fn of_value(self) -> Self {
        Refusal { of_value: true, ..self }
    }

    /// With a text and a JSON-RPC code.
    pub fn with_code(message: impl Into<String>, code: i64) -> Self {
        Refusal { code: Some(code), ..Refusal::new(message) }
    }

    /// A failure that the dialect's tables name, with its text and code; `values` stand in place of `{name}` in the
    /// text. Of several texts of one kind that one counts which has a place for each of them.
    pub fn declared(spec: &Spec, kind: &str, values: &[(&str, &str)]) -> Self {
        let fits = |text: &str| {
            (values.is_empty() || text.matches('{').count() == values.len())
                && values.iter().all(|(name, _)| text.contains(&format!("{{{name}}}")))
        };
        let of_kind = || spec.failures.iter().filter(|failure| failure.kind == kind);
        let Some(failure) = of_kind().find(|failure| fits(failure.text)).or_else(|| of_kind().next()) else {
            return Refusal::new(kind.replace('_', " "));
        };
        // In one pass: a value may look like a place.
        let mut message = String::new();
        let mut rest = failure.text;
        while let Some((before, (name, after))) =
            rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        {
            message.push_str(before);
            match values.iter().find(|(known, _)| *known == name) {
                Some((_, value)) => message.push_str(value),
                // Braces that are no place are text.
                None => message.push_str(&format!("{{{name}}}")),
            }
            rest = after;
        }
        message.push_str(rest);
        Refusal { code: failure.code, ..Refusal::new(message) }
    }

    /// The same with more about it, in JSON-RPC answers.
    pub fn with_data(self, data: impl Into<Value>) -> Self {
        Refusal { data: Some(data.into()), ..self }
    }

    /// The command is declared and this server does not have it.
    pub fn not_available(command: &str) -> Self {
        Refusal::new(format!("`{command}` is not available in this server"))
    }
}
