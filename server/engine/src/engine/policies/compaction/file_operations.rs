//! The files that a conversation read and changed.

use std::collections::BTreeSet;

use agentese::types::{AgentMessage, AssistantBlock};
use serde_json::{Value, json};

/// Paths of files, as the model named them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FileOperations {
    read: BTreeSet<String>,
    changed: BTreeSet<String>,
}

/// Names of the tools that read the file `path`, and of the tools that change it.
const READING_TOOLS: &[&str] = &["read"];
const CHANGING_TOOLS: &[&str] = &["edit", "write"];

impl FileOperations {
    /// Reads the lists in the `details` of an earlier compaction.
    pub fn from_details(details: &Value) -> Self {
        let list = |name: &str| {
            let paths = details.get(name).and_then(Value::as_array).into_iter().flatten();
            paths.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self { read: list("readFiles"), changed: list("modifiedFiles") }
    }

    /// Adds the paths in the calls of a message.
    pub fn add(&mut self, message: &AgentMessage) {
        let AgentMessage::Assistant(answer) = message else { return };
        for block in &answer.content {
            let AssistantBlock::ToolCall(call) = block else { continue };
            let Some(path) = call.arguments.get("path").and_then(Value::as_str) else { continue };
            if READING_TOOLS.contains(&call.name.as_str()) {
                self.read.insert(path.to_owned());
            } else if CHANGING_TOOLS.contains(&call.name.as_str()) {
                self.changed.insert(path.to_owned());
            }
        }
    }

    fn only_read(&self) -> impl Iterator<Item = &String> {
        self.read.difference(&self.changed)
    }

    /// Returns the files as the `details` of a compaction.
    pub fn details(&self) -> Value {
        json!({"readFiles": self.only_read().collect::<Vec<_>>(), "modifiedFiles": self.changed})
    }

    /// Returns the files as the end of a summary; empty if there are no files.
    pub fn summary_suffix(&self) -> String {
        let element = |name: &str, paths: Vec<&String>| {
            let lines: Vec<&str> = paths.into_iter().map(String::as_str).collect();
            if lines.is_empty() {
                return String::new();
            }
            format!("\n\n<{name}>\n{}\n</{name}>", lines.join("\n"))
        };
        element("read-files", self.only_read().collect())
            + &element("modified-files", self.changed.iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_changed_is_not_listed_as_read() {
        let answer = json!({
            "role": "assistant", "api": "a", "provider": "p", "model": "m", "stopReason": "toolUse", "timestamp": 1,
            "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0,
                      "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
            "content": [
                {"type": "toolCall", "id": "1", "name": "read", "arguments": {"path": "b"}},
                {"type": "toolCall", "id": "2", "name": "read", "arguments": {"path": "a"}},
                {"type": "toolCall", "id": "3", "name": "edit", "arguments": {"path": "b"}},
                {"type": "toolCall", "id": "4", "name": "write", "arguments": {"path": 7}},
                {"type": "toolCall", "id": "5", "name": "bash", "arguments": {"path": "c"}},
            ],
        });
        let mut files = FileOperations::from_details(&json!({"readFiles": ["z"], "modifiedFiles": [1, "y"]}));
        files.add(&serde_json::from_value(answer).unwrap());
        assert_eq!(files.details(), json!({"readFiles": ["a", "z"], "modifiedFiles": ["b", "y"]}));
        assert_eq!(
            files.summary_suffix(),
            "\n\n<read-files>\na\nz\n</read-files>\n\n<modified-files>\nb\ny\n</modified-files>"
        );
        assert_eq!(FileOperations::default().summary_suffix(), "");
    }
}
