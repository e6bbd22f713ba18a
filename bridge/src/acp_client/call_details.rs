//! The data of a tool call, which the agent may send in several updates.

use agentese::acp::{
    AcpCallExtensions, AcpContentBlock, AcpDiff, AcpLocation, AcpPermissionCall, AcpToolCall,
    AcpToolCallUpdate, AcpToolContent, AcpToolKind,
};
use serde_json::{Map, Value, json};

use super::call_extensions::{self, CommandOutput};

/// The argument with the title of a call.
const TITLE: &str = "title";

/// The data of a tool call that has arrived so far.
#[derive(Debug, Clone, Default)]
pub(super) struct CallDetails {
    name: Option<String>,
    /// The name of the tool in the extensions of the agent.
    extension_name: Option<String>,
    kind: Option<AcpToolKind>,
    title: Option<String>,
    arguments: Option<Value>,
    content: Vec<AcpToolContent>,
    locations: Vec<AcpLocation>,
    commands: CommandOutput,
    raw_output: Option<Value>,
    /// `true` if no content has arrived since the raw output.
    is_raw_output_newer: bool,
}

impl CallDetails {
    /// Adds the members of an update. Absent members stay unchanged. Empty arguments replace no others, because some
    /// agents send them before the arguments are complete. Returns `true` if there is more output of a command.
    pub fn merge(&mut self, update: &AcpToolCallUpdate) -> bool {
        replace(&mut self.name, update.name.as_option().filter(|name| !name.trim().is_empty()));
        replace(&mut self.title, update.title.as_option());
        replace(&mut self.kind, update.kind.as_option());
        let arguments = update.raw_input.as_option().map(|input| json_object(input).unwrap_or(input.clone()));
        let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
        self.arguments = arguments.filter(|value| !is_empty(value)).or(self.arguments.take());
        replace(&mut self.raw_output, update.raw_output.as_option());
        self.is_raw_output_newer |= update.raw_output.as_option().is_some();
        if let Some(content) = update.content.as_option() {
            self.content.clone_from(content);
            self.is_raw_output_newer = false;
        }
        if let Some(locations) = update.locations.as_option() {
            self.locations.clone_from(locations);
        }
        update.meta.as_option().is_some_and(|meta| self.merge_extensions(&update.tool_call_id, meta))
    }

    fn merge_extensions(&mut self, id: &str, meta: &Map<String, Value>) -> bool {
        let Some(extensions) = call_extensions::fitting::<AcpCallExtensions>(meta) else { return false };
        self.extension_name = call_extensions::tool_name(meta, &extensions).or(self.extension_name.take());
        self.commands.push(id, extensions)
    }

    /// Returns the name of the tool. Without any, returns ACP's kind of tools without a particular kind.
    pub fn tool_name(&self) -> String {
        self.known_name().unwrap_or(AcpToolKind::OtherValue.as_str().to_owned())
    }

    /// Returns the best name of the tool: as a member of the call, from the extensions of the agent, from the arguments,
    /// from the title, or the kind.
    pub fn known_name(&self) -> Option<String> {
        let (no_arguments, title) = (Map::new(), self.title());
        let arguments = self.raw_arguments().and_then(Value::as_object).unwrap_or(&no_arguments);
        let kind = self.kind.as_ref().filter(|kind| **kind != AcpToolKind::OtherValue);
        let told = self.name.as_ref().or(self.extension_name.as_ref()).cloned();
        told.or_else(|| call_extensions::named_in_arguments(arguments, title))
            .or_else(|| call_extensions::named_in_title(title?, kind, arguments).map(str::to_owned))
            .or_else(|| self.kind().map(str::to_owned))
    }

    /// Returns the kind of the tool.
    pub fn kind(&self) -> Option<&str> {
        self.kind.as_ref().map(AcpToolKind::as_str)
    }

