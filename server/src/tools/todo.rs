//! The tool with which a model keeps a list of what is to be done. The list stands in the results of its calls: whoever
//! opens the conversation again, or goes on in a branch of it, finds it there.

use std::fmt::Write as _;

use agentese::types::TodoItem;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Tool, ToolContext, ToolOutput};

/// Keeps a list of tasks in phases.
#[derive(Clone, Copy, Debug, Default)]
pub struct Todo;

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Abandoned,
}

impl Status {
    fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::InProgress)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Abandoned => "abandoned",
        }
    }

    fn sign(self) -> char {
        match self {
            Self::Pending => '○',
            Self::InProgress => '→',
            Self::Completed => '✓',
            Self::Abandoned => '✗',
        }
    }
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Names it in the list.
    pub id: String,
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: Status,
    /// What else is to be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// How it is to be done; shown while it is being worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

/// Tasks that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Names it in the list.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Its tasks, in order.
    pub tasks: Vec<Task>,
}

/// A whole list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoList {
    /// Its phases, in order.
    pub phases: Vec<Phase>,
}

#[derive(Deserialize)]
struct NewTask {
    content: String,
    status: Option<Status>,
    notes: Option<String>,
    details: Option<String>,
}

#[derive(Deserialize)]
struct NewPhase {
    name: String,
    #[serde(default)]
    tasks: Vec<NewTask>,
}

/// One change of the list.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Change {
    Replace {
        phases: Vec<NewPhase>,
    },
    AddPhase(NewPhase),
    AddTask {
        phase: String,
        content: String,
        notes: Option<String>,
        details: Option<String>,
    },
    Update {
        id: String,
        status: Option<Status>,
        content: Option<String>,
        notes: Option<String>,
        details: Option<String>,
    },
    RemoveTask {
        id: String,
    },
}

impl Todo {
    /// What models call it.
    pub const NAME: &str = "todo_write";
}

impl TodoList {
    /// The list in the details of a result; an empty one where there is none.
    pub fn of(details: Option<&Value>) -> Self {
        details.and_then(|details| serde_json::from_value(details.clone()).ok()).unwrap_or_default()
    }

    /// What is left to do, as clients are told of it.
    pub fn open(&self) -> Vec<TodoItem> {
        let open = self.phases.iter().flat_map(|phase| &phase.tasks).filter(|task| task.status.is_open());
        let shown = open.map(|task| {
            let mut item = TodoItem::new(&task.content, task.status.name());
            item.id = Some(task.id.clone());
            item
        });
        shown.collect()
    }

    /// What is left to do, one line for each phase and each task.
    pub fn outline(&self) -> String {
        let mut text = String::new();
        for phase in &self.phases {
            let open: Vec<_> = phase.tasks.iter().filter(|task| task.status.is_open()).collect();
            if !open.is_empty() {
                let _ = writeln!(text, "- {}", phase.name);
            }
            for task in open {
                let _ = writeln!(text, "  - {}", task.content);
            }
        }
        text
    }

