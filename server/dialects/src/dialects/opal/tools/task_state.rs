//! Tasks with their parents and dependencies, without I/O.

use std::collections::BTreeMap;

use agentese::opal::OpalTask;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::convert::as_text;

/// The progress of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Open,
    InProgress,
    Blocked,
    Done,
}

const STATUSES: [(&str, Status); 4] = [
    ("open", Status::Open),
    ("in_progress", Status::InProgress),
    ("blocked", Status::Blocked),
    ("done", Status::Done),
];

impl Status {
    fn name(self) -> &'static str {
        STATUSES.iter().find(|(_, status)| *status == self).map_or("open", |(name, _)| name)
    }
}

/// The reason for a rejected change. The list stays unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum TaskError {
    #[error("unknown task {0}")]
    Unknown(String),
    #[error("{action} needs {name}")]
    Missing { action: String, name: &'static str },
    #[error("unknown status {0:?}; known: open, in_progress, done, blocked")]
    Status(String),
    #[error("unknown action {0:?}; known: insert, list, update, delete, batch")]
    Action(String),
    #[error("task {task} would depend on itself, through {through}")]
    DependencyCycle { task: u64, through: u64 },
    #[error("task {task} would be a part of itself, through {through}")]
    ParentCycle { task: u64, through: u64 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Task {
    label: String,
    status: Status,
    notes: String,
    parent: Option<u64>,
    blockers: Vec<u64>,
    prompt: Option<String>,
    result: Option<String>,
    created: String,
    updated: String,
}

type Tasks = BTreeMap<u64, Task>;

#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(super) struct State {
    tasks: Tasks,
    /// The highest number that any task of the list has had.
    last: u64,
}

impl State {
    /// Applies the arguments of the tool and returns its result.
    pub(super) fn apply(&mut self, arguments: &Value, now_ms: i64) -> Result<Value, TaskError> {
        let action = arguments["action"].as_str().unwrap_or_default();
        let now = time(now_ms);
        if action != "batch" {
            let changes = self.change(action, arguments, &now)?;
            return Ok(self.result(action, changes));
        }
        let operations: Vec<Value> = arguments["ops"]
            .as_array()
            .ok_or(TaskError::Missing { action: "batch".to_owned(), name: "ops" })?
            .iter()
            .map(|operation| {
                let action = operation["action"].as_str().unwrap_or_default();
                match self.change(action, operation, &now) {
                    Ok(changes) => {
                        json!({"action": action, "changes": changes, "ok": true, "total": self.tasks.len()})
                    }
                    Err(error) => json!({"action": action, "ok": false, "error": error.to_string()}),
                }
            })
            .collect();
        let mut answer = self.result(action, Vec::new());
        answer["operations"] = operations.into();
        Ok(answer)
    }
}

fn time(now_ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(now_ms).unwrap_or_default();
    time.strftime("%Y-%m-%d %H:%M:%S%.6f").to_string()
}

/// Reads the ids from a value: one id, a list, or a text with commas.
fn ids(value: &Value) -> Result<Vec<u64>, TaskError> {
    let one = |text: &str| text.trim().parse::<u64>().map_err(|_| TaskError::Unknown(text.trim().to_owned()));
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(list) => list.iter().map(|id| one(&as_text(id))).collect(),
        Value::String(text) => text.split(',').filter(|id| !id.trim().is_empty()).map(one).collect(),
        other => Ok(vec![one(&other.to_string())?]),
    }
}

impl State {
    /// Returns the unfinished tasks, in the form for clients.
    pub(super) fn active(&self) -> Vec<OpalTask> {
        let active = self.tasks.iter().filter(|(_, task)| task.status != Status::Done);
        active.map(|(id, task)| self.wire(*id, task)).collect()
    }

    fn change(&mut self, action: &str, arguments: &Value, now: &str) -> Result<Vec<Value>, TaskError> {
        match action {
            "list" => Ok(Vec::new()),
            "insert" => self.insert(arguments, now),
            "update" => self.update(arguments, now),
            "delete" => self.delete(arguments),
            other => Err(TaskError::Action(other.to_owned())),
        }
    }

    fn insert(&mut self, arguments: &Value, now: &str) -> Result<Vec<Value>, TaskError> {
        let missing = || TaskError::Missing { action: "insert".to_owned(), name: "label" };
        let label = arguments["label"].as_str().map(str::trim).filter(|label| !label.is_empty());
        let label = label.ok_or_else(missing)?.to_owned();
        let id = self.last + 1;
        let task = Task {
            label: label.clone(),
            status: Status::Open,
            notes: String::new(),
            parent: None,
            blockers: Vec::new(),
            prompt: None,
            result: None,
            created: now.to_owned(),
            updated: now.to_owned(),
        };
        let task = self.with_changes(id, task, arguments)?;
        self.tasks.insert(id, task);
        self.last = id;
        Ok(vec![json!({"id": id, "label": label, "op": "insert"})])
    }

