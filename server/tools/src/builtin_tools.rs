//! The built-in tools.

use std::sync::Arc;

use super::{BashTool, EditTool, FindTool, GrepTool, LsTool, ReadTool, TodoTool, Tool, ToolSet, WriteTool};

/// Result of a selection by name.
pub struct Selection {
    /// The existing tools, in the requested order.
    pub tools: ToolSet,
    /// Names that no built-in tool has.
    pub unknown: Vec<String>,
}

impl ToolSet {
    /// Returns the default tools: read, bash, edit, write.
    pub fn builtin() -> Self {
        Self {
            tools: vec![Arc::new(ReadTool), Arc::new(BashTool), Arc::new(EditTool::One), Arc::new(WriteTool)],
        }
    }

    /// Returns all built-in tools: the default tools, and grep, find, ls and todo_write.
    pub fn available() -> Self {
        let mut all = Self::builtin();
        all.tools.extend([
            Arc::new(GrepTool) as Arc<dyn Tool>,
            Arc::new(FindTool),
            Arc::new(LsTool),
            Arc::new(TodoTool),
        ]);
        all
    }

    /// Returns true if a built-in tool has this name.
    pub fn is_available(name: &str) -> bool {
        Self::available().get(name).is_some()
    }

    /// Selects built-in tools by name. Ignores repeated names. Unknown names are in [`Selection::unknown`] and cause no
    /// error.
    pub fn select<I>(names: I) -> Selection
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let all = Self::available();
        let mut selection = Selection { tools: Self::none(), unknown: Vec::new() };
        for name in names {
            let name = name.as_ref();
            match all.get(name) {
                Some(tool) => selection.tools.add(tool.clone()),
                None if selection.unknown.iter().any(|known| known == name) => {}
                None => selection.unknown.push(name.to_owned()),
            }
        }
        selection
    }
}

impl Default for ToolSet {
    fn default() -> Self {
        Self::builtin()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LocalSpawner, ToolContext, ToolOutput};
    use serde_json::json;

    #[test]
    fn the_default_is_read_bash_edit_write() {
        assert_eq!(ToolSet::default().names().collect::<Vec<_>>(), ["read", "bash", "edit", "write"]);
        let chosen = ToolSet::select(["ls", "grep", "find"]);
        assert_eq!(chosen.tools.names().collect::<Vec<_>>(), ["ls", "grep", "find"]);
    }

    #[test]
    fn selection_keeps_the_order_and_reports_unknown_names_once() {
        let selection = ToolSet::select(["write", "nope", "read", "write", "nope", ""]);
        assert_eq!(selection.tools.names().collect::<Vec<_>>(), ["write", "read"]);
        assert_eq!(selection.unknown, ["nope", ""]);
    }

    #[test]
    fn every_tool_declares_an_object_schema_and_required_members_that_exist() {
        for tool in ToolSet::available().iter() {
            let schema = tool.parameters();
            assert_eq!(schema["type"], "object", "{}", tool.name());
            for required in schema["required"].as_array().expect("required is a list") {
                assert!(schema["properties"].get(required.as_str().unwrap()).is_some(), "{}", tool.name());
            }
            assert!(!tool.description().is_empty());
        }
        let tools = ToolSet::available();
        let read_only = tools.iter().filter(|tool| tool.read_only()).map(|tool| tool.name());
        assert_eq!(read_only.collect::<Vec<_>>(), ["read", "grep", "find", "ls"]);
    }

    #[tokio::test]
    async fn unknown_tools_and_bad_arguments_are_error_outputs() {
        let context = ToolContext::new("/", Arc::new(LocalSpawner::new(None)));
        let tools = ToolSet::builtin();
        let output = tools.call(&context, "teleport", json!({"to": "mars"})).await;
        assert_eq!(output, ToolOutput::error("Tool teleport not found"));
        let output = tools.call(&context, "bash", json!({"cmd": "ls"})).await;
        assert_eq!(
            output.all_text(),
            "Validation failed for tool \"bash\":\n  - command: must have required property 'command'\n\nReceived \
             arguments:\n{\n  \"cmd\": \"ls\"\n}"
        );
        assert_eq!(output.details, Some(json!({})));
    }
}
