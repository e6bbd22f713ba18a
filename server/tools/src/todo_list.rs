//! A list of tasks in phases, with its changes and its text for a model.

use std::fmt::Write as _;

use agentese::types::TodoItem;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The task was not started.
    Pending,
    /// The task is in progress.
    InProgress,
    /// The task is done.
    Completed,
    /// The task was abandoned.
    Abandoned,
}

impl Status {
    fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::InProgress)
    }

    /// Returns the name of the status in the list.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Abandoned => "abandoned",
        }
    }

    fn symbol(self) -> char {
        match self {
            Self::Pending => '○',
            Self::InProgress => '→',
            Self::Completed => '✓',
            Self::Abandoned => '✗',
        }
    }
}

/// A task of the todo list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Identifier of the task, unique in the list.
    pub id: String,
    /// Description of the task.
    pub content: String,
    /// Status of the task.
    pub status: Status,
    /// Notes about the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Details of the work. The model receives them only while the task is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

/// A group of related tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Identifier of the phase, unique in the list.
    pub id: String,
    /// Name of the phase.
    pub name: String,
    /// Tasks of the phase, in order.
    pub tasks: Vec<Task>,
}

/// A todo list with all its tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoList {
    /// Phases of the list, in order.
    pub phases: Vec<Phase>,
}

#[derive(Deserialize)]
pub(super) struct NewTask {
    content: String,
    status: Option<Status>,
    notes: Option<String>,
    details: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct NewPhase {
    name: String,
    #[serde(default)]
    tasks: Vec<NewTask>,
}

/// One change of the list.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(super) enum Change {
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

impl TodoList {
    /// Returns the list that the details of a result contain. Without details, returns an empty list.
    pub fn of(details: Option<&Value>) -> Self {
        details.and_then(|details| serde_json::from_value(details.clone()).ok()).unwrap_or_default()
    }

    /// Returns the open tasks for clients.
    pub fn open(&self) -> Vec<TodoItem> {
        let open = self.phases.iter().flat_map(|phase| &phase.tasks).filter(|task| task.status.is_open());
        let shown = open.map(|task| {
            let mut item = TodoItem::new(&task.content, task.status.name());
            item.id = Some(task.id.clone());
            item
        });
        shown.collect()
    }

    /// Returns the open tasks as text, with one line for each phase and each task.
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

    /// Applies one change. Fails with a message for the model.
    pub(super) fn apply(&mut self, change: Change) -> Result<(), String> {
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

    /// Makes sure that one task is in progress. If several tasks are, all but the first become pending. If no
    /// task is, the first pending task becomes the one in progress.
    pub(super) fn activate_next(&mut self) {
        let mut tasks: Vec<_> = self.phases.iter_mut().flat_map(|phase| &mut phase.tasks).collect();
        let mut active = tasks.iter_mut().filter(|task| task.status == Status::InProgress);
        if active.next().is_some() {
            active.for_each(|task| task.status = Status::Pending);
        } else if let Some(next) = tasks.iter_mut().find(|task| task.status == Status::Pending) {
            next.status = Status::InProgress;
        }
    }

    /// Returns the list as text for the model, after the errors.
    pub(super) fn summary(&self, errors: &[String]) -> String {
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
                let _ = writeln!(text, "    {} {} {}", task.status.symbol(), task.id, task.content);
            }
        }
        text.trim_end().to_owned()
    }
}

/// Returns the highest number that follows `prefix` in the ids; 0 without such an id.
fn highest<'a>(ids: impl Iterator<Item = &'a str>, prefix: &str) -> u64 {
    ids.filter_map(|id| id.strip_prefix(prefix)?.parse().ok()).max().unwrap_or(0)
}
