//! Arguments of the tool `task`, as the model sends them.

use serde_json::{Value, json};

use crate::providers::is_blank;

/// Maximum number of subagents in one call.
const MAX_TASKS: usize = 32;
/// Maximum length of the id of a subagent, in characters.
const LONGEST_ID: usize = 32;

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments {
    pub agent: String,
    pub context: Option<String>,
    pub tasks: Vec<TaskItem>,
    pub isolated: bool,
    pub verify: Option<Value>,
    pub schema: Option<Value>,
}

/// The task of one subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskItem {
    pub id: String,
    pub description: String,
    pub assignment: String,
}

/// Returns the schema of the arguments. If `isolation` is true, it includes the arguments for isolation and
/// verification.
pub fn schema(agents: &str, isolation: bool) -> Value {
    let mut schema = json!({
        "type": "object",
        "properties": {
            "agent": {"type": "string", "description": format!("The agent that does the work. {agents}")},
            "context": {"type": "string", "description": "What all of the subagents need to know"},
            "tasks": {
                "type": "array",
                "description": "The pieces of work. They run side by side and do not see each other",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string", "description": "A short name of letters, digits, - and _"},
                        "description": {"type": "string", "description": "What it is, in a few words, for people"},
                        "assignment": {"type": "string", "description": "All that is to be done, in full"},
                    },
                    "required": ["id", "description", "assignment"],
                },
            },
            "schema": {"type": "object", "description": "A JSON Schema for the data of each result"},
        },
        "required": ["agent", "tasks"],
    });
    if isolation {
        schema["properties"]["isolated"] = json!({
            "type": "boolean",
            "description": "Each subagent works in a git worktree of its own; its changes come back at the end",
        });
        schema["properties"]["verify"] = json!({
            "description": "How isolated work is verified before its changes come back: true for the default profile, \
                            the name of a profile, or an object with commands [{name, command, timeoutMs, optional}] \
                            and onFailure (return_failure, retry_once, discard_patch). false for not at all",
        });
    }
    schema
}

/// Reads the arguments. Fails with a message for the model.
pub fn parse(arguments: &Value) -> Result<Arguments, String> {
    let text = |value: &Value, name: &str| value[name].as_str().map(str::to_owned);
    let listed = arguments["tasks"].as_array().filter(|tasks| !tasks.is_empty());
    let listed = listed.ok_or("tasks: at least one is required")?;
    if listed.len() > MAX_TASKS {
        return Err(format!("tasks: at most {MAX_TASKS} are allowed, found {}", listed.len()));
    }
    let mut tasks: Vec<TaskItem> = Vec::new();
    for (index, task) in listed.iter().enumerate() {
        let id = text(task, "id").unwrap_or_default();
        let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if id.is_empty() || id.len() > LONGEST_ID || !id.chars().all(named) {
            return Err(format!(
                "tasks[{index}].id: expected 1 to {LONGEST_ID} letters, digits, - and _, found {id:?}"
            ));
        }
        if tasks.iter().any(|other| other.id.eq_ignore_ascii_case(&id)) {
            return Err(format!("tasks[{index}].id: {id} occurs twice"));
        }
        let assignment = text(task, "assignment").or_else(|| text(task, "task"));
        let assignment = assignment.filter(|assignment| !is_blank(assignment));
        let assignment = assignment.ok_or_else(|| format!("tasks[{index}].assignment: it is missing"))?;
        tasks.push(TaskItem { id, description: text(task, "description").unwrap_or_default(), assignment });
    }
    Ok(Arguments {
        agent: text(arguments, "agent").unwrap_or_default(),
        context: text(arguments, "context").filter(|context| !is_blank(context)),
        tasks,
        isolated: arguments["isolated"] == true,
        verify: arguments.get("verify").filter(|verify| !verify.is_null()).cloned(),
        schema: arguments.get("schema").filter(|schema| schema.is_object()).cloned(),
    })
}

/// Name of the tool.
pub const NAME: &str = "task";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_arguments_are_rejected_by_path() {
        let task = |id: &str| json!({"id": id, "description": "d", "assignment": "a"});
        let refused = |tasks: Value| parse(&json!({"agent": "task", "tasks": tasks})).unwrap_err();
        assert!(refused(json!([])).starts_with("tasks:"));
        assert!(refused(json!([task("../x")])).starts_with("tasks[0].id:"));
        assert!(refused(json!([task(&"x".repeat(33))])).starts_with("tasks[0].id:"));
        assert_eq!(refused(json!([task("a"), task("A")])), "tasks[1].id: A occurs twice");
        assert!(refused(json!([{"id": "a"}])).starts_with("tasks[0].assignment:"));
        let many: Vec<_> = (0..33).map(|number| task(&format!("t{number}"))).collect();
        assert!(refused(json!(many)).contains("at most 32 are allowed, found 33"));
        let read =
            parse(&json!({"agent": "task", "tasks": [task("a")], "isolated": true, "verify": null})).unwrap();
        assert!(read.isolated && read.verify.is_none() && read.context.is_none());
    }
}
