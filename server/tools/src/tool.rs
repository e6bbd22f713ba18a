//! A tool, the set of tools of a session, the context of a call, and the agents that a call can start: types that refer
//! to each other.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentese::types::{ThinkingLevel, ToolCall};
use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Spawner;
use super::agents::{Child, StepCallback, SubagentError, SubagentEvent};
use super::arguments;
use super::context::{Conversation, EditorFiles, Updates};
use super::output::ToolOutput;
use super::output_file::DEFAULT_OUTPUT_FILE_LIMIT;
use super::shell::ShellSettings;

/// The result of a call that did not start because the run was aborted.
pub const NOT_STARTED: &str = "Not started: the run was aborted.";

/// A tool that a model can call by name. Implementations never panic and return soon after the context's abort.
pub trait Tool: Send + Sync {
    /// Returns the name for calls, unique in a [`ToolSet`].
    fn name(&self) -> &str;

    /// Returns the description of the tool for the model.
    fn description(&self) -> &str;

    /// Returns the JSON Schema object for the arguments; see [`arguments::validate`] for the subset that is checked.
    fn parameters(&self) -> Value;

    /// Returns arguments in the declared shape, if a model wrote them in another known shape. Returns others unchanged.
    fn normalize_arguments(&self, arguments: Value) -> Value {
        arguments
    }

    /// Returns true if the tool changes nothing, so that several calls may run concurrently.
    fn read_only(&self) -> bool;

    /// Returns true if several calls may run concurrently, in a dialect that permits it. Other calls run alone.
    fn shared(&self) -> bool {
        self.read_only()
    }

    /// Returns true if a successful call ends the run: the model receives no further request.
    fn ends_run(&self) -> bool {
        false
    }

    /// Returns true if the text of the tool is for a terminal; models then read the final text of the terminal.
    fn is_terminal(&self) -> bool {
        false
    }

    /// Returns true if the tool reports its progress while it runs.
    fn shows_progress(&self) -> bool {
        false
    }

    /// Returns the line for the list of tools in a system prompt. If it is `None`, the first sentence of the
    /// description is used.
    fn snippet(&self) -> Option<&str> {
        None
    }

    /// Returns advice for the system prompt of agents with the tool.
    fn guidelines(&self) -> &[String] {
        &[]
    }

    /// Runs one call with arguments that passed [`arguments::validate`]. A failure is an output with `is_error`.
    ///
    /// Dropping the future stops the call and ends its processes.
    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput>;
}

/// Tools by name, in the order of their presentation to the model.
#[derive(Clone)]
pub struct ToolSet {
    pub(super) tools: Vec<Arc<dyn Tool>>,
}

impl ToolSet {
    /// Returns an empty set.
    pub fn none() -> Self {
        Self { tools: Vec::new() }
    }

    /// Returns the tool of that name, if present.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// Adds a tool at the end, or replaces the tool of the same name.
    pub fn add(&mut self, tool: Arc<dyn Tool>) {
        match self.tools.iter_mut().find(|known| known.name() == tool.name()) {
            Some(known) => *known = tool,
            None => self.tools.push(tool),
        }
    }

    /// Replaces the tool of the same name, if present.
    pub fn exchange(&mut self, tool: Arc<dyn Tool>) {
        if self.get(tool.name()).is_some() {
            self.add(tool);
        }
    }

    /// Keeps only the tools whose name satisfies the condition.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.tools.retain(|tool| keep(tool.name()));
    }

    /// Returns the names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name())
    }

    /// Returns the tools in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter()
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Finds the tool, validates the arguments, and executes the tool. An unknown name and invalid arguments
    /// cause error outputs without `took`.
    pub async fn call(&self, context: &ToolContext, name: &str, arguments: Value) -> ToolOutput {
        let Some(tool) = self.get(name) else {
            return ToolOutput::error(format!("Tool {name} not found"));
        };
        match arguments::validate(name, &tool.parameters(), &tool.normalize_arguments(arguments)) {
            Ok(arguments) => {
                let output = tool.execute(context, arguments).await;
                // The caller has a clock and sets the time.
                ToolOutput { took: Some(Duration::ZERO), ..output }
            }
            Err(text) => ToolOutput::error(text),
        }
    }
}

