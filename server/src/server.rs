//! How the parts become one agent.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentese::serve::{Options as ServeOptions, ServeEnd};
use agentese::transport::Transport;
use agentese::types::{ModelScript, ThinkingLevel};

use crate::config::{CompactionSettings, NotPersisted, Persist, RetrySettings, Settings};
use crate::desk::{Agents, Elsewhere, Parts, Undecided, Updates};
use crate::engine::{Bounds, Chain, Customs, Lead, Ledger, Options, Unsaved};
use crate::extensions;
use crate::fronts::{FRONTENDS, Frontend};
use crate::mcp;
use crate::prompt::SystemPrompt;
use crate::providers::scripted::Scripted;
use crate::providers::{Catalog, Provider, SecretString, SelectError, Selected, Wanted};
use crate::resources::{ExtensionCommands, NoExtensions, Resources};
use crate::session::{Session, Store};
use crate::subagents::{Policies, Policy, select_tools};
use crate::tools::{LocalSpawner, ShellSettings, Spawner, ToolContext, ToolSet};
use crate::world::{Clock, Ids, RandomIds, SystemClock};

/// Subagents of all generations that there may be at once.
const CHILDREN: usize = 64;
/// How long the end waits for what goes on behind calls that are over.
const CHORES: Duration = Duration::from_secs(5);

/// One agent, ready to serve one client.
pub struct Server {
    frontend: &'static Frontend,
    parts: Parts,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Server")
            .field("frontend", &self.frontend)
            .field("options", &self.parts.options)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Begins to put one together.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Why there is no model to begin with; none where there is one.
    pub fn no_model(&self) -> Option<&str> {
        let options = &self.parts.options;
        options.model.is_none().then_some(options.no_model.as_str())
    }

    /// Gives a key for the provider of the model that was selected, before all others; it is not
    /// stored.
    pub fn give_key(&self, key: SecretString) {
        if let Some(chosen) = &self.parts.options.model {
            self.parts.options.catalog.set_api_key(&chosen.model.provider, key);
        }
    }

    /// Serves one client until its input ends. Bad input is answered, it never fails.
    pub async fn serve(self, transport: Transport) -> ServeEnd {
        self.serve_with(transport, ServeOptions::default()).await
    }

    /// As [`Server::serve`], with limits and a way to stop it.
    pub async fn serve_with(self, transport: Transport, options: ServeOptions) -> ServeEnd {
        self.serve_to_the_end(transport, options).await.ended
    }

    /// As [`Server::serve_with`]; says too what of the conversation could not be kept.
    pub async fn serve_to_the_end(self, transport: Transport, options: ServeOptions) -> Served {
        let unsaved = self.parts.options.unsaved.clone();
        let chores = self.parts.options.context.chores.clone();
        let ended = self.frontend.serve(self.parts, transport, options).await;
        chores.close();
        if tokio::time::timeout(CHORES, chores.wait()).await.is_err() {
            tracing::debug!("what calls have left is being put away, or the next start goes on with it");
        }
        Served { ended, unsaved: unsaved.reason() }
    }
}

/// How serving ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Served {
    /// Why.
    pub ended: ServeEnd,
    /// Why something that was said is in no session file, where that is so.
    pub unsaved: Option<String>,
}

