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
    /// Patterns of the models that a client can cycle through; `None` for all models.
    pub enabled_models: Option<Vec<String>>,
    /// Delivery of steering messages: one at a time, or all at once.
    pub steering_mode: QueueMode,
    /// Delivery of follow-ups: one at a time, or all at once.
    pub follow_up_mode: QueueMode,
    /// Compaction of long conversations.
    pub compaction: CompactionSettings,
    /// Retries after a failure.
    pub retry: RetrySettings,
    /// Summaries of abandoned branches.
    pub branch_summary: BranchSummarySettings,
    /// Number of thinking tokens for each level, for providers that require a number.
    pub thinking_budgets: ThinkingBudgets,
    /// Shell for commands; `~` is expanded.
    pub shell_path: Option<PathBuf>,
    /// Lines that run before every shell command.
    pub shell_command_prefix: Option<String>,
    /// Treatment of images.
    pub images: ImageSettings,
    /// Connections to model servers and other servers.
    pub network: NetworkSettings,
    /// Tool calls that require approval.
    pub approval: ApprovalSettings,
    /// Rules for the output of models.
    pub rules: RuleSettings,
    /// Settings of task lists.
    pub todo: TodoSettings,
    /// Absolute paths of extensions, from all settings files.
    pub extensions: Vec<PathBuf>,
    /// Absolute paths of skills, from all settings files.
    pub skills: Vec<PathBuf>,
    /// Absolute paths of prompt templates, from all settings files.
    pub prompts: Vec<PathBuf>,
    /// `true` if settings that a client changes are written to the user's file (`rpc.persistDefaults`).
    pub persist_defaults: bool,
    /// `true` if shell commands run without the environment variables that contain keys of providers (`rpc.hideKeys`).
    pub hide_keys: bool,
    /// Time limit in milliseconds for the question about trust in a directory (`rpc.trustDialogMs`). With 0,
    /// no question is sent.
    pub trust_dialog_ms: u64,
    /// Limits of a run (`limits.*`).
    pub limits: RunLimits,
    /// Subagents, verification and budgets (`task.*`).
    pub task: TaskSettings,
    /// Members of the files that are not settings of this program.
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
    /// `true` if the model continues without a new prompt after a compaction. Has an effect only in dialects with this
    /// behaviour.
    pub auto_continue: bool,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self { enabled: true, reserve_tokens: 16_384, keep_recent_tokens: 20_000, auto_continue: true }
    }
}

/// The settings `limits.*`. They apply from a prompt to the end of all work that follows from it. 0 means no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunLimits {
    /// Maximum number of answers of the model.
    pub max_turns: u64,
    /// Maximum cost in US dollars, including subagents.
    pub max_cost_usd: f64,
    /// Maximum duration of the work, in milliseconds.
    pub max_time_ms: u64,
    /// Maximum number of times that the same call fails with the same error.
    pub max_equal_calls: u64,
}

impl RunLimits {
    /// Returns, for each field, the smaller limit of the two values. 0 means no limit.
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
    /// Longest pause before a retry that a provider can request, in milliseconds.
    pub max_delay_ms: u64,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self { enabled: true, max_retries: 3, base_delay_ms: 2_000, max_delay_ms: 60_000 }
    }
}

/// The settings `http*`. Environment variables override them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkSettings {
    /// Time limit for establishing a connection.
    pub connect_timeout: Option<TimeLimit>,
    /// Maximum time between two parts of an answer.
    pub idle_timeout: Option<TimeLimit>,
    /// URL of a proxy. It can contain a password.
    pub proxy: Option<ProxyUrl>,
    /// File with additional trusted certificates in PEM form.
    pub ca_file: Option<PathBuf>,
}

/// A time limit in milliseconds; 0 means no limit and is also written `disabled`.
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

    /// Returns the limit as a duration; [`Duration::MAX`] if there is no limit.
    pub fn duration(self) -> Duration {
        if self.0 == 0 { Duration::MAX } else { Duration::from_millis(self.0) }
    }
}

/// The URL of a proxy. Debug output does not show it, because it can contain a password.
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
    /// `true` if the user is not asked about a summary when a branch is abandoned.
    pub skip_prompt: bool,
}

impl Default for BranchSummarySettings {
    fn default() -> Self {
        Self { reserve_tokens: 16_384, skip_prompt: false }
    }
}

/// The settings `thinkingBudgets.*`. For a missing level, the provider's default applies.
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
    /// `true` if images are not sent to models.
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
    /// Names of the tools that require approval, regardless of case; `*` means every tool. Contains the names from all
    /// settings files.
    pub tools: Vec<String>,
    /// Time limit for the user's answer in milliseconds; 0 means no limit.
    pub timeout_ms: u64,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self { tools: Vec::new(), timeout_ms: 300_000 }
    }
}

impl ApprovalSettings {
    /// The entry of `tools` that means every tool.
    pub const ALL_TOOLS: &'static str = "*";

    /// Returns true if calls of a tool require approval.
    pub fn requires(&self, tool: &str) -> bool {
        self.tools.iter().any(|name| name == Self::ALL_TOOLS || name.eq_ignore_ascii_case(tool))
    }
}

/// The settings `ttsr.*`: rules that interrupt the output of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleSettings {
    /// `true` if rules apply.
    pub enabled: bool,
    /// Treatment of an answer that a rule interrupted.
    pub context: RuleContext,
    /// Parts of an answer that a rule can interrupt, unless the rule itself states them.
    pub interrupt: RuleInterrupt,
    /// Repetition of one rule in a session: never, or after some turns.
    pub repeat: RuleRepeat,
    /// Number of turns after which a rule can apply again, for [`RuleRepeat::AfterGap`].
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

/// The parts of an answer that a rule can interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleInterrupt {
    /// A rule can interrupt every part of an answer.
    Always,
    /// A rule can interrupt text and thinking.
    ProseOnly,
    /// A rule can interrupt the arguments of tool calls.
    ToolOnly,
    /// A rule interrupts no part. The model is notified after its answer.
    Never,
}

impl RuleInterrupt {
    const NAMES: [(Self, &'static str); 4] = [
        (Self::Always, "always"),
        (Self::ProseOnly, "prose-only"),
        (Self::ToolOnly, "tool-only"),
        (Self::Never, "never"),
    ];

    /// Returns the name that the mode has in settings files.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(mode, _)| *mode == self).map_or("", |(_, name)| name)
    }

    /// Returns the mode that has this name in settings files.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(mode, _)| *mode)
    }
}

/// The repetition of one rule in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleRepeat {
    /// The rule applies once in a session.
    Once,
    /// The rule can apply again after some turns.
    AfterGap,
}

/// The settings `todo.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TodoSettings {
    /// `true` if the model has a tool for a task list.
    pub enabled: bool,
    /// `true` if the model is reminded of tasks that are still open.
    pub reminders: bool,
    /// Maximum number of reminders for one prompt.
    pub max_reminders: u32,
}

impl Default for TodoSettings {
    fn default() -> Self {
        Self { enabled: true, reminders: true, max_reminders: 3 }
    }
}
