//! What the settings files say, with defaults.

use std::path::PathBuf;
use std::time::Duration;

use agentese::types::{QueueMode, ThinkingLevel};
use serde_json::{Map, Value};

use super::TaskSettings;

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
    /// The way to model servers and other servers.
    pub network: NetworkSettings,
    /// Calls of tools that need somebody's yes.
    pub approval: ApprovalSettings,
    /// Rules that look at what models say.
    pub rules: RuleSettings,
    /// Lists of what is to be done.
    pub todo: TodoSettings,
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
    /// Limits that end a run (`limits.*`).
    pub limits: RunLimits,
    /// Subagents, verification and budgets (`task.*`).
    pub task: TaskSettings,
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

/// `compaction.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionSettings {
    /// Whether it happens by itself.
    pub enabled: bool,
    /// Tokens of the context window that stay free for the answer.
    pub reserve_tokens: u64,
    /// Tokens of the newest messages that are kept as they are.
    pub keep_recent_tokens: u64,
    /// Whether the model goes on by itself afterwards, in a dialect that has it so.
    pub auto_continue: bool,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self { enabled: true, reserve_tokens: 16_384, keep_recent_tokens: 20_000, auto_continue: true }
    }
}

/// `limits.*`: what ends a run, from a prompt to the end of all that follows it; 0 stands for no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunLimits {
    /// Answers of the model.
    pub max_turns: u64,
    /// US dollars, with those of subagents.
    pub max_cost_usd: f64,
    /// Milliseconds.
    pub max_time_ms: u64,
    /// Failures of the same call with the same error.
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

/// `http*`. The environment is asked first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkSettings {
    /// Time limit of making a connection.
    pub connect_timeout: Option<TimeLimit>,
    /// Time limit of waiting for the next part of an answer.
    pub idle_timeout: Option<TimeLimit>,
    /// The URL of a proxy; may hold a password.
    pub proxy: Option<ProxyUrl>,
    /// A file of certificates in PEM form that are trusted besides the others.
    pub ca_file: Option<PathBuf>,
}

/// A limit of time in milliseconds; 0 and `disabled` are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimit(pub u64);

impl TimeLimit {
    /// Reads a number or `disabled`. Returns `None` for anything else.
    pub fn named(text: &str) -> Option<Self> {
        match text.trim() {
            "disabled" => Some(Self(0)),
            text => text.parse().ok().map(Self),
        }
    }

    /// The limit as a time that never ends if there is none.
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
    /// The tools whose calls need a yes, in small or capital letters; `*` stands for all of them. What several files name
    /// adds up.
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
        self.tools.iter().any(|name| name == Self::EVERY || name.eq_ignore_ascii_case(tool))
    }
}

/// `ttsr.*`: rules that stop what a model is saying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleSettings {
    /// Whether rules count.
    pub enabled: bool,
    /// What becomes of the answer that was stopped.
    pub context: RuleContext,
    /// When a rule stops an answer, where it does not say so itself.
    pub interrupt: RuleInterrupt,
    /// Whether a rule may count again in one session.
    pub repeat: RuleRepeat,
    /// After how many turns it may then.
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

/// What becomes of an answer that ran into a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleContext {
    /// It leaves the context.
    Discard,
    /// It stays.
    Keep,
}

/// When a rule stops an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleInterrupt {
    /// Wherever it is run into.
    Always,
    /// In text and thinking.
    ProseOnly,
    /// In the arguments of tools.
    ToolOnly,
    /// Nowhere: the model is told afterwards.
    Never,
}

impl RuleInterrupt {
    const NAMES: [(Self, &'static str); 4] = [
        (Self::Always, "always"),
        (Self::ProseOnly, "prose-only"),
        (Self::ToolOnly, "tool-only"),
        (Self::Never, "never"),
    ];

    /// What it is called in files.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(mode, _)| *mode == self).map_or("", |(_, name)| name)
    }

    /// The one that is called so.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(mode, _)| *mode)
    }
}

/// Whether a rule may count again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleRepeat {
    /// Once in a session.
    Once,
    /// Again after some turns.
    AfterGap,
}

/// `todo.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TodoSettings {
    /// Whether the model has a list.
    pub enabled: bool,
    /// Whether it is reminded of it.
    pub reminders: bool,
    /// How often, for one prompt.
    pub most_reminders: u32,
}

impl Default for TodoSettings {
    fn default() -> Self {
        Self { enabled: true, reminders: true, most_reminders: 3 }
    }
}
