//! The tool for the task list.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::names::{TASKS, VALUE};
use super::task_list::TaskList;
use crate::dialects::blocking::blocking;
use crate::runtime::Clock;
use crate::tools::{Tool, ToolContext, ToolOutput};

/// Maintains a list of tasks, which the client can see.
pub(super) struct TasksTool {
    pub list: Arc<TaskList>,
    pub clock: Arc<dyn Clock>,
}

impl Tool for TasksTool {
    fn name(&self) -> &str {
        TASKS
    }

    fn description(&self) -> &str {
        "Keeps the list of tasks of this session, which the user sees. insert adds one, update changes one, delete removes \
         one, list shows all, batch does several of these in order. A task that waits for others is blocked until they are \
         done."
    }

    fn parameters(&self) -> Value {
        let fields = json!({
            "action": {"type": "string", "description": "insert, list, update, delete or batch"},
            "id": {"description": "The task, for update and delete"},
            "label": {"type": "string", "description": "What is to be done, on one line"},
            "status": {"type": "string", "description": "open, in_progress, done or blocked"},
            "notes": {"type": "string", "description": "Notes"},
            "parent_id": {"description": "The task that this is a part of; null for none"},
            "blocked_by": {"description": "The tasks that have to be done before: a list of ids, or a text with commas"},
            "prompt": {"type": "string", "description": "What a sub-agent is told that does it"},
            "result": {"type": "string", "description": "What came of it"},
        });
        let mut properties = fields.clone();
        properties["ops"] = json!({
            "type": "array",
            "description": "For batch: what to do, in order",
            "items": {"type": "object", "properties": fields, "required": ["action"]},
        });
        json!({"type": "object", "properties": properties, "required": ["action"]})
    }

    fn read_only(&self) -> bool {
        false
    }

    fn execute<'a>(&'a self, _: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        async move {
            let (list, now) = (self.list.clone(), self.clock.now_ms());
            match blocking(move || list.apply(&arguments, now)).await {
                Ok(value) => ToolOutput::text(value.to_string()).with_details(json!({VALUE: value})),
                Err(error) => ToolOutput::error(error.to_string()),
            }
        }
        .boxed()
    }
}
