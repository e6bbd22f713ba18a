//! What work a tool does, by its name: of the tools here, and of those of agents that may stand behind a front.

/// What a tool does with the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// It reads files or folders.
    Reads,
    /// It changes files.
    Edits,
    /// It looks for files, lines or pages.
    Searches,
    /// It runs commands or code.
    Runs,
    /// It gets something from the network.
    Fetches,
    /// It plans, or hands work on.
    Plans,
}

/// The work of the tool with that name; none where the name is not known.
pub(crate) fn work(tool: &str) -> Option<Work> {
    Some(match tool {
        "read" | "ls" | "read_file" => Work::Reads,
        "edit" | "write" | "edit_file" | "write_file" => Work::Edits,
        "grep" | "find" | "glob" | "web_search" => Work::Searches,
        "bash" | "shell" | "python" | "eval" => Work::Runs,
        "fetch" => Work::Fetches,
        "todo_write" | "task" | "sub_agent" => Work::Plans,
        _ => return None,
    })
}
