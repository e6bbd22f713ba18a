//! Tools, sets of tools, the context of a call, and the agents that a call can start. These types refer to each other.

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
use super::argument_validation;
use super::context::{Conversation, EditorFiles, Updates};
use super::output::ToolOutput;
use super::output_file::DEFAULT_OUTPUT_FILE_LIMIT;
use super::shell::ShellSettings;

/// The result of a call that did not start because the run was aborted.
pub const NOT_STARTED: &str = "Not started: the run was aborted.";

/// A tool that a model can call by name. An implementation never panics. It returns soon after the `abort` of the
/// context is cancelled.
pub trait Tool: Send + Sync {
    /// Returns the name for calls, unique in a [`ToolSet`].
    fn name(&self) -> &str;

    /// Returns the description of the tool for the model.
    fn description(&self) -> &str;

    /// Returns the JSON Schema object for the arguments; see [`arguments::validate`] for the subset that is checked.
    fn parameters(&self) -> Value;

    /// Returns the arguments in the declared shape, if a model wrote them in another shape that the tool knows.
    /// Otherwise returns them unchanged.
    fn normalize_arguments(&self, arguments: Value) -> Value {
        arguments
    }

    /// Returns true if the tool changes nothing. Several such calls can then run at the same time.
    fn read_only(&self) -> bool;

    /// Returns true if several calls can run at the same time in dialects with this feature. Otherwise each call runs
    /// alone.
    fn shared(&self) -> bool {
        self.read_only()
    }

    /// Returns true if the run ends after a successful call. The model then receives no further request.
    fn ends_run(&self) -> bool {
        false
    }

    /// Returns true if the output contains control sequences for a terminal. Models then receive the text that a
    /// terminal shows at the end.
    fn is_terminal(&self) -> bool {
        false
    }

    /// Returns true if the tool sends partial results while it runs.
    fn shows_progress(&self) -> bool {
        false
    }

    /// Returns the description of the tool in the system prompt's list of tools. With `None`, the list has the first
    /// sentence of [`Tool::description`].
    fn snippet(&self) -> Option<&str> {
        None
    }

    /// Returns sentences for the system prompt that advise the model how to use the tool.
    fn guidelines(&self) -> &[String] {
        &[]
    }

    /// Runs one call. The arguments have passed [`arguments::validate`]. A failure is an output with `is_error`.
    ///
    /// Dropping the future stops the call and ends its processes.
    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput>;
}

/// A set of tools with unique names. Models receive the tools in this order.
#[derive(Clone)]
pub struct ToolSet {
    pub(super) tools: Vec<Arc<dyn Tool>>,
}

impl ToolSet {
    /// Returns an empty set.
    pub fn none() -> Self {
        Self { tools: Vec::new() }
    }

    /// Returns the tool with this name, if the set has one.
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

    /// Replaces the tool of the same name. Has no effect if the set has no tool of this name.
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

    /// Finds the tool, validates the arguments, and runs the call. For an unknown name or invalid arguments, returns an
    /// error output without `took`.
    pub async fn call(&self, context: &ToolContext, name: &str, arguments: Value) -> ToolOutput {
        let Some(tool) = self.get(name) else {
            return ToolOutput::error(format!("Tool {name} not found"));
        };
        match argument_validation::validate(name, &tool.parameters(), &tool.normalize_arguments(arguments)) {
            Ok(arguments) => {
                let output = tool.execute(context, arguments).await;
                // The caller has a clock and sets the time.
                ToolOutput { took: Some(Duration::ZERO), ..output }
            }
            Err(text) => ToolOutput::error(text),
        }
    }
}

/// The context of one call. Clones are cheap, so that a call can have its own `abort` or `updates`.
#[derive(Clone)]
pub struct ToolContext {
    /// Working directory of the session; relative paths start here.
    pub cwd: PathBuf,
    /// Token that is cancelled when the call must stop.
    pub abort: CancellationToken,
    /// Receiver of partial results.
    pub updates: Updates,
    /// The host that starts subagents; `None` if the call cannot start agents.
    pub subagents: Option<Arc<dyn SubagentHost>>,
    /// Conversation of the call, if known.
    pub conversation: Option<Arc<dyn Conversation>>,
    /// Id of the call, if a model made it.
    pub call_id: Option<String>,
    /// Directory for files with full outputs.
    pub temp_dir: PathBuf,
    /// Text files in an editor of the client; `None` without an editor.
    pub editor_files: Option<Arc<dyn EditorFiles>>,
    /// Starts the commands of the call.
    pub spawner: Arc<dyn Spawner>,
    /// Work that continues after calls, such as clean-up. The process waits for it at its end, for a limited time.
    pub background_tasks: TaskTracker,
    /// Settings of the shell for commands.
    pub shell: ShellSettings,
    /// Maximum size of the file with a command's output, in bytes.
    pub output_file_limit: u64,
    /// `true` if images that are too large for a model are reduced; `false` if they are left out.
    pub auto_resize_images: bool,
    /// `true` if models receive a note in place of each image.
    pub block_images: bool,
    /// `true` if results are also returned as JSON even if this takes extra work.
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

/// Specification of a subagent.
#[derive(Clone)]
pub struct SpawnRequest {
    /// Id of the subagent in events.
    pub id: String,
    /// Name of the subagent's agent definition in events.
    pub agent: String,
    /// First part of the subagent's system prompt, in place of the parent's.
    pub instructions: String,
    /// Tools of the subagent; `None` for the parent's tools. The parent's guards also check the subagent's
    /// calls.
    pub tools: Option<ToolSet>,
    /// Model of the subagent, in the syntax of `--model`; `None` for the parent's model.
    pub model: Option<String>,
    /// Thinking level of the subagent; `None` for the parent's level.
    pub thinking: Option<ThinkingLevel>,
    /// Working directory of the subagent; `None` for the parent's directory.
    pub cwd: Option<PathBuf>,
    /// File that receives the subagent's conversation; `None` if it is not stored.
    pub history: Option<PathBuf>,
    /// `true` if the subagent works in a copy of the directory. Only the event of its start uses this.
    pub isolated: bool,
    /// `true` if the subagent continues the work of an earlier subagent. Then no event reports its start, and
    /// it is not counted as another subagent.
    pub resumes: bool,
    /// Receiver of the subagent's steps.
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
    /// Number of generations of subagents that are permitted below the parent.
    pub generations: usize,
}

/// The agent that can start subagents.
pub trait SubagentHost: Send + Sync {
    /// Returns the data of the parent. Returns `None` if the parent has ended.
    fn parent(&self) -> Option<Parent>;

    /// Emits an event about a subagent to subscribers of the parent.
    fn emit(&self, id: &str, agent: &str, event: SubagentEvent<'_>);

    /// Returns the current time in milliseconds since the Unix epoch.
    fn now_ms(&self) -> i64;

    /// Waits for `duration`, measured by the parent's clock. Dropping the future ends the wait.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// Requests permission for a call from the parent's guards. Fails with a text for the model if they deny
    /// it. Also fails if the call that started the subagent is aborted.
    fn authorize<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<(), String>>;

    /// Creates a subagent that waits for its first prompt. It counts as a subagent until it is dropped.
    fn start(&self, request: SpawnRequest) -> BoxFuture<'_, Result<Box<dyn Child>, SubagentError>>;
}
