//! The settings `task.*`: subagents, the verification of their work, and its budget.

use serde_json::{Map, Value};

/// The settings `task.*`.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSettings {
    /// Isolation of subagents in copies of the repository (`task.isolation.mode`).
    pub isolation: IsolationMode,
    /// Return of a subagent's changes (`task.isolation.merge`).
    pub merge: MergeMode,
    /// Maximum number of concurrent subagents of one call.
    pub max_concurrency: u64,
    /// Maximum number of generations of subagents.
    pub max_recursion_depth: u64,
    /// The settings `task.verification.*`.
    pub verification: VerificationSettings,
    /// The settings `task.budget.*`.
    pub budget: BudgetLimits,
}

impl Default for TaskSettings {
    fn default() -> Self {
        Self {
            isolation: IsolationMode::None,
            merge: MergeMode::Patch,
            max_concurrency: 32,
            max_recursion_depth: 2,
            verification: VerificationSettings::default(),
            budget: BudgetLimits::default(),
        }
    }
}

/// Isolation of subagents in copies of the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsolationMode {
    /// No isolation.
    None,
    /// A git worktree. The names of overlay file systems of other programs are aliases here.
    Worktree,
}

/// Return of a subagent's changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeMode {
    /// A patch applied to the files.
    Patch,
    /// A commit on a branch, which is merged.
    Branch,
}

/// The settings `task.verification.*`.
#[derive(Debug, Clone, PartialEq)]
pub struct VerificationSettings {
    /// `true` to enable verification; `None` for verification on request.
    pub enabled: Option<bool>,
    /// The default profile; may be empty.
    pub default_profile: String,
    /// `true` if every isolated subagent is verified, provided that `enabled` is true.
    pub require_for_isolated: bool,
    /// Default number of repairs for profiles without a value.
    pub max_retries: u64,
    /// Number of output lines of a failed command in the prompt of a repair.
    pub failure_context_line_limit: u64,
    /// The profiles by name, in their written form.
    pub profiles: Map<String, Value>,
}

impl Default for VerificationSettings {
    fn default() -> Self {
        Self {
            enabled: None,
            default_profile: String::new(),
            require_for_isolated: false,
            max_retries: 1,
            failure_context_line_limit: 200,
            profiles: Map::new(),
        }
    }
}

/// The settings `task.budget.*`; `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BudgetLimits {
    /// Time limit in milliseconds since the start of the first run.
    pub max_wall_time_ms: Option<u64>,
    /// Maximum number of input tokens.
    pub max_input_tokens: Option<u64>,
    /// Maximum number of output tokens.
    pub max_output_tokens: Option<u64>,
    /// Maximum number of tokens of all kinds.
    pub max_total_tokens: Option<u64>,
    /// Maximum cost in US dollars.
    pub max_cost_usd: Option<f64>,
    /// Maximum number of tool calls.
    pub max_tool_calls: Option<u64>,
    /// Maximum number of started subagents.
    pub max_subagents: Option<u64>,
    /// Fraction of a limit that triggers a warning.
    pub warn_at_ratio: f64,
}

impl Default for BudgetLimits {
    fn default() -> Self {
        Self {
            max_wall_time_ms: None,
            max_input_tokens: None,
            max_output_tokens: None,
            max_total_tokens: None,
            max_cost_usd: None,
            max_tool_calls: None,
            max_subagents: None,
            warn_at_ratio: 0.8,
        }
    }
}
