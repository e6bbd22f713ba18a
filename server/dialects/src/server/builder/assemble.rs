//! Assembly of the components to one agent.

use std::path::PathBuf;
use std::sync::Arc;

use super::Builder;
use crate::engine::{
    BehaviorProfile, Fairness, HookChain, Options, SubagentLimits, UnsavedState, UsageTracker,
};
use crate::providers::scripted::ScriptedProvider;
use crate::providers::{Catalog, InitialModel, SelectError, SelectOptions};
use crate::session::Session;
use crate::subagents::{SharedPolicy, SubagentPolicy, select_tools};
use crate::tools::{EditTool, LocalSpawner, ToolContext};

/// The maximum number of concurrent subagents, including subagents of subagents.
const MAX_SUBAGENTS: usize = 64;

impl Builder {
    /// Returns the options of the engine, the initial session, and the error if the requested model does not
    /// exist.
    pub(super) fn assemble(self) -> (Options, Option<Session>, Option<SelectError>) {
        let catalog = self.catalog.unwrap_or_else(|| {
            let mut providers = self.providers;
            if providers.is_empty() {
                providers.push(Arc::new(ScriptedProvider::built_in().with_clock(self.clock.clone())));
            }
            Catalog::new(providers)
        });
        let (scope, unknown) = catalog.scope(self.models.iter().map(String::as_str));
        for pattern in unknown {
            tracing::warn!(pattern, "no model matches");
        }
        let settings = &self.settings;
        let resumed = self.session.as_ref().and_then(|session| session.branch_settings().model);
        let selected = catalog.select(SelectOptions {
            provider: self.provider.as_deref(),
            model: self.model.as_deref(),
            scope: &scope,
            resumed: resumed.as_ref().map(|(provider, id)| (provider.as_str(), id.as_str())),
            default: settings.default_provider.as_deref().zip(settings.default_model.as_deref()),
        });
        let (selected, error) = match selected {
            Ok(selected) => (selected, None),
            Err(error) => (InitialModel::default(), Some(error)),
        };
        if let Some(warning) = selected.warning {
            tracing::warn!("{warning}");
        }
        let no_model = match &error {
            Some(error) => error.to_string(),
            None => "no provider has a key. Set one in the environment, such as ANTHROPIC_API_KEY, or try \
                     --provider scripted"
                .to_owned(),
        };
        let cwd = self.cwd.or_else(|| std::env::current_dir().ok()).unwrap_or_else(|| PathBuf::from("/"));
        let mut context =
            ToolContext::new(cwd, self.spawner.unwrap_or_else(|| Arc::new(LocalSpawner::new(None))));
        context.shell = self.shell;
        context.auto_resize_images = settings.images.auto_resize;
        context.block_images = settings.images.block_images;
        if let Some(directory) = self.temp_dir {
            context.temp_dir = directory;
        }
        let policies = self.policies.unwrap_or_else(|| {
            let worktrees = context.temp_dir.join("agentese-worktrees");
            SharedPolicy::new(SubagentPolicy::new(settings.task.clone(), worktrees))
        });
        let start = self.dialect.behavior_profile().start;
        let usual = || select_tools(start.default_tools, &policies).tools;
        let mut tools = self.tools.unwrap_or_else(usual);
        if start.edit_takes_list {
            tools.exchange(Arc::new(EditTool::List));
        }
        let (budget, run_limits) = (settings.task.budget, settings.limits);
        let depth = usize::try_from(settings.task.max_recursion_depth).unwrap_or(usize::MAX);
        let options = Options {
            catalog,
            model: selected.selection,
            no_model_reason: no_model,
            scope,
            thinking: self.thinking,
            session_name: self.session_name,
            store: self.store,
            system_prompt: self.system_prompt,
            resources: self.resources,
            extension_commands: self.extension_commands,
            settings: self.settings,
            persist: self.persist,
            hooks: HookChain::default(),
            profile: BehaviorProfile::default(),
            post_run_policies: Vec::new(),
            subagent_limits: SubagentLimits::new(depth, MAX_SUBAGENTS),
            remote_agent: self.remote_agent,
            usage_tracker: Arc::new(UsageTracker::with_limits(budget, run_limits)),
            tools,
            only_these_tools: false,
            context,
            clock: self.clock,
            ids: self.ids,
            fairness: Fairness::default(),
            unsaved_state: UnsavedState::default(),
        };
        (options, self.session, error)
    }
}
