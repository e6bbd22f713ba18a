//! The settings, with their defaults.

use std::path::PathBuf;
use std::time::Duration;

use agentese::types::{QueueMode, ThinkingLevel};
use serde_json::{Map, Value};

use super::TaskSettings;

/// The effective settings of a user. [`super::load_settings`] reads them; the default applies without files.
///
/// Names in files are in camelCase; sizes are in tokens, times in milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Provider of the initial model.
    pub default_provider: Option<String>,
    /// Id of the initial model.
    pub default_model: Option<String>,
    /// Default thinking level of models.
    pub default_thinking_level: Option<ThinkingLevel>,
    /// Patterns of the models for cycling; `None` for all models.
    pub enabled_models: Option<Vec<String>>,
    /// Delivery of steering messages.
    pub steering_mode: QueueMode,
    /// Delivery of follow-ups.
    pub follow_up_mode: QueueMode,
    /// Compaction of long conversations.
    pub compaction: CompactionSettings,
    /// Retries after a failure.
    pub retry: RetrySettings,
    /// Summaries of abandoned branches.
    pub branch_summary: BranchSummarySettings,
    /// Number of thinking tokens for each level, for providers that count them.
    pub thinking_budgets: ThinkingBudgets,
    /// Shell for commands; `~` is expanded.
    pub shell_path: Option<PathBuf>,
    /// Lines before every command.
    pub shell_command_prefix: Option<String>,
    /// Treatment of images.
    pub images: ImageSettings,
    /// Connections to model servers and other servers.
    pub network: NetworkSettings,
    /// Tool calls that require approval.
    pub approval: ApprovalSettings,
    /// Rules for the output of models.
    pub rules: RuleSettings,
    /// Task lists.
    pub todo: TodoSettings,
    /// Absolute paths of extensions. The lists of several files are combined.
    pub extensions: Vec<PathBuf>,
    /// Absolute paths of skills, combined likewise.
    pub skills: Vec<PathBuf>,
    /// Absolute paths of prompt templates, combined likewise.
    pub prompts: Vec<PathBuf>,
    /// `true` if changes of a client are written to the user's file (`rpc.persistDefaults`).
    pub persist_defaults: bool,
    /// `true` if commands run without the variables that hold keys of providers (`rpc.hideKeys`).
    pub hide_keys: bool,
    /// Time limit of the question about trust in a directory, in milliseconds (`rpc.trustDialogMs`); 0 disables the
    /// question.
    pub trust_dialog_ms: u64,
    /// Limits that end a run (`limits.*`).
    pub limits: RunLimits,
    /// Subagents, verification and budgets (`task.*`).
    pub task: TaskSettings,
    /// Other members of the files, with unknown meaning.
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
            network: NetworkSettings::default(),
            approval: ApprovalSettings::default(),
            rules: RuleSettings::default(),
            todo: TodoSettings::default(),
            extensions: Vec::new(),
            skills: Vec::new(),
            prompts: Vec::new(),
            persist_defaults: false,
            hide_keys: false,
            trust_dialog_ms: 15_000,
            limits: RunLimits::default(),
            task: TaskSettings::default(),
            other: Map::new(),
        }
    }
}

/// The settings `compaction.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionSettings {
    /// `true` if long conversations are compacted automatically.
    pub enabled: bool,
    /// Number of tokens of the context window that stay free for the answer.
    pub reserve_tokens: u64,
    /// Number of tokens of the newest messages that are kept unchanged.
    pub keep_recent_tokens: u64,
    /// `true` if the model continues automatically after a compaction, in dialects with this behaviour.
    pub auto_continue: bool,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self { enabled: true, reserve_tokens: 16_384, keep_recent_tokens: 20_000, auto_continue: true }
    }
}

/// The settings `limits.*`: limits of a run, from a prompt to the end of all following work; 0 means no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunLimits {
    /// Number of answers of the model.
    pub max_turns: u64,
    /// Cost in US dollars, including subagents.
    pub max_cost_usd: f64,
    /// Time in milliseconds.
    pub max_time_ms: u64,
    /// Number of failures of the same call with the same error.
    pub max_equal_calls: u64,
}

impl RunLimits {
    /// Returns the stricter one of each two limits.
    pub(super) fn within(self, other: Self) -> Self {
        let stricter =
            |one: u64, other: u64| if one == 0 || other == 0 { one.max(other) } else { one.min(other) };
        let (cost, other_cost) = (self.max_cost_usd, other.max_cost_usd);
        Self {
            max_turns: stricter(self.max_turns, other.max_turns),
            max_cost_usd: if cost == 0.0 || other_cost == 0.0 {
                cost.max(other_cost)
            } else {
                cost.min(other_cost)
            },
            max_time_ms: stricter(self.max_time_ms, other.max_time_ms),
            max_equal_calls: stricter(self.max_equal_calls, other.max_equal_calls),
        }
    }
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { max_turns: 0, max_cost_usd: 0.0, max_time_ms: 0, max_equal_calls: 8 }
    }
}

