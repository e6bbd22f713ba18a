//! Submission of a subagent's result.

use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::schema::validation_errors;
use crate::tools::{Tool, ToolContext, ToolOutput};

/// Name of the tool.
pub const NAME: &str = "submit_result";

/// A submitted result.
#[derive(Debug, Clone, PartialEq)]
pub enum Submission {
    /// The result of the work.
    Data(Value),
    /// The reason for a missing result.
    Error(String),
}

impl Submission {
    /// Returns the form reported to clients.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Data(data) => json!({"data": data, "status": "success"}),
            Self::Error(error) => json!({"error": error, "status": "aborted"}),
        }
    }
}

/// The tool that receives the result of one subagent and ends its run.
#[derive(Debug, Clone, Default)]
pub struct SubmitTool {
    schema: Option<Value>,
    submission: Arc<Mutex<Option<Submission>>>,
}

impl SubmitTool {
    /// Creates a tool that accepts data of that schema; any data if there is no schema.
    pub fn with_schema(schema: Option<Value>) -> Self {
        Self { schema, ..Self::default() }
    }

    /// Returns the result submitted so far.
    pub fn submission(&self) -> Option<Submission> {
        self.submission.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn accept(&self, arguments: &Value) -> ToolOutput {
        let result = &arguments["result"];
        let submitted = match (result["error"].as_str(), result.get("data")) {
            (Some(error), None) => Submission::Error(error.to_owned()),
            (None, Some(data)) => Submission::Data(data.clone()),
            _ => return ToolOutput::error("result: expected either data or error (a string)"),
        };
        if let (Some(schema), Submission::Data(data)) = (&self.schema, &submitted) {
            let problems = validation_errors(schema, data);
            if !problems.is_empty() {
                return ToolOutput::error(format!(
                    "The data does not match the requested schema:\n{}",
                    problems.join("\n")
                ));
            }
        }
        *self.submission.lock().unwrap_or_else(PoisonError::into_inner) = Some(submitted);
        ToolOutput::text("The result is handed in.")
    }
}

impl Tool for SubmitTool {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> &str {
        "Hands in the result of your work. Call it once, when the work is done or cannot be done. Nothing comes after it."
    }

    fn parameters(&self) -> Value {
        let any = json!({"description": "What came of the work"});
        json!({
            "type": "object",
            "properties": {
                "result": {
                    "type": "object",
                    "properties": {
                        "data": self.schema.clone().unwrap_or(any),
                        "error": {"type": "string", "description": "Why the work could not be done"},
                    },
                },
            },
            "required": ["result"],
        })
    }

    fn read_only(&self) -> bool {
        false
    }

    fn ends_run(&self) -> bool {
        true
    }

    fn execute<'a>(&'a self, _: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        std::future::ready(self.accept(&arguments)).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_is_validated_against_the_schema() {
        let submit = SubmitTool::with_schema(Some(json!({"type": "object", "required": ["n"]})));
        assert!(submit.accept(&json!({"result": {}})).is_error);
        assert!(submit.accept(&json!({"result": {"data": 1, "error": "x"}})).is_error);
        let refused = submit.accept(&json!({"result": {"data": {}}}));
        assert!(refused.is_error && refused.all_text().contains("must have the member n"));
        assert_eq!(submit.submission(), None);
        assert!(!submit.accept(&json!({"result": {"data": {"n": 1}}})).is_error);
        assert_eq!(submit.submission(), Some(Submission::Data(json!({"n": 1}))));
        assert!(!SubmitTool::default().accept(&json!({"result": {"error": "no"}})).is_error);
    }
}