    fn apply(&mut self, change: Change) -> Result<(), String> {
        match change {
            Change::Replace { phases } => {
                self.phases.clear();
                phases.into_iter().for_each(|phase| self.add(phase));
            }
            Change::AddPhase(phase) => self.add(phase),
            Change::AddTask { phase, content, notes, details } => {
                let id = self.next_task();
                let found = self.phases.iter_mut().find(|known| known.id == phase);
                let found = found.ok_or_else(|| format!("Phase \"{phase}\" not found"))?;
                found.tasks.push(Task { id, content, status: Status::Pending, notes, details });
            }
            Change::Update { id, status, content, notes, details } => {
                let task =
                    self.phases.iter_mut().flat_map(|phase| &mut phase.tasks).find(|task| task.id == id);
                let task = task.ok_or_else(|| format!("Task \"{id}\" not found"))?;
                task.status = status.unwrap_or(task.status);
                task.content = content.unwrap_or_else(|| std::mem::take(&mut task.content));
                task.notes = notes.or_else(|| task.notes.take());
                task.details = details.or_else(|| task.details.take());
            }
            Change::RemoveTask { id } => {
                let before = self.tasks();
                self.phases.iter_mut().for_each(|phase| phase.tasks.retain(|task| task.id != id));
                if self.tasks() == before {
                    return Err(format!("Task \"{id}\" not found"));
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, phase: NewPhase) {
        let id = format!("phase-{}", 1 + highest(self.phases.iter().map(|phase| &*phase.id), "phase-"));
        self.phases.push(Phase { id, name: phase.name, tasks: Vec::new() });
        for task in phase.tasks {
            let id = self.next_task();
            let NewTask { content, status, notes, details } = task;
            let task = Task { id, content, status: status.unwrap_or(Status::Pending), notes, details };
            self.phases.last_mut().into_iter().for_each(|phase| phase.tasks.push(task.clone()));
        }
    }

    fn next_task(&self) -> String {
        let ids = self.phases.iter().flat_map(|phase| &phase.tasks).map(|task| &*task.id);
        format!("task-{}", 1 + highest(ids, "task-"))
    }

    fn tasks(&self) -> usize {
        self.phases.iter().map(|phase| phase.tasks.len()).sum()
    }

    /// One task is being worked on, where any is left.
    fn settle(&mut self) {
        let mut tasks: Vec<_> = self.phases.iter_mut().flat_map(|phase| &mut phase.tasks).collect();
        let mut active = tasks.iter_mut().filter(|task| task.status == Status::InProgress);
        if active.next().is_some() {
            active.for_each(|task| task.status = Status::Pending);
        } else if let Some(next) = tasks.iter_mut().find(|task| task.status == Status::Pending) {
            next.status = Status::InProgress;
        }
    }

    /// The list as the model reads it.
    fn summary(&self, errors: &[String]) -> String {
        let mut text = String::new();
        if !errors.is_empty() {
            let _ = writeln!(text, "Errors: {}", errors.join("; "));
        }
        if self.tasks() == 0 {
            text.push_str(if errors.is_empty() { "Todo list cleared." } else { "" });
            return text.trim_end().to_owned();
        }
        let open = |phase: &Phase| phase.tasks.iter().filter(|task| task.status.is_open()).count();
        match self.phases.iter().map(open).sum::<usize>() {
            0 => text.push_str("Remaining items: none.\n"),
            count => {
                let _ = writeln!(text, "Remaining items ({count}):");
            }
        }
        for phase in &self.phases {
            for task in phase.tasks.iter().filter(|task| task.status.is_open()) {
                let _ = writeln!(
                    text,
                    "  - {} {} [{}] ({})",
                    task.id,
                    task.content,
                    task.status.name(),
                    phase.name
                );
                let details = task.details.iter().filter(|_| task.status == Status::InProgress);
                for line in details.flat_map(|details| details.lines()) {
                    let _ = writeln!(text, "      {line}");
                }
            }
        }
        let at = self.phases.iter().position(|phase| open(phase) > 0).unwrap_or(self.phases.len() - 1);
        let (phase, count) = (&self.phases[at], self.phases.len());
        let (all, done) = (phase.tasks.len(), phase.tasks.len() - open(phase));
        let _ = writeln!(text, "Phase {}/{count} \"{}\" — {done}/{all} tasks complete", at + 1, phase.name);
        for phase in &self.phases {
            let _ = writeln!(text, "  {}:", phase.name);
            for task in &phase.tasks {
                let _ = writeln!(text, "    {} {} {}", task.status.sign(), task.id, task.content);
            }
        }
        text.trim_end().to_owned()
    }
}

/// The highest number behind a prefix.
fn highest<'a>(ids: impl Iterator<Item = &'a str>, prefix: &str) -> u64 {
    ids.filter_map(|id| id.strip_prefix(prefix)?.parse().ok()).max().unwrap_or(0)
}

impl Tool for Todo {
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
            list.settle();
            let kept = context.conversation.as_ref().is_some_and(|conversation| conversation.is_kept());
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
    use crate::tools::{Conversation, LocalSpawner, ToolSet};

    /// Remembers the last result.
    #[derive(Default)]
    struct Last(Mutex<Option<Value>>);

    impl Conversation for Last {
        fn last_details(&self, tool: &str) -> Option<Value> {
            assert_eq!(tool, Todo::NAME);
            self.0.lock().unwrap().clone()
        }
        fn is_kept(&self) -> bool {
            true
        }
    }

    async fn call(last: &Arc<Last>, ops: Value) -> String {
        let mut context = ToolContext::new("/", Arc::new(LocalSpawner::new(None)));
        context.conversation = Some(last.clone());
        let mut tools = ToolSet::none();
        tools.add(Arc::new(Todo));
        let output = tools.call(&context, Todo::NAME, json!({"ops": ops})).await;
        *last.0.lock().unwrap() = output.details.clone();
        output.all_text()
    }

    #[tokio::test]
    async fn a_list_is_written_changed_and_finished() {
        let last = Arc::new(Last::default());
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
    async fn a_list_that_cannot_be_read_is_told_and_the_rest_counts() {
        let last = Arc::new(Last::default());
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
