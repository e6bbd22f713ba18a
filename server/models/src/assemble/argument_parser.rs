//! Parser of the arguments of a tool call.

use serde::de::Error as _;
use serde_json::{Map, Value};

/// The fault of a text that does not contain valid arguments.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArgumentsError {
    #[error("its arguments were cut off before their end. Call the tool again with complete arguments")]
    CutOff(serde_json::Error),
    #[error("its arguments are not valid JSON ({0}). Call the tool again with a JSON object")]
    NotJson(serde_json::Error),
    #[error("its arguments are not a JSON object ({0}). Call the tool again with a JSON object")]
    NotAnObject(serde_json::Error),
}

impl ArgumentsError {
    /// Returns the error of the JSON reader.
    pub fn detail(&self) -> &serde_json::Error {
        match self {
            Self::CutOff(error) | Self::NotJson(error) | Self::NotAnObject(error) => error,
        }
    }
}

/// Parses arguments: a JSON object, or a JSON string that contains one. An empty text and `null` mean a call without
/// arguments. Fails for any other text; no text is repaired.
pub(super) fn read(text: &str) -> Result<Map<String, Value>, ArgumentsError> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match agentese::wire::decode::<Value>(text) {
        Ok(Value::Object(arguments)) => return Ok(arguments),
        Ok(Value::Null) => return Ok(Map::new()),
        Ok(Value::String(inner)) if inner.trim().is_empty() => return Ok(Map::new()),
        Ok(Value::String(inner)) => {
            if let Ok(arguments) = agentese::wire::decode(&inner) {
                return Ok(arguments);
            }
        }
        _ => {}
    }
    Err(match serde_json::from_str::<Map<String, Value>>(text) {
        Err(error) if error.is_eof() => ArgumentsError::CutOff(error),
        Err(error) if error.is_data() => ArgumentsError::NotAnObject(error),
        Err(error) => ArgumentsError::NotJson(error),
        // The reader above refuses some JSON that this one accepts, for example deeper nesting.
        Ok(_) => ArgumentsError::NotJson(serde_json::Error::custom("it cannot be read")),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_read_as_it_is_and_within_a_string() {
        for (text, expected) in [
            (r#"{"path":"x"}"#, json!({"path": "x"})),
            (r#""{\"path\":\"x\"}""#, json!({"path": "x"})),
            ("", json!({})),
            (" \n", json!({})),
            ("null", json!({})),
            (r#""""#, json!({})),
        ] {
            assert_eq!(read(text).map(Value::Object).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn incomplete_or_invalid_arguments_fail_with_the_reason() {
        for (text, expected) in [
            (r#"{"path":"f","content":"hello wor"#, "cut off"),
            (r#"{"path":"f""#, "cut off"),
            (r#""{\"path\":\"f"#, "cut off"),
            ("{}{}", "not valid JSON"),
            ("{'a': 1}", "not valid JSON"),
            ("hello", "not valid JSON"),
            ("[1]", "not a JSON object"),
            ("7", "not a JSON object"),
            (r#""{\"path\":\"f\"""#, "not a JSON object"),
            ("\"ls\"", "not a JSON object"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
