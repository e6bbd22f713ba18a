//! `task.*`: agents that an agent sets to work, what verifies their work, and what all of it may cost.

use serde_json::{Map, Value};

/// `task.*`.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSettings {
    /// Whether a subagent may work in a copy of the repository (`task.isolation.mode`).
    pub isolation: IsolationMode,
    /// How the changes of one come back (`task.isolation.merge`).
    pub merge: MergeMode,
    /// How many subagents of one call work at once.
    pub max_concurrency: u64,
    /// How many generations of subagents there may be.
    pub max_recursion_depth: u64,
    /// `task.verification.*`.
    pub verification: VerificationSettings,
    /// `task.budget.*`.
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

/// Whether a subagent may work in a copy of the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsolationMode {
    /// No.
    None,
    /// In a git worktree. The overlay file systems of other programs are names for the same here.
    Worktree,
}

/// How the changes of a subagent come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeMode {
    /// As a patch that is applied to the files.
    Patch,
    /// As a commit on a branch that is merged.
    Branch,
}

/// `task.verification.*`.
#[derive(Debug, Clone, PartialEq)]
pub struct VerificationSettings {
    /// Whether there is verification: where nothing is written, for those who ask for it.
    pub enabled: Option<bool>,
    /// The profile that counts where none is named; may be empty.
    pub default_profile: String,
    /// Whether every isolated subagent is verified, where `enabled` is true.
    pub require_for_isolated: bool,
    /// How many repairs are tried where a profile does not say.
    pub max_retries: u64,
    /// How many lines of a failed command's output a repair is shown.
    pub failure_context_line_limit: u64,
    /// The profiles by name, as they were written.
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

/// `task.budget.*`; what is not given has no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BudgetLimits {
    /// Milliseconds since the first run began.
    pub max_wall_time_ms: Option<u64>,
    /// Input tokens.
    pub max_input_tokens: Option<u64>,
    /// Output tokens.
    pub max_output_tokens: Option<u64>,
    /// Tokens of all kinds.
    pub max_total_tokens: Option<u64>,
    /// US dollars.
    pub max_cost_usd: Option<f64>,
    /// Calls of tools.
    pub max_tool_calls: Option<u64>,
    /// Subagents that are started.
    pub max_subagents: Option<u64>,
    /// The part of a limit from which on a warning is due.
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
