//! The tool with which a model maintains a list of tasks. Each result of the tool contains the whole list. So a
//! reopened conversation, and each branch of it, has its list.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::todo_list::{Change, TodoList};
use super::{Tool, ToolContext, ToolOutput};

/// Maintains a list of tasks in phases.
#[derive(Clone, Copy, Debug, Default)]
pub struct TodoTool;

impl TodoTool {
    /// The name of the tool.
    pub const NAME: &str = "todo_write";
}

impl Tool for TodoTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Keeps the list of what is to be done, in phases. Use it for work of several steps: write the list first, \
         mark a task as completed as soon as it is, and add what turns up. One task at a time is in progress."
    }

    fn parameters(&self) -> Value {
        let status = json!({"type": "string", "enum": ["pending", "in_progress", "completed", "abandoned"]});
        let text = |description: &str| json!({"type": "string", "description": description});
        let task = json!({
            "type": "object",
            "properties": {
                "content": text("What is to be done"), "status": status, "notes": text("What else is to be known"),
                "details": text("How it is to be done, shown while it is in progress"),
            },
            "required": ["content"],
        });
        let tasks = json!({"type": "array", "items": task});
        let phase = json!({
            "type": "object",
            "properties": {"name": text("What the phase is called"), "tasks": tasks},
            "required": ["name"],
        });
        json!({
            "type": "object",
            "properties": {"ops": {
                "type": "array",
                "description": "Changes, in order: replace {phases}, add_phase {name, tasks}, add_task {phase, content}, \
                    update {id, status, content, notes, details}, remove_task {id}",
                "items": {
                    "type": "object",
                    "properties": {
                        "op": {"type": "string", "enum": ["replace", "add_phase", "add_task", "update", "remove_task"]},
                        "phases": {"type": "array", "items": phase},
                        "name": text("What the phase is called"), "tasks": tasks,
                        "phase": text("The id of a phase, as in phase-1"), "id": text("The id of a task, as in task-3"),
                        "content": text("What is to be done"), "status": status,
                        "notes": text("What else is to be known"), "details": text("How it is to be done"),
                    },
                    "required": ["op"],
                },
            }},
            "required": ["ops"],
        })
    }

    fn read_only(&self) -> bool {
        false
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, mut arguments: Value) -> BoxFuture<'a, ToolOutput> {
        async move {
            let Value::Array(changes) = arguments["ops"].take() else {
                return ToolOutput::error("ops must be array");
            };
            let before =
                context.conversation.as_ref().and_then(|conversation| conversation.last_details(Self::NAME));
            let mut list = TodoList::of(before.as_ref());
            let mut errors = Vec::new();
            for change in changes {
                let change = serde_json::from_value::<Change>(change).map_err(|error| error.to_string());
                errors.extend(change.and_then(|change| list.apply(change)).err());
            }
            list.activate_next();
            let kept = context.conversation.as_ref().is_some_and(|conversation| conversation.has_file());
            let storage = if kept { "session" } else { "memory" };
            let mut output = ToolOutput::text(list.summary(&errors));
            output.details = Some(json!({"phases": list.phases, "storage": storage}));
            output
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::{Conversation, LocalSpawner, ToolSet};

    /// A conversation for tests that stores only the last result.
    #[derive(Default)]
    struct LastDetails(Mutex<Option<Value>>);

    impl Conversation for LastDetails {
        fn last_details(&self, tool: &str) -> Option<Value> {
            assert_eq!(tool, TodoTool::NAME);
            self.0.lock().unwrap().clone()
        }
        fn has_file(&self) -> bool {
            true
        }
    }

    async fn call(last: &Arc<LastDetails>, ops: Value) -> String {
        let mut context = ToolContext::new("/", Arc::new(LocalSpawner::new(None)));
        context.conversation = Some(last.clone());
        let mut tools = ToolSet::none();
        tools.add(Arc::new(TodoTool));
        let output = tools.call(&context, TodoTool::NAME, json!({"ops": ops})).await;
        *last.0.lock().unwrap() = output.details.clone();
        output.all_text()
    }

    #[tokio::test]
    async fn a_list_is_written_changed_and_finished() {
        let last = Arc::new(LastDetails::default());
        let phases = json!([{"name": "Work", "tasks": [
            {"content": "Do A", "details": "first\nthen"}, {"content": "Do B", "status": "pending"},
        ]}]);
        assert_eq!(
            call(&last, json!([{"op": "replace", "phases": phases}])).await,
            "Remaining items (2):\n  - task-1 Do A [in_progress] (Work)\n      first\n      then\n  - task-2 Do B \
             [pending] (Work)\nPhase 1/1 \"Work\" — 0/2 tasks complete\n  Work:\n    → task-1 Do A\n    ○ task-2 Do B"
        );
        let text = call(
            &last,
            json!([
                {"op": "update", "id": "task-1", "status": "completed"}, {"op": "add_phase", "name": "More"},
                {"op": "add_task", "phase": "phase-2", "content": "Do C"}, {"op": "remove_task", "id": "task-9"},
            ]),
        )
        .await;
        assert!(
            text.starts_with(
                "Errors: Task \"task-9\" not found\nRemaining items (2):\n  - task-2 Do B [in_pro"
            ),
            "{text}"
        );
        assert!(text.ends_with("  More:\n    ○ task-3 Do C"), "{text}");
        let all = [2, 3].map(|id| json!({"op": "update", "id": format!("task-{id}"), "status": "completed"}));
        let text = call(&last, json!(all)).await;
        assert!(
            text.starts_with("Remaining items: none.\nPhase 2/2 \"More\" — 1/1 tasks complete"),
            "{text}"
        );
        assert_eq!(call(&last, json!([{"op": "replace", "phases": []}])).await, "Todo list cleared.");
        assert_eq!(
            call(&last, json!([{"op": "add_task", "phase": "x", "content": "y"}])).await,
            "Errors: Phase \"x\" not found"
        );
    }

    #[tokio::test]
    async fn an_invalid_change_is_reported_and_the_rest_applies() {
        let last = Arc::new(LastDetails::default());
        let text = call(
            &last,
            json!([{"op": "replace"}, {"op": "add_phase", "name": "P", "tasks": [{"content": "t"}]}]),
        )
        .await;
        assert!(text.starts_with("Errors: missing field `phases`\nRemaining items (1):"), "{text}");
        let list = TodoList::of(last.0.lock().unwrap().as_ref());
        assert_eq!((list.open().len(), &*list.outline()), (1, "- P\n  - t\n"));
        assert_eq!(TodoList::of(Some(&json!({"phases": 7}))), TodoList::default());
    }
}
