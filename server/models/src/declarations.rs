//! Tools as the API of a model takes them.
//!
//! Tools come from servers and extensions whose authors know one API. Names of tools and of properties that an API refuses
//! are sent in another form and come back as they were; schemas are rewritten, so that they say the same in what the API
//! takes of JSON Schema. A tool whose schema cannot be rewritten is left out.

mod names;
mod references;
mod schema;
mod stream;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use agentese::types::{AgentMessage, AssistantBlock};
use serde_json::Value;

use super::{Request, ToolDescription};

pub use schema::problem;
pub use stream::restored;

/// The rules of an API for tools.
#[derive(Debug)]
pub struct ToolRules {
    /// Requires names that begin with a letter or `_`.
    letter_first: bool,
    /// The characters in names of properties besides letters and digits, and the longest name; `None` if any name is taken.
    properties: Option<(&'static [char], usize)>,
    /// The keywords of schemas that it takes; `None` for all of JSON Schema.
    keywords: Option<&'static [&'static str]>,
}

/// The longest name of a tool that every API takes. All take letters, digits, `_` and `-`.
const LONGEST_NAME: usize = 64;

/// Anthropic. Its errors tell the rules: "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
/// "input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'", "input_schema does not support
/// oneOf, allOf, or anyOf at the top level", "JSON schema is invalid. It must match JSON Schema draft 2020-12".
pub const ANTHROPIC: ToolRules =
    ToolRules { letter_first: false, properties: Some((&['_', '.', '-'], 64)), keywords: None };

/// OpenAI, in both of its APIs. "Invalid 'tools[0].function.name': string does not match pattern '^[a-zA-Z0-9_-]+$'", 64
/// characters by its reference; "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top
/// level"; "array schema missing items".
pub const OPENAI: ToolRules = ToolRules { letter_first: false, properties: None, keywords: None };

/// Google. `FunctionDeclaration.name` "must start with a letter or an underscore" and has 64 characters at most; schemas may
/// have what `GenerationConfig.responseJsonSchema` and `Schema` list in its discovery document.
pub const GOOGLE: ToolRules = ToolRules {
    letter_first: true,
    properties: None,
    keywords: Some(&[
        "additionalProperties",
        "anyOf",
        "default",
        "description",
        "enum",
        "example",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "nullable",
        "oneOf",
        "pattern",
        "prefixItems",
        "properties",
        "propertyOrdering",
        "required",
        "title",
        "type",
    ]),
};

/// The names that a request has in other forms.
#[derive(Debug, Clone, Default)]
pub struct Renames {
    /// The name that is sent, by a tool's own name; only those that differ.
    sent: HashMap<String, String>,
    /// The names of a tool's properties, by the tool's own name.
    properties: HashMap<String, names::Properties>,
}

impl Renames {
    fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.properties.is_empty()
    }

    /// Returns the original name of a tool by its name in requests.
    fn own<'a>(&'a self, sent: &'a str) -> &'a str {
        self.sent.iter().find(|(_, name)| *name == sent).map_or(sent, |(own, _)| own)
    }
}

/// Rewrites the tools of a request, and the calls of its conversation with them.
pub fn fit(request: &mut Request, rules: &'static ToolRules) -> Renames {
    let mut renames = Renames::default();
    let mut taken: BTreeSet<String> =
        request.tools.iter().map(|tool| tool.name.clone()).filter(|name| rules.takes(name)).collect();
    let tools = std::mem::take(&mut request.tools);
    for ToolDescription { name: own, description, parameters } in tools {
        let fitted = match schema::rewritten(&parameters, rules) {
            Ok(fitted) => fitted,
            Err(reason) => {
                tracing::debug!("the tool {own} is left out: {reason}");
                continue;
            }
        };
        let name = if rules.takes(&own) { own.clone() } else { names::free(&rules.name(&own), &mut taken) };
        if name != own {
            renames.sent.insert(own.clone(), name.clone());
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
    /// Returns a copy of a message with the names of requests; `None` if it names nothing that was renamed.
    fn message(&self, message: &AgentMessage, rules: &ToolRules) -> Option<AgentMessage> {
        let sent = |own: &str| match self.sent.get(own) {
            Some(sent) => Some(sent.clone()),
            // A tool that is not there any more, or never was.
            None => (!rules.takes(own)).then(|| rules.name(own)),
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
                        if let Value::Object(arguments) = names.sent(arguments) {
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

impl ToolRules {
    fn takes(&self, name: &str) -> bool {
        let usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        !name.is_empty()
            && name.len() <= LONGEST_NAME
            && name.bytes().all(usual)
            && (!self.letter_first || name.bytes().next().is_some_and(first))
    }

    /// A name in a form that is taken.
    fn name(&self, name: &str) -> String {
        let usual =
            |one: char| if one.is_ascii_alphanumeric() || matches!(one, '_' | '-') { one } else { '_' };
        let mut sent: String = name.chars().map(usual).collect();
        if sent.is_empty() || (self.letter_first && !sent.starts_with(|one: char| one.is_ascii_alphabetic()))
        {
            sent.insert(0, '_');
        }
        sent.truncate(LONGEST_NAME);
        sent
    }

    fn takes_property(&self, name: &str) -> bool {
        let Some((others, longest)) = self.properties else { return true };
        let usual = |one: char| one.is_ascii_alphanumeric() || others.contains(&one);
        !name.is_empty() && name.len() <= longest && name.chars().all(usual)
    }
}

#[cfg(test)]
mod tests;
