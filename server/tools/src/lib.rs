//! Tools for models, and their machinery.
//!
//! A [`Tool`] takes validated arguments and a [`ToolContext`] and always returns a [`ToolOutput`]. A failure is an
//! output with `is_error`, so that the model can read it, and never a panic or a Rust error. This crate knows no wire
//! format and no dialect; the engine converts outputs into events.
//!
//! ```
//! use agentese_server_tools::ToolSet;
//!
//! let selection = ToolSet::select(["read", "teleport"]); assert_eq!(selection.tools.names().collect::<Vec<_>>(),
//! ["read"]); assert_eq!(selection.unknown, ["teleport"]);
//! ```
//!
//! Each of these layers depends only on the layers below it:
//!
//! | layer | files |
//! |---|---|
//! | tools | `bash`, `read`, `edit`, `write`, `grep`, `find`, `ls`, `todo`; `tool_kind` classifies tools by name |
//! | commands of the user | `rpc_bash`, `shell_session`, with the machinery of `bash` |
//! | running a command | `process` (the loop), `shell`, `signals` |
//! | its output | `output_capture`, `output_writer`, `output_file`, `output_full`, `terminal` |
//! | starting it | `agentese_server_base::processes`; `stderr_forwarder` (its messages for people) |
//! | searching | `walk` (files of a directory), `search` (matching lines), `listing` (the visible part) |
//! | the interface | `tool`, `context`, `agents`, `arguments`, `output`; `builtin_tools` (by name) |
//! | files | `editor_files` (files in an editor), `image`, `replace`, `locks`, `paths`, `blocking` |
//! | text | `truncate`, `utf8_decoder`, `matching`, `normalize`, `diff`; `todo_list` |
//!
//! Applications use the crate `agentese-server`, which re-exports this one. Hidden items are for its other crates.

mod agents;
pub mod argument_validation;
mod bash;
mod blocking;
mod builtin_tools;
mod context;
mod diff;
mod edit;
mod editor_files;
mod find;
mod grep;
mod image;
mod listing;
mod locks;
mod ls;
mod matching;
mod normalize;
mod output;
mod output_capture;
mod output_file;
mod output_full;
mod output_writer;
mod paths;
pub mod process;
mod read;
mod replace;
mod rpc_bash;
mod search;
mod shell;
mod shell_session;
mod signals;
mod stderr_forwarder;
mod terminal;
mod todo;
mod todo_list;
mod tool;
mod tool_kind;
pub mod truncate;
mod utf8_decoder;
mod walk;
mod write;

use agentese_server_base::{escape_sequences, os_error};

pub use agentese_server_base::clean::{Cleaner, clean};
pub use agentese_server_base::processes::{
    CommandLine, Exit, LocalSpawner, PipedProcess, ProcessHandle, Spawner, guard, open_files,
};
pub use agents::{Child, ChildAnswer, ChildStep, StepCallback, SubagentError, SubagentEvent};
pub use bash::BashTool;
pub use builtin_tools::Selection;
pub use context::{Conversation, EditorFiles, ToolUpdate, Updates};
pub use edit::EditTool;
pub use find::FindTool;
pub use grep::GrepTool;
pub use image::{ImageError, PreparedImage, ResizeInfo, prepare_image};
pub use ls::LsTool;
pub use output::{StructuredOutput, ToolContent, ToolOutput};
pub use output_file::DEFAULT_OUTPUT_FILE_LIMIT;
#[doc(hidden)]
pub use output_file::OutputFile;
#[doc(hidden)]
pub use paths::{resolve as resolve_path, resolve_existing as resolve_existing_path};
pub use read::ReadTool;
#[doc(hidden)]
pub use read::lines_of_file;
pub use rpc_bash::{RpcBashError, RpcBashOutput, run_rpc_bash};
pub use shell::ShellSettings;
pub use shell_session::ShellSession;
pub use signals::signal_name;
#[doc(hidden)]
pub use stderr_forwarder::{NoFilter, StderrFilter, StderrForwarder};
#[doc(hidden)]
pub use terminal::render as as_terminal_shows;
pub use todo::TodoTool;
pub use todo_list::TodoList;
#[doc(hidden)]
pub use tool::NOT_STARTED;
pub use tool::{Parent, SpawnRequest, SubagentHost, Tool, ToolContext, ToolSet};
#[doc(hidden)]
pub use tool_kind::{ToolKind, tool_kind};
pub use write::WriteTool;