    /// Returns the title that the agent gives the call. It may be a text of the model.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref().filter(|title| !title.trim().is_empty())
    }

    /// Returns the arguments as they arrived. Returns `None` if they are empty.
    pub fn raw_arguments(&self) -> Option<&Value> {
        self.arguments.as_ref()
    }

    /// Returns the arguments for the tool call of a client, which has no title of its own. So the title is one of them,
    /// unless another argument has the same name or the same text.
    pub fn arguments(&self) -> Map<String, Value> {
        let mut arguments = match self.raw_arguments() {
            Some(Value::Object(arguments)) => arguments.clone(),
            Some(other) => Map::from_iter([("arguments".to_owned(), other.clone())]),
            None => Map::new(),
        };
        let plain = |text: &str| text.trim().trim_matches('`').to_owned();
        let repeats =
            |title: &str, value: &Value| value.as_str().is_some_and(|text| plain(text) == plain(title));
        let is_new = |title: &&str| !arguments.values().any(|value| repeats(title, value));
        if let Some(title) = self.title().filter(is_new)
            && !arguments.contains_key(TITLE)
        {
            arguments.insert(TITLE.to_owned(), title.into());
        }
        arguments
    }

    /// Returns the content of the call as it arrived.
    pub fn content(&self) -> &[AcpToolContent] {
        &self.content
    }

    /// Returns the files that the call concerns.
    pub fn locations(&self) -> &[AcpLocation] {
        &self.locations
    }

    /// Returns the output of the call's commands.
    pub fn commands(&self) -> &CommandOutput {
        &self.commands
    }

    /// Returns the output of the call as the agent's tool returned it.
    pub fn raw_output(&self) -> Option<&Value> {
        self.raw_output.as_ref().filter(|output| !output.is_null())
    }

    /// Returns `true` if no content has arrived since the raw output.
    pub fn is_raw_output_newer(&self) -> bool {
        self.is_raw_output_newer
    }

    /// Returns the changes of files by the call.
    pub fn diffs(&self) -> impl Iterator<Item = &AcpDiff> {
        self.content.iter().filter_map(|item| match item {
            AcpToolContent::Diff(diff) => Some(diff),
            _ => None,
        })
    }

    /// Returns the changes of files as details of a result.
    pub fn changes(&self) -> Vec<Value> {
        let change = |diff: &AcpDiff| json!({"path": diff.path, "oldText": diff.old_text.as_option(), "newText": diff.new_text});
        self.diffs().map(change).collect()
    }
}

fn replace<T: Clone>(member: &mut Option<T>, given: Option<&T>) {
    if let Some(given) = given {
        *member = Some(given.clone());
    }
}

/// Returns the object in a text of JSON. Some agents send arguments and results as such a text.
pub(super) fn json_object(value: &Value) -> Option<Value> {
    let text = value.as_str().filter(|text| text.trim_start().starts_with('{'))?;
    serde_json::from_str(text).ok().filter(Value::is_object)
}

/// Returns content as text.
pub(super) fn content_text(content: &AcpContentBlock) -> String {
    match content {
        AcpContentBlock::Text(text) => text.text.clone(),
        AcpContentBlock::ResourceLink(link) => format!("[{}]({})", link.name, link.uri),
        AcpContentBlock::Image(_) => "(an image)".to_owned(),
        AcpContentBlock::Audio(_) => "(a recording)".to_owned(),
        AcpContentBlock::Resource(resource) => {
            resource.resource.text.as_option().cloned().unwrap_or_else(|| resource.resource.uri.clone())
        }
        _ => String::new(),
    }
}

/// Converts a call to an update of that call.
pub(super) fn update_of(call: AcpToolCall) -> AcpToolCallUpdate {
    let mut update = AcpToolCallUpdate::new(call.tool_call_id);
    update.title = call.title.into();
    update.name = call.name;
    update.kind = call.kind;
    update.status = call.status;
    update.content = call.content;
    update.locations = call.locations;
    update.raw_input = call.raw_input;
    update.raw_output = call.raw_output;
    update.meta = call.meta;
    update
}

/// Converts the call of a permission request to an update of that call. The update has no status. Empty lists are
/// absent in it: they would remove the changes that an earlier update showed.
pub(super) fn update_of_permission(call: &AcpPermissionCall) -> AcpToolCallUpdate {
    let mut update = AcpToolCallUpdate::new(call.tool_call_id.as_str());
    update.title = call.title.clone();
    update.name = call.name.clone();
    update.kind = call.kind.clone();
    if call.content.as_option().is_some_and(|content| !content.is_empty()) {
        update.content = call.content.clone();
    }
    if call.locations.as_option().is_some_and(|locations| !locations.is_empty()) {
        update.locations = call.locations.clone();
    }
    update.raw_input = call.raw_input.clone();
    update.meta = call.meta.clone();
    update
}
