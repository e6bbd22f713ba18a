//! The JSON Schema of the answer.

use std::path::Path;

use serde_json::Value;

use crate::error::CliError;

/// A JSON Schema that the last answer must match.
pub(super) struct AnswerSchema {
    text: String,
    validator: jsonschema::Validator,
}

impl AnswerSchema {
    /// Reads a schema from a file. Fails if the file is not a JSON Schema.
    pub fn read(path: &Path) -> Result<Self, CliError> {
        let context = || format!("--output-schema {}", path.display());
        let text =
            std::fs::read_to_string(path).map_err(|source| CliError::Io { context: context(), source })?;
        Self::parse(&text).map_err(|reason| CliError::Usage(format!("{}: {reason}", context())))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let schema: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
        let validator =
            jsonschema::validator_for(&schema).map_err(|error| format!("not a JSON Schema: {error}"))?;
        Ok(Self { text: schema.to_string(), validator })
    }

    /// Returns a prompt with the request for an answer that matches the schema.
    pub fn request(&self, prompt: &str) -> String {
        format!(
            "{prompt}\n\nWhen you are done, answer with one JSON value that matches this JSON Schema, and with nothing else:\n{}",
            self.text
        )
    }

    /// Returns the prompt after an answer that does not match.
    pub fn correction(&self, reason: &str) -> String {
        format!(
            "Your answer does not match the JSON Schema: {reason}\nAnswer again with the JSON value alone. The schema:\n{}",
            self.text
        )
    }

    /// Returns the JSON value of an answer, which may be in a fenced block. Fails with the first mismatch.
    pub fn check(&self, answer: &str) -> Result<Value, String> {
        let value: Value =
            serde_json::from_str(unfenced(answer)).map_err(|error| format!("not JSON: {error}"))?;
        match self.validator.validate(&value) {
            Ok(()) => Ok(value),
            Err(error) => Err(format!("{error} at `{}`", error.instance_path())),
        }
    }
}

/// Returns the content of an answer that is one fenced block of Markdown; any other answer unchanged.
fn unfenced(answer: &str) -> &str {
    let answer = answer.trim();
    let inner = answer.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inner.and_then(|inner| inner.split_once('\n')).map_or(answer, |(_language, content)| content.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_is_checked_as_json_with_or_without_a_fence() {
        let schema =
            json!({"type": "object", "required": ["count"], "properties": {"count": {"type": "integer"}}});
        let schema = AnswerSchema::parse(&schema.to_string()).unwrap();
        for answer in ["{\"count\": 3}", " \n```json\n{\"count\": 3}\n```\n", "```\n{\"count\":3}```"] {
            assert_eq!(schema.check(answer), Ok(json!({"count": 3})), "{answer}");
        }
        for (answer, reason) in [
            ("There are 3.", "not JSON"),
            ("{\"count\": \"3\"}", "at `/count`"),
            ("{}", "required"),
            ("", "not JSON"),
        ] {
            assert!(
                schema.check(answer).unwrap_err().contains(reason),
                "{answer}: {:?}",
                schema.check(answer)
            );
        }
        assert!(
            AnswerSchema::parse("{\"type\": 7}").is_err_and(|reason| reason.contains("not a JSON Schema"))
        );
    }
}
