//! The components of an engine.

use std::sync::Arc;

use agentese::types::{Model, ThinkingLevel};

use super::{
    BehaviorProfile, Fairness, HookChain, PostRunPolicy, RemoteAgent, SubagentLimits, UnsavedState,
    UsageTracker,
};
use crate::config::{Settings, SettingsStore};
use crate::prompt::SystemPrompt;
use crate::providers::{Catalog, ModelSelection};
use crate::resources::{ExtensionCommands, Resources};
use crate::runtime::{Clock, Ids};
use crate::session::Store;
use crate::tools::{ToolContext, ToolSet};

/// The components of an engine. They stay the same while the engine exists.
#[derive(Clone)]
pub struct Options {
    /// The models that the engine can use.
    pub catalog: Catalog,
    /// The model with which a fresh session starts.
    pub model: Option<ModelSelection>,
    /// Reason why there is no model. The text completes a sentence for the user.
    pub no_model_reason: String,
    /// The models among which clients cycle; empty for all models.
    pub scope: Vec<ModelSelection>,
    /// Requested thinking level. It takes precedence over the level in the name of the model. If the model does not
    /// support it, the nearest supported level applies.
    pub thinking: Option<ThinkingLevel>,
    /// Name for the initial session. It replaces the name that the session has.
    pub session_name: Option<String>,
    /// Storage of sessions; `None` if sessions are not stored.
    pub store: Option<Store>,
    /// The system prompt of models.
    pub system_prompt: SystemPrompt,
    /// Skills and prompt templates.
    pub resources: Arc<Resources>,
    /// The commands of extensions.
    pub extension_commands: Arc<dyn ExtensionCommands>,
    /// The settings of the user.
    pub settings: Settings,
    /// Storage for settings that a client changes.
    pub persist: Arc<dyn SettingsStore>,
    /// The hooks that the engine calls.
    pub hooks: HookChain,
    /// Behavior in which the agent differs from other agents.
    pub profile: BehaviorProfile,
    /// Policies for the work after a run, besides retries and compactions, in call order.
    pub post_run_policies: Vec<Arc<dyn PostRunPolicy>>,
    /// Limits on subagents.
    pub subagent_limits: SubagentLimits,
    /// The remote agent that does the work, if there is one. Models, tools and policies of these options are then
    /// unused.
    pub remote_agent: Option<Arc<dyn RemoteAgent>>,
    /// Usage of the engine and its subagents.
    pub usage_tracker: Arc<UsageTracker>,
    /// The tools that the model can call.
    pub tools: ToolSet,
    /// `true` if the tools above are the only ones, so that hooks cannot add tools.
    pub only_these_tools: bool,
    /// Context of each tool call: directory, spawner, shell. Its abort and updates are unused.
    pub context: ToolContext,
    /// The source of the current time.
    pub clock: Arc<dyn Clock>,
    /// The source of identifiers.
    pub ids: Arc<dyn Ids>,
    /// The queues in which the engines of a process take turns, so that a large amount of work delays no other work.
    pub fairness: Fairness,
    /// Report of the data that the engine could not store, set at its end.
    pub unsaved_state: UnsavedState,
}

impl Options {
    /// Returns the thinking level of the model that is nearest to `wanted`.
    pub(super) fn nearest_level(&self, model: Option<&Model>, wanted: ThinkingLevel) -> ThinkingLevel {
        model.map_or(ThinkingLevel::Off, |model| self.catalog.nearest_level(model, wanted))
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Options")
            .field("catalog", &self.catalog)
            .field("model", &self.model)
            .field("cwd", &self.context.cwd)
            .finish_non_exhaustive()
    }
}