/// The settings `retry.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetrySettings {
    /// `true` if a failed turn is retried.
    pub enabled: bool,
    /// Maximum number of retries.
    pub max_retries: u32,
    /// Pause before the first retry in milliseconds; each later pause is twice as long.
    pub base_delay_ms: u64,
    /// Longest pause that a provider may request, in milliseconds.
    pub max_delay_ms: u64,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self { enabled: true, max_retries: 3, base_delay_ms: 2_000, max_delay_ms: 60_000 }
    }
}

/// The settings `http*`. Environment variables have precedence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkSettings {
    /// Time limit for establishing a connection.
    pub connect_timeout: Option<TimeLimit>,
    /// Time limit for the next part of an answer.
    pub idle_timeout: Option<TimeLimit>,
    /// URL of a proxy; may contain a password.
    pub proxy: Option<ProxyUrl>,
    /// File with additional trusted certificates in PEM form.
    pub ca_file: Option<PathBuf>,
}

/// A time limit in milliseconds; 0 and `disabled` mean no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimit(pub u64);

impl TimeLimit {
    /// Reads a number or `disabled`. Returns `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "disabled" => Some(Self(0)),
            text => text.parse().ok().map(Self),
        }
    }

    /// Returns the limit as a duration, which is infinite without a limit.
    pub fn duration(self) -> Duration {
        if self.0 == 0 { Duration::MAX } else { Duration::from_millis(self.0) }
    }
}

/// The URL of a proxy, which is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyUrl(pub String);

impl std::fmt::Debug for ProxyUrl {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ProxyUrl")
    }
}

/// The settings `branchSummary.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchSummarySettings {
    /// Number of tokens of the context window that stay free for the summary.
    pub reserve_tokens: u64,
    /// `true` if a branch is abandoned without a question about its summary.
    pub skip_prompt: bool,
}

impl Default for BranchSummarySettings {
    fn default() -> Self {
        Self { reserve_tokens: 16_384, skip_prompt: false }
    }
}

/// The settings `thinkingBudgets.*`; the provider decides about missing ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThinkingBudgets {
    /// Number of tokens for the level minimal.
    pub minimal: Option<u64>,
    /// Number of tokens for the level low.
    pub low: Option<u64>,
    /// Number of tokens for the level medium.
    pub medium: Option<u64>,
    /// Number of tokens for the level high.
    pub high: Option<u64>,
}

/// The settings `images.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageSettings {
    /// `true` if large images are reduced.
    pub auto_resize: bool,
    /// `true` if models receive no images.
    pub block_images: bool,
}

impl Default for ImageSettings {
    fn default() -> Self {
        Self { auto_resize: true, block_images: false }
    }
}

/// The settings `approval.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// Names of the tools that require approval, compared without case; `*` means every tool. The lists of several
    /// files are combined.
    pub tools: Vec<String>,
    /// Time limit for an answer in milliseconds; 0 means no limit.
    pub timeout_ms: u64,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self { tools: Vec::new(), timeout_ms: 300_000 }
    }
}

impl ApprovalSettings {
    /// The name for every tool.
    pub const ALL_TOOLS: &'static str = "*";

    /// Returns true if calls of that tool require approval.
    pub fn requires(&self, tool: &str) -> bool {
        self.tools.iter().any(|name| name == Self::ALL_TOOLS || name.eq_ignore_ascii_case(tool))
    }
}

/// The settings `ttsr.*`: rules that interrupt the output of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleSettings {
    /// `true` if rules apply.
    pub enabled: bool,
    /// Treatment of an interrupted answer.
    pub context: RuleContext,
    /// Default of the parts of an answer that a rule interrupts.
    pub interrupt: RuleInterrupt,
    /// Repetition of a rule in one session.
    pub repeat: RuleRepeat,
    /// Number of turns before a rule applies again.
    pub repeat_gap: u64,
}

impl Default for RuleSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            context: RuleContext::Discard,
            interrupt: RuleInterrupt::Always,
            repeat: RuleRepeat::Once,
            repeat_gap: 10,
        }
    }
}

/// The treatment of an answer that matched a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleContext {
    /// The answer is removed from the context.
    Discard,
    /// The answer stays in the context.
    Keep,
}

/// The parts of an answer that a rule interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleInterrupt {
    /// All parts.
    Always,
    /// Text and thinking.
    ProseOnly,
    /// Arguments of tools.
    ToolOnly,
    /// No part: the model is notified afterwards.
    Never,
}

impl RuleInterrupt {
    const NAMES: [(Self, &'static str); 4] = [
        (Self::Always, "always"),
        (Self::ProseOnly, "prose-only"),
        (Self::ToolOnly, "tool-only"),
        (Self::Never, "never"),
    ];

    /// Returns the name in files.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(mode, _)| *mode == self).map_or("", |(_, name)| name)
    }

    /// Returns the mode with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(mode, _)| *mode)
    }
}

/// The repetition of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleRepeat {
    /// Once in a session.
    Once,
    /// Again after some turns.
    AfterGap,
}

/// The settings `todo.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TodoSettings {
    /// `true` if the model has a task list.
    pub enabled: bool,
    /// `true` if the model is reminded of its list.
    pub reminders: bool,
    /// Maximum number of reminders for one prompt.
    pub max_reminders: u32,
}

impl Default for TodoSettings {
    fn default() -> Self {
        Self { enabled: true, reminders: true, max_reminders: 3 }
    }
}