/// Puts a server together. What is not given has a default: the embedded model, the built-in tools,
/// this machine.
pub struct Builder {
    cwd: Option<PathBuf>,
    temp_dir: Option<PathBuf>,
    providers: Vec<Arc<dyn Provider>>,
    catalog: Option<Catalog>,
    model: Option<String>,
    provider: Option<String>,
    models: Vec<String>,
    thinking: Option<ThinkingLevel>,
    store: Option<Store>,
    session_name: Option<String>,
    session: Option<Session>,
    frontend: &'static Frontend,
    updates: Updates,
    undecided: Option<Undecided>,
    system_prompt: SystemPrompt,
    resources: Arc<Resources>,
    extension_commands: Arc<dyn ExtensionCommands>,
    settings: Settings,
    persist: Arc<dyn Persist>,
    tools: Option<ToolSet>,
    policies: Option<Policies>,
    extensions: extensions::Options,
    mcp: mcp::Options,
    spawner: Option<Arc<dyn Spawner>>,
    shell: ShellSettings,
    lead: Option<Arc<dyn Lead>>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    elsewhere: Option<Arc<dyn Elsewhere>>,
    agents: Option<Arc<dyn Agents>>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            cwd: None,
            temp_dir: None,
            providers: Vec::new(),
            catalog: None,
            model: None,
            provider: None,
            models: Vec::new(),
            thinking: None,
            store: None,
            session_name: None,
            session: None,
            frontend: &FRONTENDS[0],
            updates: Updates::default(),
            undecided: None,
            system_prompt: SystemPrompt::default(),
            resources: Arc::default(),
            extension_commands: Arc::new(NoExtensions),
            settings: Settings::default(),
            persist: Arc::new(NotPersisted),
            tools: None,
            policies: None,
            extensions: extensions::Options::default(),
            mcp: mcp::Options::default(),
            spawner: None,
            shell: ShellSettings::default(),
            lead: None,
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            elsewhere: None,
            agents: None,
        }
    }
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Builder")
            .field("cwd", &self.cwd)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// The directory in which the agent works; the process's own by default.
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Where files with full outputs go; the system's temporary directory by default.
    pub fn temp_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.temp_dir = Some(directory.into());
        self
    }

    /// Adds a provider. The embedded model is there only where no provider was added.
    pub fn with_provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.providers.push(provider);
        self
    }

    /// The models that there are, in place of those of providers that are added.
    pub fn catalog(mut self, catalog: Catalog) -> Self {
        self.catalog = Some(catalog);
        self
    }

    /// Lets the embedded model play a script.
    pub fn script(self, script: ModelScript) -> Self {
        let clock = self.clock.clone();
        self.with_provider(Arc::new(Scripted::script(script).with_clock(clock)))
    }

    /// The model to begin with, as [`Catalog::find`] reads it; by default that of the session, of the
    /// settings, or the first one.
    pub fn model(mut self, pattern: impl Into<String>) -> Self {
        self.model = Some(pattern.into());
        self
    }

    /// The provider whose first model is the one to begin with, or among whose models the pattern
    /// is looked for.
    pub fn provider(mut self, name: impl Into<String>) -> Self {
        self.provider = Some(name.into());
        self
    }

    /// The models that cycling goes through, as patterns; all by default. Unknown ones are logged.
    pub fn models<I: Into<String>>(mut self, patterns: impl IntoIterator<Item = I>) -> Self {
        self.models = patterns.into_iter().map(Into::into).collect();
        self
    }

    /// How hard the model thinks.
    pub fn thinking(mut self, level: ThinkingLevel) -> Self {
        self.thinking = Some(level);
        self
    }

    /// How answers that fail for now are asked for again, in place of what the settings say.
    pub fn retry(mut self, retry: RetrySettings) -> Self {
        self.settings.retry = retry;
        self
    }

    /// When the conversation is compacted and how much of it is kept, in place of what the settings say.
    pub fn compaction(mut self, compaction: CompactionSettings) -> Self {
        self.settings.compaction = compaction;
        self
    }

    /// What the session to begin with is called, in place of the name that it has. By default it keeps that.
    pub fn session_name(mut self, name: impl Into<String>) -> Self {
        self.session_name = Some(name.into());
        self
    }

    /// Where sessions are kept. Without it they are not.
    pub fn store(mut self, store: Store) -> Self {
        self.store = Some(store);
        self
    }

    /// The session to go on with; a fresh one by default.
    pub fn session(mut self, session: Session) -> Self {
        self.session = Some(session);
        self
    }

    /// The dialect that it speaks; the first one of [`FRONTENDS`] by default.
    pub fn dialect(mut self, frontend: &'static Frontend) -> Self {
        self.frontend = frontend;
        self
    }

    /// What the frames of a growing answer carry: all of it, by default.
    pub fn updates(mut self, updates: Updates) -> Self {
        self.updates = updates;
        self
    }

    /// Asks the client whether the working directory is trusted before that matters; by default nobody is asked, and
    /// what the parts say counts.
    pub fn undecided(mut self, undecided: Undecided) -> Self {
        self.undecided = Some(undecided);
        self
    }

    /// What the model is told beforehand: a text alone, or parts; nothing by default.
    pub fn system_prompt(mut self, prompt: impl Into<SystemPrompt>) -> Self {
        self.system_prompt = prompt.into();
        self
    }

    /// Skills and prompt templates; none by default. Models are told of skills by the system prompt.
    pub fn resources(mut self, resources: Resources) -> Self {
        self.resources = Arc::new(resources);
        self
    }

    /// The commands that extensions registered; none by default.
    pub fn extension_commands(mut self, commands: Arc<dyn ExtensionCommands>) -> Self {
        self.extension_commands = commands;
        self
    }

    /// The user's settings: what is not said otherwise comes from them.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Keeps what a client sets beyond the life of the server; by default nothing does.
    pub fn persist(mut self, persist: Arc<dyn Persist>) -> Self {
        self.persist = persist;
        self
    }

    /// What counts for subagents; the settings by default, with copies of repositories in the temporary directory.
    pub fn subagents(mut self, policies: Policies) -> Self {
        self.policies = Some(policies);
        self
    }

    /// The tools; by default those of the dialect: read, bash, edit and write, and others where its users know them.
    pub fn tools(mut self, tools: ToolSet) -> Self {
        self.tools = Some(tools);
        self
    }

    /// The extensions; none by default.
    pub fn extensions(mut self, extensions: extensions::Options) -> Self {
        self.extensions = extensions;
        self
    }

    /// The MCP servers; none by default.
    pub fn mcp(mut self, mcp: mcp::Options) -> Self {
        self.mcp = mcp;
        self
    }

    /// Starts commands; on this machine, without a guard, by default.
    pub fn spawner(mut self, spawner: Arc<dyn Spawner>) -> Self {
        self.spawner = Some(spawner);
        self
    }

    /// Which shell runs commands, and how.
    pub fn shell(mut self, shell: ShellSettings) -> Self {
        self.shell = shell;
        self
    }

    /// Another agent that does the work; the embedded model and the tools are not used then.
    pub fn lead(mut self, lead: Arc<dyn Lead>) -> Self {
        self.lead = Some(lead);
        self
    }

    /// Time; to be given before a script.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Identifiers.
    pub fn ids(mut self, ids: Arc<dyn Ids>) -> Self {
        self.ids = ids;
        self
    }

    /// Makes the parts of sessions in other directories, in protocols that have them. By default they are made of the same
    /// parts as those of the own directory.
    pub fn elsewhere(mut self, elsewhere: Arc<dyn Elsewhere>) -> Self {
        self.elsewhere = Some(elsewhere);
        self
    }

    /// Other agents carry out the sessions, in protocols that have several: one agent is started for each.
    pub fn agents(mut self, agents: Arc<dyn Agents>) -> Self {
        self.agents = Some(agents);
        self
    }

    /// The server. Where the model that was named is not there it has none, and says so to prompts.
    pub fn build(self) -> Server {
        self.server().0
    }

    /// As [`Builder::build`], but fails where the model or the provider that was named is not there.
    pub fn try_build(self) -> Result<Server, SelectError> {
        let (server, error) = self.server();
        error.map_or(Ok(server), Err)
    }

    fn server(mut self) -> (Server, Option<SelectError>) {
        let (frontend, updates, undecided) = (self.frontend, self.updates, self.undecided.take());
        let (extensions, mcp) = (std::mem::take(&mut self.extensions), std::mem::take(&mut self.mcp));
        let usual_tools = self.tools.is_none();
        let (elsewhere, agents) = (self.elsewhere.take(), self.agents.take());
        let (options, session, error) = self.put_together();
        let parts =
            Parts { options, session, extensions, mcp, undecided, updates, usual_tools, elsewhere, agents };
        (Server { frontend, parts }, error)
    }

    /// All parts of the agent, for those who serve it among others. Fails where the model or the provider that was named
    /// is not there.
    pub fn all_parts(self) -> Result<Parts, SelectError> {
        let (server, error) = self.server();
        error.map_or(Ok(server.parts), Err)
    }

    /// What an engine of these parts is made of, for those who serve it in their own way.
    pub fn parts(self) -> (Options, Option<Session>) {
        let (options, session, _) = self.put_together();
        (options, session)
    }

    fn put_together(self) -> (Options, Option<Session>, Option<SelectError>) {
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
        let usual = || select_tools(self.frontend.customs().tools, &policies).tools;
        let tools = self.tools.unwrap_or_else(usual);
        let budget = settings.task.budget;
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
            ledger: Arc::new(Ledger::limited(budget)),
            tools,
            only_these_tools: false,
            context,
            clock: self.clock,
            ids: self.ids,
            unsaved: Unsaved::default(),
        };
        (options, self.session, error)
    }
}
