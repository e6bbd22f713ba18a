//! Tools for models, and their machinery.
//!
//! A [`Tool`] takes validated arguments and a [`ToolContext`] and always returns a [`ToolOutput`]. A failure is an
//! output with `is_error`, never a panic or a Rust error, because the model must read it. This crate knows no wire
//! format and no dialect; the engine converts outputs into events.
//!
//! ```
//! use agentese_server_tools::ToolSet;
//!
//! let selection = ToolSet::select(["read", "teleport"]);
//! assert_eq!(selection.tools.names().collect::<Vec<_>>(), ["read"]);
//! assert_eq!(selection.unknown, ["teleport"]);
//! ```
//!
//! Layers, each of which knows only the following ones:
//!
//! | layer | files |
//! |---|---|
//! | tools | `bash`, `read`, `edit`, `write`, `grep`, `find`, `ls`, `todo`; `work` has the kind of work of each |
//! | commands of the user | `rpc_bash`, `kept_shell`, with the machinery of `bash` |
//! | running a command | `process` (the loop), `capture`, `pusher`, `artifact` and `whole` (its output), `shell` |
//! | starting it | `agentese_server_base::processes`; `noise` (its messages for people) |
//! | searching | `walk` (files of a directory), `search` (matching lines), `listing` (the visible part) |
//! | the interface | `tool`, `context`, `agents`, `output`; `set` has the built-in tools by name |
//! | files | `text_files` (files in an editor), `image`, `replace`, `locks`, `paths`, `blocking` |
//! | text | `truncate`, `decode`, `matching`, `normalize`, `diff` |
//!
//! Applications use the crate `agentese-server`, which re-exports this one. Hidden items are for its other crates.

mod agents;
pub mod arguments;
mod artifact;
mod bash;
mod blocking;
mod capture;
mod context;
mod decode;
mod diff;
mod edit;
mod find;
mod grep;
mod image;
mod kept_shell;
mod listing;
mod locks;
mod ls;
mod matching;
mod noise;
mod normalize;
mod output;
mod paths;
pub mod process;
mod pusher;
mod read;
mod replace;
mod rpc_bash;
mod search;
mod set;
mod shell;
mod signals;
mod terminal;
mod text_files;
mod todo;
mod todo_list;
mod tool;
pub mod truncate;
mod walk;
mod whole;
mod work;
mod write;

use agentese_server_base::{os_error, sequences};

pub use agentese_server_base::clean::{Cleaner, clean};
pub use agentese_server_base::processes::{
    CommandLine, Exit, LocalSpawner, PipedProcess, ProcessHandle, Spawner, guard, open_files,
};
pub use agents::{Child, ChildAnswer, ChildStep, StepCallback, SubagentError, SubagentEvent};
pub use artifact::DEFAULT_OUTPUT_FILE_LIMIT;
#[doc(hidden)]
pub use artifact::OutputFile;
pub use bash::BashTool;
pub use context::{Conversation, EditorFiles, ToolUpdate, Updates};
pub use edit::EditTool;
pub use find::FindTool;
pub use grep::GrepTool;
pub use image::{ImageError, PreparedImage, ResizeInfo, prepare_image};
pub use kept_shell::ShellSession;
pub use ls::LsTool;
#[doc(hidden)]
pub use noise::{NoFilter, StderrFilter, StderrForwarder};
pub use output::{StructuredOutput, ToolContent, ToolOutput};
#[doc(hidden)]
pub use paths::{resolve as resolve_path, resolve_existing as resolve_existing_path};
pub use read::ReadTool;
#[doc(hidden)]
pub use read::lines_of_file;
pub use rpc_bash::{RpcBashError, RpcBashOutput, run_rpc_bash};
pub use set::Selection;
pub use shell::ShellSettings;
pub use signals::signal_name;
#[doc(hidden)]
pub use terminal::render as as_terminal_shows;
pub use todo::TodoTool;
pub use todo_list::TodoList;
#[doc(hidden)]
pub use tool::NOT_STARTED;
pub use tool::{Parent, SpawnRequest, SubagentHost, Tool, ToolContext, ToolSet};
#[doc(hidden)]
pub use work::{ToolKind, tool_kind};
pub use write::WriteTool;
