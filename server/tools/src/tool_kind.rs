//! The kind of work that a tool does, derived from its name. Names of built-in tools and of tools in other agents are
//! known.

/// Kind of work of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// The tool reads files or folders.
    Read,
    /// The tool changes files.
    Edit,
    /// The tool searches for files, lines or pages.
    Search,
    /// The tool runs commands or code.
    Execute,
    /// The tool fetches data from the network.
    Fetch,
    /// The tool plans or delegates work.
    Plan,
}

/// Returns the kind of work of a tool. Returns `None` if its name is unknown.
pub fn tool_kind(tool: &str) -> Option<ToolKind> {
    Some(match tool {
        "read" | "ls" | "read_file" => ToolKind::Read,
        "edit" | "write" | "edit_file" | "write_file" => ToolKind::Edit,
        "grep" | "find" | "glob" | "web_search" => ToolKind::Search,
        "bash" | "shell" | "python" | "eval" => ToolKind::Execute,
        "fetch" => ToolKind::Fetch,
        "todo_write" | "task" | "sub_agent" => ToolKind::Plan,
        _ => return None,
    })
}