    fn update(&mut self, arguments: &Value, now: &str) -> Result<Vec<Value>, TaskError> {
        let id = self.task_argument("update", arguments)?;
        let before = self.tasks[&id].clone();
        let mut task = self.with_changes(id, before.clone(), arguments)?;
        let fields = [
            ("label", before.label != task.label),
            ("status", before.status != task.status),
            ("notes", before.notes != task.notes),
            ("parent_id", before.parent != task.parent),
            ("blocked_by", before.blockers != task.blockers),
            ("prompt", before.prompt != task.prompt),
            ("result", before.result != task.result),
        ];
        let changed: Vec<&str> =
            fields.iter().filter(|(_, changed)| *changed).map(|(name, _)| *name).collect();
        if !changed.is_empty() {
            now.clone_into(&mut task.updated);
            self.tasks.insert(id, task);
        }
        Ok(vec![json!({"changed_fields": changed, "id": id, "op": "update"})])
    }

    /// Deletes a task. Its subtasks lose their parent, and other tasks no longer depend on it.
    fn delete(&mut self, arguments: &Value) -> Result<Vec<Value>, TaskError> {
        let id = self.task_argument("delete", arguments)?;
        let task = self.tasks.remove(&id);
        for other in self.tasks.values_mut() {
            other.blockers.retain(|blocker| *blocker != id);
            other.parent = other.parent.filter(|parent| *parent != id);
        }
        Ok(vec![json!({"id": id, "label": task.map(|task| task.label), "op": "delete"})])
    }

    fn task_argument(&self, action: &str, arguments: &Value) -> Result<u64, TaskError> {
        let missing = || TaskError::Missing { action: action.to_owned(), name: "id" };
        let id = *ids(&arguments["id"])?.first().ok_or_else(missing)?;
        self.existing_task(id)
    }

    fn existing_task(&self, id: u64) -> Result<u64, TaskError> {
        self.tasks.contains_key(&id).then_some(id).ok_or_else(|| TaskError::Unknown(id.to_string()))
    }

    /// Returns the task with the changes from the arguments.
    fn with_changes(&self, id: u64, mut task: Task, arguments: &Value) -> Result<Task, TaskError> {
        let text = |name: &str| arguments.get(name).filter(|value| !value.is_null()).map(as_text);
        if let Some(label) = text("label") {
            task.label = label;
        }
        if let Some(notes) = text("notes") {
            task.notes = notes;
        }
        if let Some(name) = text("status") {
            let status = STATUSES.iter().find(|(known, _)| *known == name);
            task.status = status.ok_or(TaskError::Status(name))?.1;
        }
        task.prompt = text("prompt").or(task.prompt);
        task.result = text("result").or(task.result);
        if let Some(parent) = arguments.get("parent_id") {
            let parent = ids(parent)?.first().map(|parent| self.existing_task(*parent)).transpose()?;
            task.parent = parent;
            if let Some(through) =
                parent.filter(|parent| self.reaches(*parent, id, |task| task.parent.into_iter().collect()))
            {
                return Err(TaskError::ParentCycle { task: id, through });
            }
        }
        if let Some(blockers) = arguments.get("blocked_by") {
            let mut wanted = ids(blockers)?;
            wanted.dedup();
            for blocker in &wanted {
                self.existing_task(*blocker)?;
                if self.reaches(*blocker, id, |task| task.blockers.clone()) {
                    return Err(TaskError::DependencyCycle { task: id, through: *blocker });
                }
            }
            task.blockers = wanted;
        }
        Ok(task)
    }

    /// Returns true if the task `to` can be reached from `from`. `steps` returns the next ids of a task, such as
    /// its parent or the tasks that block it.
    fn reaches(&self, from: u64, to: u64, steps: impl Fn(&Task) -> Vec<u64>) -> bool {
        let (mut todo, mut seen) = (vec![from], Vec::new());
        while let Some(id) = todo.pop() {
            if id == to {
                return true;
            }
            if !seen.contains(&id) {
                seen.push(id);
                todo.extend(self.tasks.get(&id).map(&steps).unwrap_or_default());
            }
        }
        false
    }

    /// Returns the status of a task: blocked if it is open and depends on an unfinished task.
    fn status(&self, task: &Task) -> Status {
        let waits = || {
            task.blockers.iter().any(|id| self.tasks.get(id).is_some_and(|task| task.status != Status::Done))
        };
        match task.status {
            Status::Open if waits() => Status::Blocked,
            status => status,
        }
    }

