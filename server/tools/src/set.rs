//! The tools of one session.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::{Bash, Edit, Find, Grep, Ls, Read, Todo, Tool, ToolContext, ToolOutput, Write, arguments};

/// Tools by name, in the order of their presentation to the model.
#[derive(Clone)]
pub struct ToolSet {
    tools: Vec<Arc<dyn Tool>>,
}

/// Result of a selection by name.
pub struct Selection {
    /// The existing tools, in the requested order.
    pub tools: ToolSet,
    /// Names without a built-in tool.
    pub unknown: Vec<String>,
}

impl ToolSet {
    /// Returns the default tools: read, bash, edit, write.
    pub fn builtin() -> Self {
        Self { tools: vec![Arc::new(Read), Arc::new(Bash), Arc::new(Edit::One), Arc::new(Write)] }
    }

    /// Returns all built-in tools: the default tools, and grep, find, ls, todo_write, which are selected by
    /// name.
    pub fn available() -> Self {
        let mut all = Self::builtin();
        all.tools.extend([Arc::new(Grep) as Arc<dyn Tool>, Arc::new(Find), Arc::new(Ls), Arc::new(Todo)]);
        all
    }

    /// Returns true if a built-in tool has that name.
    pub fn is_available(name: &str) -> bool {
        Self::available().get(name).is_some()
    }

    /// Returns an empty set.
    pub fn none() -> Self {
        Self { tools: Vec::new() }
    }

    /// Selects built-in tools by name. Repeated names are ignored; unknown names are reported and cause no
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

    /// Returns the tool of that name, if present.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// Adds a tool at the end, or replaces the tool of the same name.
    pub fn add(&mut self, tool: Arc<dyn Tool>) {
        match self.tools.iter_mut().find(|known| known.name() == tool.name()) {
            Some(known) => *known = tool,
            None => self.tools.push(tool),
        }
    }

    /// Replaces the tool of the same name, if present.
    pub fn exchange(&mut self, tool: Arc<dyn Tool>) {
        if self.get(tool.name()).is_some() {
            self.add(tool);
        }
    }

    /// Keeps only the tools whose name satisfies the condition.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.tools.retain(|tool| keep(tool.name()));
    }

    /// Returns the names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name())
    }

    /// Returns the tools in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter()
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Finds the tool, validates the arguments, and executes the tool. An unknown name and invalid arguments
    /// cause error outputs without `took`.
    pub async fn call(&self, context: &ToolContext, name: &str, arguments: Value) -> ToolOutput {
        let Some(tool) = self.get(name) else {
            return ToolOutput::error(format!("Tool {name} not found"));
        };
        match arguments::validate(name, &tool.parameters(), &tool.prepared(arguments)) {
            Ok(arguments) => {
                let output = tool.execute(context, arguments).await;
                // The caller has a clock and sets the time.
                ToolOutput { took: Some(Duration::ZERO), ..output }
            }
            Err(text) => ToolOutput::error(text),
        }
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
    use crate::LocalSpawner;
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