/// The context of one call. It is cheap to clone, and a call gets a clone with its own `abort` or `updates`.
#[derive(Clone)]
pub struct ToolContext {
    /// Working directory of the session; relative paths start here.
    pub cwd: PathBuf,
    /// Token that is cancelled when the call must stop.
    pub abort: CancellationToken,
    /// Receiver of partial results.
    pub updates: Updates,
    /// Starter of other agents; `None` if no agents can be started.
    pub subagents: Option<Arc<dyn SubagentHost>>,
    /// Conversation of the call, if known.
    pub conversation: Option<Arc<dyn Conversation>>,
    /// Id of the call, if a model made it.
    pub call_id: Option<String>,
    /// Directory for files with full outputs.
    pub temp_dir: PathBuf,
    /// Text files in an editor of the client; `None` without an editor.
    pub editor_files: Option<Arc<dyn EditorFiles>>,
    /// Starter of commands.
    pub spawner: Arc<dyn Spawner>,
    /// Background work after the end of calls, such as clean-up. The end of the process waits for it, up to a limit.
    pub background_tasks: TaskTracker,
    /// Settings of the shell for commands.
    pub shell: ShellSettings,
    /// Maximum size of the file with a command's output, in bytes.
    pub output_file_limit: u64,
    /// `true` if images that are too large for a model are reduced; otherwise they are left out.
    pub auto_resize_images: bool,
    /// `true` if a note replaces images for the model.
    pub block_images: bool,
    /// `true` if results are also returned as data when that takes work.
    pub wants_structured: bool,
    /// Details of a result with an image, for clients of a model that accepts no images.
    pub no_vision_details: Option<Value>,
}

impl ToolContext {
    /// Creates a context in `cwd` with the system's temporary directory, no updates, and an abort that is never
    /// triggered.
    pub fn new(cwd: impl Into<PathBuf>, spawner: Arc<dyn Spawner>) -> Self {
        Self {
            cwd: cwd.into(),
            abort: CancellationToken::new(),
            updates: Updates::none(),
            subagents: None,
            conversation: None,
            call_id: None,
            temp_dir: std::env::temp_dir(),
            editor_files: None,
            spawner,
            background_tasks: TaskTracker::new(),
            shell: ShellSettings::default(),
            output_file_limit: DEFAULT_OUTPUT_FILE_LIMIT,
            auto_resize_images: true,
            block_images: false,
            wants_structured: false,
            no_vision_details: None,
        }
    }
}

/// Specification of a child agent.
#[derive(Clone)]
pub struct SpawnRequest {
    /// Identifies the child in events.
    pub id: String,
    /// Name of the agent, in events.
    pub agent: String,
    /// Base of the child's system prompt, in place of the parent's.
    pub instructions: String,
    /// Tools of the child; `None` for the parent's tools. Guards of the parent check its calls too.
    pub tools: Option<ToolSet>,
    /// Model of the child, in the form of `--model`; `None` for the parent's model.
    pub model: Option<String>,
    /// Thinking level of the child; `None` for the parent's level.
    pub thinking: Option<ThinkingLevel>,
    /// Working directory of the child; `None` for the parent's directory.
    pub cwd: Option<PathBuf>,
    /// File for the child's conversation; `None` for no file.
    pub history: Option<PathBuf>,
    /// `true` if the child works in a copy of the directory, for the event of its start.
    pub isolated: bool,
    /// `true` if the child continues the work of an earlier child: no event reports its start, and it does not add to
    /// the number of children.
    pub resumes: bool,
    /// Receiver of the child's steps.
    pub on_step: Option<StepCallback>,
}

/// Data of the parent agent.
#[derive(Clone)]
pub struct Parent {
    /// Tools of the parent.
    pub tools: ToolSet,
    /// Model of the parent, as `provider/id`.
    pub model: Option<String>,
    /// File of the parent's session; `None` for a session in memory.
    pub session_file: Option<PathBuf>,
    /// Number of further generations of children.
    pub generations: usize,
}

/// Starts other agents.
pub trait SubagentHost: Send + Sync {
    /// Returns the data of the parent, or `None` after its end.
    fn parent(&self) -> Option<Parent>;

    /// Emits an event about a child to subscribers of the parent.
    fn emit(&self, id: &str, agent: &str, event: SubagentEvent<'_>);

    /// Returns milliseconds since the Unix epoch.
    fn now_ms(&self) -> i64;

    /// Waits for that duration by the parent's clock. Dropping the future ends the wait.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// Requests permission for a call from the guards of the parent. Fails with a message for the model. An
    /// abort of the call that started the child denies the permission.
    fn authorize<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<(), String>>;

    /// Creates a child, which is idle at first. The child is included in the number of children until it is
    /// dropped.
    fn start(&self, request: SpawnRequest) -> BoxFuture<'_, Result<Box<dyn Child>, SubagentError>>;
}
