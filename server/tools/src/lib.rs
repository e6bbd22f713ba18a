//! The tools a model can call, and the machinery under them.
//!
//! A [`Tool`] takes validated arguments and a [`ToolContext`] and always answers with a [`ToolOutput`]: a failure is
//! an output with `is_error`, never a panic and never a Rust error, because the model has to read it. Nothing here
//! knows a wire format or a dialect; the engine turns outputs into events.
//!
//! ```
//! use agentese_server_tools::ToolSet;
//!
//! let selection = ToolSet::select(["read", "teleport"]);
//! assert_eq!(selection.tools.names().collect::<Vec<_>>(), ["read"]);
//! assert_eq!(selection.unknown, ["teleport"]);
//! ```
//!
//! Layers, each knowing only those after it:
//!
//! | layer | files |
//! |---|---|
//! | tools | `bash`, `read`, `edit`, `write`, `grep`, `find`, `ls`, `todo`; `work` says what each does; and `rpc_bash` and `kept_shell`, which are no tools but share their machinery |
//! | running a command | `process` (the loop), `capture`, `pusher`, `artifact` and `whole` (what becomes of its output), `shell` |
//! | starting it | `agentese_server_base::processes`; `noise` (what it says for people) |
//! | searching | `walk` (what there is), `search` (lines that match), `listing` (what is shown of it) |
//! | text and files | `text_files` (those that an editor has), `truncate`, `decode`, `matching`, `normalize`, `diff`, `image`, `replace`, `locks`, `paths`, `blocking` |
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
pub mod truncate;
mod walk;
mod whole;
mod work;
mod write;

use agentese_server_base::{os_error, sequences};
use futures::future::BoxFuture;
use serde_json::Value;

pub use agentese_server_base::clean::{Cleaner, clean};
pub use agentese_server_base::processes::{
    CommandLine, Exit, LocalSpawner, Running, Spawner, Talking, guard, open_files,
};
pub use agents::{Agents, AgentsError, Child, ChildAnswer, ChildNews, ChildStep, Order, Parent, Watch};
#[doc(hidden)]
pub use artifact::Artifact;
pub use artifact::DEFAULT_ARTIFACT_LIMIT;
pub use bash::Bash;
pub use context::{Conversation, ToolContext, ToolUpdate, Updates};
pub use edit::Edit;
pub use find::Find;
pub use grep::Grep;
pub use image::{ImageError, PreparedImage, Resized, prepare_image};
pub use kept_shell::KeptShell;
pub use ls::Ls;
#[doc(hidden)]
pub use noise::{Everything, Noise, Shows};
pub use output::{Structured, ToolContent, ToolOutput};
#[doc(hidden)]
pub use paths::{resolve as resolve_path, resolve_existing as resolve_existing_path};
pub use read::Read;
#[doc(hidden)]
pub use read::lines_of_file;
pub use rpc_bash::{RpcBashError, RpcBashOutput, run_rpc_bash};
pub use set::{Selection, ToolSet};
pub use shell::ShellSettings;
pub use signals::signal_name;
#[doc(hidden)]
pub use terminal::render as as_terminal_shows;
pub use text_files::TextFiles;
pub use todo::Todo;
pub use todo_list::TodoList;
#[doc(hidden)]
pub use work::{Work, work};
pub use write::Write;

/// The result of a call that never began, for the run was aborted before.
#[doc(hidden)]
pub const NOT_STARTED: &str = "Not started: the run was aborted.";

/// Something a model can call by name. Implementations never panic and return soon after the context's abort.
pub trait Tool: Send + Sync {
    /// The name the model calls it by, unique in a [`ToolSet`].
    fn name(&self) -> &str;

    /// What the tool does, in words for the model.
    fn description(&self) -> &str;

    /// The JSON Schema object that the arguments satisfy; see [`arguments::validate`] for the subset that is checked.
    fn parameters(&self) -> Value;

    /// Arguments that models give in another shape than the declared one, in that shape; others as they are.
    fn prepared(&self, arguments: Value) -> Value {
        arguments
    }

    /// Whether the tool leaves the world as it is, so that several calls may run side by side.
    fn read_only(&self) -> bool;

    /// Whether several calls may run side by side, in a dialect that lets them; others run alone.
    fn shared(&self) -> bool {
        self.read_only()
    }

    /// Whether a call that succeeds is the last word of a run: the model is not asked again.
    fn ends_run(&self) -> bool {
        false
    }

    /// Returns true if a program wrote its text for a terminal: models read it as a terminal shows it in the end.
    fn is_terminal(&self) -> bool {
        false
    }

    /// Whether it shows what it does while it does it.
    fn shows_progress(&self) -> bool {
        false
    }

    /// What the list of tools in a system prompt says of it; the description's first sentence where it is none.
    fn snippet(&self) -> Option<&str> {
        None
    }

    /// Advice for the system prompt of those who have the tool.
    fn guidelines(&self) -> &[String] {
        &[]
    }

    /// Runs one call with arguments that passed [`arguments::validate`]. A failure is an output with `is_error`.
    ///
    /// Dropping the future stops the call; what it started is ended.
    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput>;
}
