//! The names of Opal's tools, the names of members in their results, and the line that describes a call.

use serde_json::{Map, Value};

use super::super::convert::as_text;

/// The names of the tools that are not shared with other agents. Switches of the session turn the first three off.
pub(in super::super) const SUB_AGENT: &str = "sub_agent";
pub(in super::super) const USE_SKILL: &str = "use_skill";
pub(in super::super) const DEBUG_STATE: &str = "debug_state";
pub(super) const ASK_USER: &str = "ask_user";
pub(super) const TASKS: &str = "tasks";

/// Members in the details of a result: the value that clients receive in place of the text, and the name of a
/// loaded skill.
pub(in super::super) const VALUE: &str = "value";
pub(in super::super) const SKILL: &str = "skill";

/// The names of all tools, in the order in which clients see them.
pub(in super::super) const NAMES: [&str; 10] = [
    "read_file",
    "write_file",
    "edit_file",
    "grep",
    "shell",
    SUB_AGENT,
    TASKS,
    USE_SKILL,
    ASK_USER,
    DEBUG_STATE,
];

/// The maximum length of a line about a call, in characters.
const LONGEST_LINE: usize = 60;

/// Returns one line that describes a call to people.
pub(in super::super) fn call_summary(tool: &str, arguments: &Map<String, Value>) -> String {
    let text = |name: &str| arguments.get(name).map(as_text).unwrap_or_default();
    let line = match tool {
        "read_file" => format!("Read {}", text("path")),
        "write_file" => format!("Write {}", text("path")),
        "edit_file" => format!("Edit {}", text("path")),
        "grep" => format!("Search for {}", text("pattern")),
        "shell" => format!("Run `{}`", shortened(&text("command"))),
        SUB_AGENT => format!("Sub-agent: {}", text("prompt")),
        TASKS => format!("Tasks: {}", text("action")),
        USE_SKILL => format!("Load the skill {}", text("skill_name")),
        ASK_USER => text("question"),
        DEBUG_STATE => "Look at the agent's state".to_owned(),
        other => other.to_owned(),
    };
    shortened(&line)
}

/// Returns a text on one line, shortened to the maximum length.
pub(super) fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
