//! The settings `task.*`: subagents, the verification of their work, and its budget.

use serde_json::{Map, Value};

/// The settings `task.*`.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSettings {
    /// Isolation of subagents in copies of the repository (`task.isolation.mode`).
    pub isolation: IsolationMode,
    /// Return of a subagent's changes (`task.isolation.merge`).
    pub merge: MergeMode,
    /// Maximum number of subagents that one call runs at the same time.
    pub max_concurrency: u64,
    /// Maximum number of generations of subagents: with 1, subagents start no further subagents.
    pub max_recursion_depth: u64,
    /// The settings `task.verification.*`.
    pub verification: VerificationSettings,
    /// Budget of a session (`task.budget.*`).
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
    /// Subagents work in the user's files, without isolation.
    None,
    /// A git worktree. Other programs also have overlay file systems as modes; this program accepts their
    /// names as aliases.
    Worktree,
}

/// Return of a subagent's changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeMode {
    /// The changes are applied to the files as a patch.
    Patch,
    /// The changes are committed to a branch, and the branch is merged.
    Branch,
}

/// The settings `task.verification.*`.
#[derive(Debug, Clone, PartialEq)]
pub struct VerificationSettings {
    /// `false` if verification is disabled and requests for it are rejected; `true` or `None` if subagents
    /// can be verified.
    pub enabled: Option<bool>,
    /// Name of the default profile, for calls without a profile. Empty if there is no default.
    pub default_profile: String,
    /// `true` if every isolated subagent is verified, even without a request. Has an effect only if `enabled`
    /// is `true`.
    pub require_for_isolated: bool,
    /// Maximum number of repair attempts, for profiles that set no number.
    pub max_retries: u64,
    /// Maximum number of output lines of a failed command that the prompt for a repair contains.
    pub failure_context_line_limit: u64,
    /// The profiles by name, in the form of the settings file.
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
    /// Time limit in milliseconds, counted from the start of the first run.
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
    /// Maximum number of subagents that are started.
    pub max_subagents: Option<u64>,
    /// Share of a limit, from 0 to 1, at which a warning is sent.
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
