//! The kind of work of a tool, by its name: for the tools here, and for the tools of agents behind a front.

/// Kind of work of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// The tool reads files or folders.
    Reads,
    /// The tool changes files.
    Edits,
    /// The tool searches for files, lines or pages.
    Searches,
    /// The tool runs commands or code.
    Runs,
    /// The tool fetches data from the network.
    Fetches,
    /// The tool plans or delegates work.
    Plans,
}

/// Returns the kind of work of the tool with that name; `None` for an unknown name.
pub fn work(tool: &str) -> Option<Work> {
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
