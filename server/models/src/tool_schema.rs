//! Conversion of tools to a form that a model's API accepts.
//!
//! MCP servers and extensions define tools for one API. Another API can reject some names of tools and properties. A
//! request then contains other names, and the answer is converted back. A schema is rewritten with the part of JSON
//! Schema that the API supports. If this is not possible, the tool is left out.

mod names;
mod references;
mod renames;
mod rules;
mod schema;
mod stream;

use std::collections::BTreeSet;
use std::sync::Arc;

use agentese::types::{AgentMessage, AssistantBlock};
use serde_json::Value;

use super::{Request, ToolDescription};

pub use renames::Renames;
pub use rules::{ANTHROPIC, GOOGLE, OPENAI, ToolRules};
pub use schema::problem;
pub use stream::restore_names;

/// Rewrites the tools of a request, and the calls of these tools in its messages. Returns the names that were changed.
pub fn adapt_tools(request: &mut Request, rules: &'static ToolRules) -> Renames {
    let mut renames = Renames::default();
    let mut taken: BTreeSet<String> =
        request.tools.iter().map(|tool| tool.name.clone()).filter(|name| rules.accepts_name(name)).collect();
    let tools = std::mem::take(&mut request.tools);
    for ToolDescription { name: own, description, parameters } in tools {
        let fitted = match schema::rewrite(&parameters, rules) {
            Ok(fitted) => fitted,
            Err(reason) => {
                tracing::debug!("the tool {own} is left out: {reason}");
                continue;
            }
        };
        let name = if rules.accepts_name(&own) {
            own.clone()
        } else {
            names::unique_name(&rules.sanitize_name(&own), &mut taken)
        };
        if name != own {
            renames.request_names.insert(own.clone(), name.clone());
        }
        if !fitted.names.is_empty() {
            renames.properties.insert(own, fitted.names);
        }
        let description = match fitted.note {
            Some(note) if description.is_empty() => note,
            Some(note) => format!("{description}\n{note}"),
            None => description,
        };
        request.tools.push(ToolDescription { name, description, parameters: fitted.schema });
    }
    let shared = Arc::new(renames.clone());
    request.messages = request.messages.clone().map(move |message| match shared.message(&message, rules) {
        Some(fitted) => Arc::new(fitted),
        None => message,
    });
    renames
}

impl Renames {
    /// Returns a copy of a message with the names for the request. Returns `None` if no name differs.
    fn message(&self, message: &AgentMessage, rules: &ToolRules) -> Option<AgentMessage> {
        let sent = |own: &str| match self.request_names.get(own) {
            Some(sent) => Some(sent.clone()),
            // A tool that was removed, or never existed.
            None => (!rules.accepts_name(own)).then(|| rules.sanitize_name(own)),
        };
        match message {
            AgentMessage::ToolResult(result) => {
                let name = sent(&result.tool_name)?;
                let mut result = result.clone();
                result.tool_name = name;
                Some(result.into())
            }
            AgentMessage::Assistant(answer) => {
                let other = |block: &AssistantBlock| match block {
                    AssistantBlock::ToolCall(call) => {
                        sent(&call.name).is_some() || self.properties.contains_key(&call.name)
                    }
                    _ => false,
                };
                if !answer.content.iter().any(other) {
                    return None;
                }
                let mut answer = answer.clone();
                for block in &mut answer.content {
                    let AssistantBlock::ToolCall(call) = block else { continue };
                    if let Some(names) = self.properties.get(&call.name) {
                        let arguments = Value::Object(std::mem::take(&mut call.arguments));
                        if let Value::Object(arguments) = names.to_request(arguments) {
                            call.arguments = arguments;
                        }
                    }
                    if let Some(name) = sent(&call.name) {
                        call.name = name;
                    }
                }
                Some(answer.into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
