//! What surrounds one tool call.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Spawner;
use super::agents::Agents;
use super::artifact::DEFAULT_ARTIFACT_LIMIT;
use super::output::ToolContent;
use super::shell::ShellSettings;
use super::text_files::TextFiles;

/// A partial result, sent while the call runs. Each replaces the one before it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUpdate {
    /// What is there so far.
    pub content: Vec<ToolContent>,
    /// As in a result, but an empty object where there is nothing to add.
    pub details: Option<Value>,
}

/// Where partial results go. The default discards them.
#[derive(Clone, Default)]
pub struct Updates(Option<Arc<dyn Fn(ToolUpdate) + Send + Sync>>);

impl Updates {
    /// Discards every update.
    pub fn none() -> Self {
        Self(None)
    }

    /// Hands every update to `receiver`, which must not block: it is called from the loop that reads the output.
    pub fn to(receiver: impl Fn(ToolUpdate) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(receiver)))
    }

    /// Whether anybody listens, so that an update nobody sees is not built.
    pub fn wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Passes one update on.
    pub fn send(&self, update: ToolUpdate) {
        if let Some(receiver) = &self.0 {
            receiver(update);
        }
    }
}

impl fmt::Debug for Updates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Updates(wanted: {})", self.wanted())
    }
}

/// The conversation that a call belongs to, as far as tools look at it.
pub trait Conversation: Send + Sync {
    /// The details of the newest result of a tool that was no error; none where there is none.
    fn last_details(&self, tool: &str) -> Option<Value>;

    /// Whether it is kept in a file.
    fn is_kept(&self) -> bool;
}

/// The surroundings of one call: cheap to clone, and a clone with another `abort` or `updates` is how a call gets its
/// own.
#[derive(Clone)]
pub struct ToolContext {
    /// The session's working directory; relative paths start here.
    pub cwd: PathBuf,
    /// Cancelled when the call is to stop.
    pub abort: CancellationToken,
    /// Receives partial results.
    pub updates: Updates,
    /// Sets other agents to work; nobody does where it is none.
    pub agents: Option<Arc<dyn Agents>>,
    /// What was said before; none where nobody says it.
    pub conversation: Option<Arc<dyn Conversation>>,
    /// The id of the call, where it is one of a model.
    pub call_id: Option<String>,
    /// The directory for files with full outputs.
    pub temp_dir: PathBuf,
    /// Who has text files besides this machine; nobody where it is none.
    pub files: Option<Arc<dyn TextFiles>>,
    /// Starts commands.
    pub spawner: Arc<dyn Spawner>,
    /// What goes on behind calls that are over, such as putting things away. The end of the process waits for it, for a
    /// while.
    pub chores: TaskTracker,
    /// Which shell runs them, and how.
    pub shell: ShellSettings,
    /// How many bytes of one command's output are kept in a file.
    pub artifact_limit: u64,
    /// Whether images that are too large for a model are made smaller; else they are left out.
    pub auto_resize_images: bool,
    /// Whether images are kept from the model: a note takes their place.
    pub block_images: bool,
    /// Whether results are wanted as data, too, where that takes work.
    pub as_data: bool,
    /// The details of a result with an image, if the model takes none and clients are to know it.
    pub blind_model: Option<Value>,
}

impl ToolContext {
    /// A context in `cwd` with the system's temporary directory, no updates, and an abort that nobody triggers.
    pub fn new(cwd: impl Into<PathBuf>, spawner: Arc<dyn Spawner>) -> Self {
        Self {
            cwd: cwd.into(),
            abort: CancellationToken::new(),
            updates: Updates::none(),
            agents: None,
            conversation: None,
            call_id: None,
            temp_dir: std::env::temp_dir(),
            files: None,
            spawner,
            chores: TaskTracker::new(),
            shell: ShellSettings::default(),
            artifact_limit: DEFAULT_ARTIFACT_LIMIT,
            auto_resize_images: true,
            block_images: false,
            as_data: false,
            blind_model: None,
        }
    }
}
