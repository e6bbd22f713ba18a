//! Tools of servers.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::model::ProgressNotificationParam;
use serde_json::{Map, Value, json};

use super::connection::{RequestError, ServerFeatures};
use super::result::output;
use super::server::Server;
use crate::tools::{Tool, ToolContent, ToolContext, ToolOutput, ToolUpdate};

const ABORTED: &str = "Operation aborted";

/// A tool of a server.
pub(super) struct McpTool {
    pub server: Arc<Server>,
    /// The list of features that contains this tool, and the index of the tool in it.
    pub features: Arc<ServerFeatures>,
    pub index: usize,
    /// The name for the model.
    pub name: String,
}

impl McpTool {
    fn tool_info(&self) -> &rmcp::model::Tool {
        &self.features.tools[self.index]
    }
}

impl Tool for McpTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        let tool = self.tool_info();
        tool.description.as_deref().or(tool.title.as_deref()).unwrap_or(&self.server.definition.name)
    }

    fn parameters(&self) -> Value {
        let mut schema: Map<String, Value> = (*self.tool_info().input_schema).clone();
        // Model APIs reject a schema without these members.
        schema.entry("type").or_insert_with(|| json!("object"));
        schema.entry("properties").or_insert_with(|| json!({}));
        Value::Object(schema)
    }

    /// Returns false, because the read-only hints of servers are not reliable.
    fn read_only(&self) -> bool {
        false
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        async move {
            let Value::Object(arguments) = arguments else {
                return ToolOutput::error("the arguments are not an object");
            };
            let (server, tool) = (&self.server.definition.name, self.tool_info().name.as_ref());
            let now = self.server.snapshot();
            let Some(connection) = now.connection else {
                let why = now.reason.as_deref().unwrap_or("it is not running").to_owned();
                return ToolOutput::error(format!("The MCP server {server} is not available: {why}"));
            };
            let show = |step: ProgressNotificationParam| {
                if context.updates.wanted() {
                    context.updates.send(update(&step));
                }
            };
            let limit = self.server.call_limit();
            match connection.call(tool, arguments, limit, &context.abort, show).await {
                Ok(result) => output(result, context, server, tool).await,
                Err(RequestError::Aborted) => ToolOutput::error(ABORTED),
                Err(RequestError::Response(text)) => ToolOutput::error(text),
                Err(RequestError::TimedOut(limit)) => ToolOutput::error(format!(
                    "The MCP server {server} sent no answer or progress for {} ms; the call was cancelled",
                    limit.as_millis()
                )),
                Err(RequestError::Disconnected(why)) => {
                    ToolOutput::error(format!("The MCP server {server} has disconnected: {why}"))
                }
            }
        }
        .boxed()
    }
}

/// Converts a step of progress to an update of the tool.
fn update(step: &ProgressNotificationParam) -> ToolUpdate {
    let number = |value: f64| match value.fract() == 0.0 && value.abs() < 1e15 {
        true => json!(value as i64),
        false => json!(value),
    };
    let mut details = json!({"progress": number(step.progress)});
    let mut text = details["progress"].to_string();
    if let Some(total) = step.total {
        details["total"] = number(total);
        text = format!("{text}/{}", details["total"]);
    }
    if let Some(message) = &step.message {
        details["message"] = json!(message);
        text = format!("{text} {message}");
    }
    ToolUpdate { content: vec![ToolContent::Text(text)], details: Some(details) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_shown_as_text_and_numbers() {
        let step = |value: Value| update(&serde_json::from_value(value).unwrap());
        let shown = step(json!({"progressToken": 1, "progress": 2, "total": 5, "message": "copying"}));
        assert_eq!(shown.content, [ToolContent::Text("2/5 copying".to_owned())]);
        assert_eq!(shown.details, Some(json!({"progress": 2, "total": 5, "message": "copying"})));
        assert_eq!(
            step(json!({"progressToken": "t", "progress": 0.5})).content,
            [ToolContent::Text("0.5".to_owned())]
        );
    }
}
