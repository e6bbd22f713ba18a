//! The tool for questions of the model to the user of the client.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::super::client::{ClientUi, outcome};
use super::super::convert::as_text;
use super::names::ASK_USER;
use crate::tools::{Tool, ToolContext, ToolOutput};

/// Sends a question and waits for the answer without a time limit.
pub(super) struct AskUserTool(pub Arc<ClientUi>);

impl Tool for AskUserTool {
    fn name(&self) -> &str {
        ASK_USER
    }

    fn description(&self) -> &str {
        "Asks the user a question and gives the answer. Use it where you cannot go on without a decision of theirs. Choices \
         may be offered; any other answer is possible too."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "question": {"type": "string", "description": "The question"},
                "choices": {"type": "array", "items": {"type": "string"}, "description": "Answers to choose from"},
            },
            "required": ["question"],
        })
    }

    fn read_only(&self) -> bool {
        true
    }

    /// Returns false: only one question may be open at a time.
    fn shared(&self) -> bool {
        false
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        async move {
            let question = arguments["question"].as_str().unwrap_or_default();
            let choices = arguments["choices"].as_array().into_iter().flatten().map(as_text).collect();
            let disconnected = || ToolOutput::error("The client cannot answer: it has disconnected.");
            let Some(pending) = self.0.ask_user(question, choices) else { return disconnected() };
            let answer = tokio::select! {
                biased;
                () = context.abort.cancelled() => return ToolOutput::error("Operation aborted"),
                answer = pending.answer(None) => answer,
            };
            match answer.map(outcome) {
                None => disconnected(),
                Some(Ok(result)) => match result.get("answer") {
                    Some(answer) => ToolOutput::text(as_text(answer)),
                    None => ToolOutput::text(result.to_string()),
                },
                Some(Err(error)) => {
                    let reason = error.get("message").map_or_else(|| error.to_string(), as_text);
                    ToolOutput::error(format!("The question failed: {reason}"))
                }
            }
        }
        .boxed()
    }
}
