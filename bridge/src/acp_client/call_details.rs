//! The data of a tool call, which the agent may send in several updates.

use agentese::acp::{
    AcpContentBlock, AcpLocation, AcpPermissionCall, AcpToolCall, AcpToolCallUpdate, AcpToolContent,
};
use agentese_server_tools::ToolContent;
use serde_json::{Map, Value, json};

/// The data of a tool call that has arrived so far.
#[derive(Debug, Clone, Default)]
pub(super) struct CallDetails {
    name: Option<String>,
    kind: Option<String>,
    title: Option<String>,
    arguments: Option<Value>,
    content: Vec<AcpToolContent>,
    locations: Vec<AcpLocation>,
}

impl CallDetails {
    /// Adds the members of an update. Absent members stay unchanged. Empty arguments replace no others, because some
    /// agents send them before the arguments are complete.
    pub fn merge(&mut self, update: &AcpToolCallUpdate) {
        fn replace<T: Clone>(member: &mut Option<T>, given: Option<&T>) {
            if let Some(given) = given {
                *member = Some(given.clone());
            }
        }
        replace(&mut self.name, update.name.as_option().filter(|name| !name.is_empty()));
        replace(&mut self.title, update.title.as_option());
        let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
        replace(&mut self.arguments, update.raw_input.as_option().filter(|value| !is_empty(value)));
        if let Some(kind) = update.kind.as_option() {
            self.kind = Some(kind.as_str().to_owned());
        }
        if let Some(content) = update.content.as_option() {
            self.content.clone_from(content);
        }
        if let Some(locations) = update.locations.as_option() {
            self.locations.clone_from(locations);
        }
    }

    /// Returns the name of the tool, else its kind, else an empty text.
    pub fn tool_name(&self) -> &str {
        self.name.as_deref().or(self.kind.as_deref()).unwrap_or_default()
    }

    /// Returns the kind of the tool.
    pub fn kind(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    /// Returns the title that the agent gives the call. It may be a text of the model.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref().filter(|title| !title.trim().is_empty())
    }

    /// Returns the arguments as they arrived. Returns `None` if they are empty.
    pub fn raw_arguments(&self) -> Option<&Value> {
        self.arguments.as_ref()
    }

    /// Returns the arguments for the tool call of a client. Without arguments, the title is the only information.
    pub fn arguments(&self) -> Map<String, Value> {
        match (self.raw_arguments(), &self.title) {
            (Some(Value::Object(arguments)), _) => arguments.clone(),
            (Some(other), _) => Map::from_iter([("arguments".to_owned(), other.clone())]),
            (None, Some(title)) => Map::from_iter([("title".to_owned(), title.as_str().into())]),
            (None, None) => Map::new(),
        }
    }

    /// Returns the content of the call as it arrived.
    pub fn content(&self) -> &[AcpToolContent] {
        &self.content
    }

    /// Returns the files that the call concerns.
    pub fn locations(&self) -> &[AcpLocation] {
        &self.locations
    }

    /// Returns the texts and images of the content.
    pub fn output(&self) -> Vec<ToolContent> {
        let content = self.content.iter().filter_map(|item| match item {
            AcpToolContent::Content(content) => Some(&content.content),
            _ => None,
        });
        content
            .map(|content| match content {
                AcpContentBlock::Image(image) => {
                    ToolContent::Image { data: image.data.clone(), mime_type: image.mime_type.clone() }
                }
                other => ToolContent::Text(content_text(other)),
            })
            .collect()
    }

    /// Returns the changes of files by the call.
    pub fn changes(&self) -> Vec<Value> {
        let changes = self.content.iter().filter_map(|item| match item {
            AcpToolContent::Diff(diff) => Some(
                json!({"path": diff.path, "oldText": diff.old_text.as_option(), "newText": diff.new_text}),
            ),
            _ => None,
        });
        changes.collect()
    }
}

/// Returns content as text.
pub(super) fn content_text(content: &AcpContentBlock) -> String {
    match content {
        AcpContentBlock::Text(text) => text.text.clone(),
        AcpContentBlock::ResourceLink(link) => format!("[{}]({})", link.name, link.uri),
        AcpContentBlock::Image(_) => "(an image)".to_owned(),
        AcpContentBlock::Audio(_) => "(a recording)".to_owned(),
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
    update
}