    fn result(&self, action: &str, changes: Vec<Value>) -> Value {
        let all = self.tasks.iter();
        let tasks: Vec<Value> = all
            .map(|(id, task)| {
                let status = self.status(task);
                let blockers: Vec<String> = task.blockers.iter().map(u64::to_string).collect();
                json!({
                    "id": id, "label": task.label, "status": status.name(), "done": status == Status::Done,
                    "notes": task.notes, "parent_id": task.parent, "blocked_by": blockers, "prompt": task.prompt,
                    "result": task.result, "created_at": task.created, "updated_at": task.updated,
                })
            })
            .collect();
        let count = |wanted: Status| self.tasks.values().filter(|task| self.status(task) == wanted).count();
        json!({
            "kind": "tasks", "action": action, "changes": changes, "notes": [], "total": self.tasks.len(),
            "counts": {
                "open": count(Status::Open), "in_progress": count(Status::InProgress),
                "blocked": count(Status::Blocked), "done": count(Status::Done),
            },
            "tasks": tasks,
        })
    }

    fn wire(&self, id: u64, task: &Task) -> OpalTask {
        let mut wire = OpalTask::new(id.to_string(), task.label.as_str(), self.status(task).name());
        let blockers: Vec<String> = task.blockers.iter().map(u64::to_string).collect();
        wire.notes = Some(task.notes.clone());
        wire.blocked_by = Some(blockers.join(","));
        wire.parent_id = Some(task.parent.map(|id| id.to_string()).unwrap_or_default());
        wire.prompt = Some(task.prompt.clone().unwrap_or_default());
        wire.result = Some(task.result.clone().unwrap_or_default());
        wire.created_at = Some(task.created.clone());
        wire.updated_at = Some(task.updated.clone());
        wire
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(list: &mut State, arguments: Value) -> Result<Value, String> {
        list.apply(&arguments, 0).map_err(|error| error.to_string())
    }

    #[test]
    fn task_is_blocked_until_its_dependencies_are_done() {
        let mut list = State::default();
        let answer = apply(
            &mut list,
            json!({"action": "batch", "ops": [
                {"action": "insert", "label": "a"},
                {"action": "insert", "label": "b", "blocked_by": "1"},
                {"action": "insert"},
            ]}),
        )
        .unwrap();
        assert_eq!(answer["counts"], json!({"open": 1, "in_progress": 0, "blocked": 1, "done": 0}));
        assert_eq!(
            answer["operations"][2],
            json!({"action": "insert", "ok": false, "error": "insert needs label"})
        );
        let answer = apply(&mut list, json!({"action": "update", "id": "1", "status": "done"})).unwrap();
        assert_eq!(answer["changes"], json!([{"changed_fields": ["status"], "id": 1, "op": "update"}]));
        assert_eq!(answer["tasks"][1]["status"], "open");
        let active = list.active();
        assert_eq!(
            (active.len(), active[0].id.as_str(), active[0].blocked_by.as_deref()),
            (1, "2", Some("1"))
        );
    }

    #[test]
    fn dependency_and_parent_cycles_are_rejected() {
        let mut list = State::default();
        for label in ["a", "b", "c"] {
            apply(&mut list, json!({"action": "insert", "label": label})).unwrap();
        }
        apply(&mut list, json!({"action": "update", "id": 2, "blocked_by": [1], "parent_id": 1})).unwrap();
        apply(&mut list, json!({"action": "update", "id": 3, "blocked_by": ["2"], "parent_id": "2"}))
            .unwrap();
        let before = apply(&mut list, json!({"action": "list"})).unwrap();
        for (arguments, error) in [
            (
                json!({"action": "update", "id": 1, "blocked_by": [3]}),
                "task 1 would depend on itself, through 3",
            ),
            (
                json!({"action": "update", "id": 1, "blocked_by": [1]}),
                "task 1 would depend on itself, through 1",
            ),
            (
                json!({"action": "update", "id": 1, "parent_id": 3}),
                "task 1 would be a part of itself, through 3",
            ),
            (json!({"action": "update", "id": 9}), "unknown task 9"),
            (json!({"action": "insert", "label": "x", "blocked_by": "7"}), "unknown task 7"),
            (
                json!({"action": "update", "id": 1, "status": "later"}),
                "unknown status \"later\"; known: open, in_progress, done, blocked",
            ),
            (json!({"action": "fly"}), "unknown action \"fly\"; known: insert, list, update, delete, batch"),
            (json!({"action": "delete"}), "delete needs id"),
        ] {
            assert_eq!(apply(&mut list, arguments), Err(error.to_owned()));
        }
        assert_eq!(apply(&mut list, json!({"action": "list"})).unwrap(), before);
        let answer = apply(&mut list, json!({"action": "delete", "id": 2})).unwrap();
        assert_eq!(answer["tasks"][1]["blocked_by"], json!([]));
        assert_eq!(answer["tasks"][1]["parent_id"], Value::Null);
        let next = apply(&mut list, json!({"action": "insert", "label": "d"})).unwrap();
        assert_eq!(next["changes"][0]["id"], 4);
    }
}
