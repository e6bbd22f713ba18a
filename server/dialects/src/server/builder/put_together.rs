//! Assembly of the parts to one agent.

use std::path::PathBuf;
use std::sync::Arc;

use super::Builder;
use crate::engine::{Bounds, Chain, Customs, Fairness, Ledger, Options, Unsaved};
use crate::providers::scripted::Scripted;
use crate::providers::{Catalog, SelectError, Selected, Wanted};
use crate::session::Session;
use crate::subagents::{Policies, Policy, select_tools};
use crate::tools::{Edit, LocalSpawner, ToolContext};

/// The maximum number of simultaneous subagents of all generations.
const CHILDREN: usize = 64;

impl Builder {
    /// Returns the options of the engine, the initial session, and the error if the requested model does not
    /// exist.
    pub(super) fn put_together(self) -> (Options, Option<Session>, Option<SelectError>) {
        let catalog = self.catalog.unwrap_or_else(|| {
            let mut providers = self.providers;
            if providers.is_empty() {
                providers.push(Arc::new(Scripted::built_in().with_clock(self.clock.clone())));
            }
            Catalog::new(providers)
        });
        let (scope, unknown) = catalog.scope(self.models.iter().map(String::as_str));
        for pattern in unknown {
            tracing::warn!(pattern, "no model matches");
        }
        let settings = &self.settings;
        let resumed = self.session.as_ref().and_then(|session| session.restored().model);
        let selected = catalog.select(Wanted {
            provider: self.provider.as_deref(),
            model: self.model.as_deref(),
            scope: &scope,
            resumed: resumed.as_ref().map(|(provider, id)| (provider.as_str(), id.as_str())),
            default: settings.default_provider.as_deref().zip(settings.default_model.as_deref()),
        });
        let (selected, error) = match selected {
            Ok(selected) => (selected, None),
            Err(error) => (Selected::default(), Some(error)),
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
            Policies::new(Policy::new(settings.task.clone(), worktrees))
        });
        let customs = self.frontend.customs();
        let usual = || select_tools(customs.tools, &policies).tools;
        let mut tools = self.tools.unwrap_or_else(usual);
        if customs.lists_edits {
            tools.exchange(Arc::new(Edit::List));
        }
        let (budget, run_limits) = (settings.task.budget, settings.limits);
        let depth = usize::try_from(settings.task.max_recursion_depth).unwrap_or(usize::MAX);
        let options = Options {
            catalog,
            model: selected.chosen,
            no_model,
            scope,
            thinking: self.thinking,
            session_name: self.session_name,
            store: self.store,
            system_prompt: self.system_prompt,
            resources: self.resources,
            extension_commands: self.extension_commands,
            settings: self.settings,
            persist: self.persist,
            hooks: Chain::default(),
            customs: Customs::default(),
            afterwards: Vec::new(),
            bounds: Bounds::new(depth, CHILDREN),
            lead: self.lead,
            ledger: Arc::new(Ledger::limited(budget, run_limits)),
            tools,
            only_these_tools: false,
            context,
            clock: self.clock,
            ids: self.ids,
            fairness: Fairness::default(),
            unsaved: Unsaved::default(),
        };
        (options, self.session, error)
    }
}
