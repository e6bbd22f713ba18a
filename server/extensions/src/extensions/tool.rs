//! Tools of extensions.

use std::sync::Arc;

use agentese::types::{HostFrame, HostToolBuilder, InputBlock, OfferedExtension, OfferedTool, ToolResult};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::calls::{CallError, PendingCall};
use super::host::{Host, LoadedExtension};
use crate::providers::schema_problem;
use crate::tools::{Tool, ToolContent, ToolContext, ToolOutput, ToolSet, ToolUpdate};

const ABORTED: &str = "Operation aborted";

impl Host {
    /// Returns the extension without tools whose schema no model API accepts, even after conversion. Each removed tool
    /// is reported.
    pub(super) fn drop_invalid_tools(&self, mut offered: OfferedExtension) -> OfferedExtension {
        let path = offered.path.clone();
        if let Some(tools) = &mut offered.tools {
            tools.retain(|tool| {
                let problem = schema_problem(&Value::Object(tool.parameters.clone()));
                if let Some(problem) = &problem {
                    let error = format!("the tool {:?} is left out: {problem}", tool.name);
                    tracing::warn!("{path}: {error}");
                    self.report_failure(&path, "tool", &error);
                }
                problem.is_none()
            });
        }
        offered
    }

    /// Returns the tools that the model can call: the tools that an extension has chosen, else the agent's own tools
    /// and all tools of extensions.
    pub(super) fn all_tools(&self, own: &ToolSet) -> ToolSet {
        let state = self.registry();
        if state.loaded.is_empty() {
            return own.clone();
        }
        let active = state.active.clone();
        let mut tools = own.clone();
        if active.is_some() {
            for tool in ToolSet::available().iter().filter(|tool| own.get(tool.name()).is_none()) {
                tools.add(tool.clone());
            }
        }
        for member in state.loaded.iter().filter(|member| !member.process.has_ended()) {
            for offered in member.offered.tools.iter().flatten() {
                tools.add(Arc::new(ExtensionTool { member: member.clone(), offered: offered.clone() }));
            }
        }
        if let Some(active) = active {
            tools.retain(|name| active.iter().any(|wanted| wanted == name));
        }
        tools
    }
}

/// A tool of an extension.
struct ExtensionTool {
    member: LoadedExtension,
    offered: OfferedTool,
}

impl Tool for ExtensionTool {
    fn name(&self) -> &str {
        &self.offered.name
    }

    fn description(&self) -> &str {
        &self.offered.description
    }

    fn parameters(&self) -> Value {
        Value::Object(self.offered.parameters.clone())
    }

    fn read_only(&self) -> bool {
        false
    }

    fn snippet(&self) -> Option<&str> {
        self.offered.prompt_snippet.as_deref()
    }

    fn guidelines(&self) -> &[String] {
        self.offered.prompt_guidelines.as_deref().unwrap_or_default()
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        async move {
            let Value::Object(params) = arguments else {
                return ToolOutput::error("the arguments are not an object");
            };
            let updates = context.updates.clone();
            let pending_call = PendingCall::new(&self.member.path).progress(move |progress| {
                let details = progress.details.into_option().unwrap_or_else(|| json!({}));
                updates.send(ToolUpdate { content: contents(progress.content), details: Some(details) });
            });
            let call = context.call_id.clone().unwrap_or_default();
            let (path, name) = (&self.member.path, &self.offered.name);
            let frame = |id: String| {
                HostFrame::from(
                    HostToolBuilder {
                        id,
                        extension: path.into(),
                        name: name.into(),
                        tool_call_id: call,
                        params,
                    }
                    .build(),
                )
            };
            let answer = tokio::select! {
                biased;
                () = context.abort.cancelled() => return ToolOutput::error(ABORTED),
                answer = self.member.process.request(pending_call, frame, None) => answer,
            };
            match answer {
                Ok(result) => match serde_json::from_value::<ToolResult>(result) {
                    Ok(result) => ToolOutput {
                        content: contents(result.content),
                        details: result.details.into_option(),
                        is_error: result.is_error == Some(true),
                        took: None,
                        structured: None,
                    },
                    Err(error) => {
                        ToolOutput::error(format!("The tool {name} returned an invalid result: {error}"))
                    }
                },
                Err(CallError::Extension(error)) => ToolOutput::error(error),
                Err(CallError::TimedOut(_) | CallError::Disconnected) => {
                    ToolOutput::error(format!("The tool {name} is not available: its extension has ended"))
                }
            }
        }
        .boxed()
    }
}

/// Converts blocks of the protocol to the content of a tool's result.
pub(super) fn contents(blocks: Vec<InputBlock>) -> Vec<ToolContent> {
    let content = |block| match block {
        InputBlock::Text(text) => Some(ToolContent::Text(text.text)),
        InputBlock::Image(image) => Some(ToolContent::Image { data: image.data, mime_type: image.mime_type }),
        _ => None,
    };
    blocks.into_iter().filter_map(content).collect()
}
