//! What the settings files say, with defaults.

use std::path::PathBuf;

use agentese::types::{QueueMode, ThinkingLevel};
use serde_json::{Map, Value};

/// A user's settings as they count. [`super::load_settings`] reads them; the default is what counts without files.
///
/// Wire names of files are in camelCase; sizes are in tokens, times in milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The provider of the model to begin with.
    pub default_provider: Option<String>,
    /// The id of the model to begin with.
    pub default_model: Option<String>,
    /// How hard models think unless somebody says otherwise.
    pub default_thinking_level: Option<ThinkingLevel>,
    /// The models that cycling goes through, as patterns; none: all.
    pub enabled_models: Option<Vec<String>>,
    /// How steering messages are delivered.
    pub steering_mode: QueueMode,
    /// How follow-ups are delivered.
    pub follow_up_mode: QueueMode,
    /// Making long conversations shorter.
    pub compaction: CompactionSettings,
    /// Asking again after a failure.
    pub retry: RetrySettings,
    /// Summaries of branches that are left.
    pub branch_summary: BranchSummarySettings,
    /// Thinking tokens for each level, where a provider counts them.
    pub thinking_budgets: ThinkingBudgets,
    /// The shell that runs commands; `~` is expanded.
    pub shell_path: Option<PathBuf>,
    /// Lines put before every command.
    pub shell_command_prefix: Option<String>,
    /// What becomes of images.
    pub images: ImageSettings,
    /// Calls of tools that need somebody's yes.
    pub approval: ApprovalSettings,
    /// Extensions: absolute paths. What several files name adds up.
    pub extensions: Vec<PathBuf>,
    /// Skills, likewise.
    pub skills: Vec<PathBuf>,
    /// Prompt templates, likewise.
    pub prompts: Vec<PathBuf>,
    /// Whether what a client sets is written to the user's file (`rpc.persistDefaults`).
    pub persist_defaults: bool,
    /// Whether commands run without the variables that hold keys of providers (`rpc.hideKeys`).
    pub hide_keys: bool,
    /// How long the question whether a directory is trusted waits for its answer (`rpc.trustDialogMs`); 0: it is not
    /// asked.
    pub trust_dialog_ms: u64,
    /// What the files say besides; nobody here knows what it means.
    pub other: Map<String, Value>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            default_provider: None,
            default_model: None,
            default_thinking_level: None,
            enabled_models: None,
            steering_mode: QueueMode::OneAtATime,
            follow_up_mode: QueueMode::OneAtATime,
            compaction: CompactionSettings::default(),
            retry: RetrySettings::default(),
            branch_summary: BranchSummarySettings::default(),
            thinking_budgets: ThinkingBudgets::default(),
            shell_path: None,
            shell_command_prefix: None,
            images: ImageSettings::default(),
            approval: ApprovalSettings::default(),
            extensions: Vec::new(),
            skills: Vec::new(),
            prompts: Vec::new(),
            persist_defaults: false,
            hide_keys: false,
            trust_dialog_ms: 15_000,
            other: Map::new(),
        }
    }
}

/// `compaction.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionSettings {
    /// Whether it happens by itself.
    pub enabled: bool,
    /// Tokens of the context window that stay free for the answer.
    pub reserve_tokens: u64,
    /// Tokens of the newest messages that are kept as they are.
    pub keep_recent_tokens: u64,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self { enabled: true, reserve_tokens: 16_384, keep_recent_tokens: 20_000 }
    }
}

/// `retry.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetrySettings {
    /// Whether a failed turn is tried again.
    pub enabled: bool,
    /// How often.
    pub max_retries: u32,
    /// The pause before the first of them; each later one is twice as long.
    pub base_delay_ms: u64,
    /// The longest pause that a provider may ask for.
    pub max_delay_ms: u64,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self { enabled: true, max_retries: 3, base_delay_ms: 2_000, max_delay_ms: 60_000 }
    }
}

/// `branchSummary.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchSummarySettings {
    /// Tokens of the context window that stay free for the summary.
    pub reserve_tokens: u64,
    /// Whether branches are left without asking for a summary.
    pub skip_prompt: bool,
}

impl Default for BranchSummarySettings {
    fn default() -> Self {
        Self { reserve_tokens: 16_384, skip_prompt: false }
    }
}

/// `thinkingBudgets.*`; what is not given is the provider's business.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThinkingBudgets {
    /// For the level minimal.
    pub minimal: Option<u64>,
    /// For the level low.
    pub low: Option<u64>,
    /// For the level medium.
    pub medium: Option<u64>,
    /// For the level high.
    pub high: Option<u64>,
}

/// `images.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageSettings {
    /// Whether large ones are made smaller.
    pub auto_resize: bool,
    /// Whether models get none.
    pub block_images: bool,
}

impl Default for ImageSettings {
    fn default() -> Self {
        Self { auto_resize: true, block_images: false }
    }
}

/// `approval.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// The tools whose calls need a yes; `*` stands for all of them. What several files name adds up.
    pub tools: Vec<String>,
    /// How long an answer is waited for; 0: without limit.
    pub timeout_ms: u64,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self { tools: Vec::new(), timeout_ms: 300_000 }
    }
}

impl ApprovalSettings {
    /// What stands for every tool.
    pub const EVERY: &'static str = "*";

    /// Whether calls of that tool need a yes.
    pub fn asks(&self, tool: &str) -> bool {
        self.tools.iter().any(|name| name == Self::EVERY || name == tool)
    }
}
