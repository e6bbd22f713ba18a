//! Differences between agents in the behavior of an engine. A dialect server defines them once; the engine never
//! checks the dialect. Each policy is beside the code that it is about.

use agentese::spec::Behavior;

use super::api::policy::{
    ExportPolicy, ExtensionPolicy, InputPolicy, ModelPolicy, SessionPolicy, ShellPolicy,
};
use super::policies::compaction::CompactionPolicy;
use super::policies::retry::RetryPolicy;
use super::run::policy::{AnswerPolicy, RunPolicy, ToolCallPolicy};

/// The behavior in which an agent differs from other agents. The default is that of pi.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BehaviorProfile {
    /// Behavior that the revision declares.
    pub behavior: Behavior,
    /// Differences in runs.
    pub run: RunPolicy,
    /// Differences in the answers of models.
    pub answers: AnswerPolicy,
    /// Differences in tool calls.
    pub tool_calls: ToolCallPolicy,
    /// Differences in the repetition of failed requests.
    pub retry: RetryPolicy,
    /// Differences in compactions.
    pub compaction: CompactionPolicy,
    /// Differences in the input of users.
    pub input: InputPolicy,
    /// Differences in shell commands of the user.
    pub shell: ShellPolicy,
    /// Differences in sessions.
    pub sessions: SessionPolicy,
    /// Differences in exported pages.
    pub export: ExportPolicy,
    /// Differences in models.
    pub models: ModelPolicy,
    /// Differences in the treatment of extensions.
    pub extensions: ExtensionPolicy,
    /// Differences in the start of an agent.
    pub start: StartPolicy,
}

impl Default for BehaviorProfile {
    fn default() -> Self {
        Self {
            behavior: Behavior::FIRST,
            run: RunPolicy::default(),
            answers: AnswerPolicy::default(),
            tool_calls: ToolCallPolicy::default(),
            retry: RetryPolicy::default(),
            compaction: CompactionPolicy::default(),
            input: InputPolicy::default(),
            shell: ShellPolicy::default(),
            sessions: SessionPolicy::default(),
            export: ExportPolicy::default(),
            models: ModelPolicy::default(),
            extensions: ExtensionPolicy::default(),
            start: StartPolicy::default(),
        }
    }
}

/// Differences between agents in their start. The builder of an agent reads them; an engine does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartPolicy {
    /// Names of the default tools.
    pub default_tools: &'static [&'static str],
    /// `true` if the tool `edit` takes a list of replacements; otherwise one replacement. See
    /// [`crate::tools::EditTool`].
    pub edit_takes_list: bool,
    /// `true` if the agent only starts with an available model.
    pub requires_model: bool,
}

impl Default for StartPolicy {
    fn default() -> Self {
        Self {
            default_tools: &["read", "bash", "edit", "write"],
            edit_takes_list: false,
            requires_model: false,
        }
    }
}
