//! Submission of a subagent's result.

use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::schema::problems;
use crate::tools::{Tool, ToolContext, ToolOutput};

/// Name of the tool.
pub const NAME: &str = "submit_result";

/// A submitted result.
#[derive(Debug, Clone, PartialEq)]
pub enum Submitted {
    /// The result of the work.
    Data(Value),
    /// The reason for a missing result.
    Error(String),
}

impl Submitted {
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
pub struct Submit {
    schema: Option<Value>,
    submitted: Arc<Mutex<Option<Submitted>>>,
}

impl Submit {
    /// Creates a tool that accepts data of that schema; any data if there is no schema.
    pub fn of(schema: Option<Value>) -> Self {
        Self { schema, ..Self::default() }
    }

    /// Returns the result submitted so far.
    pub fn submitted(&self) -> Option<Submitted> {
        self.submitted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn take(&self, arguments: &Value) -> ToolOutput {
        let result = &arguments["result"];
        let submitted = match (result["error"].as_str(), result.get("data")) {
            (Some(error), None) => Submitted::Error(error.to_owned()),
            (None, Some(data)) => Submitted::Data(data.clone()),
            _ => return ToolOutput::error("result: either data or error (a text) was expected"),
        };
        if let (Some(schema), Submitted::Data(data)) = (&self.schema, &submitted) {
            let problems = problems(schema, data);
            if !problems.is_empty() {
                return ToolOutput::error(format!(
                    "The data does not have the form that was asked for:\n{}",
                    problems.join("\n")
                ));
            }
        }
        *self.submitted.lock().unwrap_or_else(PoisonError::into_inner) = Some(submitted);
        ToolOutput::text("The result is handed in.")
    }
}

impl Tool for Submit {
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
        std::future::ready(self.take(&arguments)).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_has_the_form_that_was_asked_for() {
        let submit = Submit::of(Some(json!({"type": "object", "required": ["n"]})));
        assert!(submit.take(&json!({"result": {}})).is_error);
        assert!(submit.take(&json!({"result": {"data": 1, "error": "x"}})).is_error);
        let refused = submit.take(&json!({"result": {"data": {}}}));
        assert!(refused.is_error && refused.all_text().contains("must have the member n"));
        assert_eq!(submit.submitted(), None);
        assert!(!submit.take(&json!({"result": {"data": {"n": 1}}})).is_error);
        assert_eq!(submit.submitted(), Some(Submitted::Data(json!({"n": 1}))));
        assert!(!Submit::default().take(&json!({"result": {"error": "no"}})).is_error);
    }
}
