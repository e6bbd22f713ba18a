//! Builder of a server, component by component.

mod assemble;
use std::path::PathBuf;
use std::sync::Arc;

use agentese::types::{ModelScript, ThinkingLevel};

use super::Server;
use crate::config::{CompactionSettings, NullSettingsStore, RetrySettings, Settings, SettingsStore};
use crate::conversation::{AgentComponents, ComponentsFactory, PendingTrust, RemoteAgents, UpdateContent};
use crate::dialects::{DIALECTS, DialectEntry};
use crate::engine::{Options, RemoteAgent};
use crate::extensions;
use crate::mcp;
use crate::prompt::SystemPrompt;
use crate::providers::scripted::ScriptedProvider;
use crate::providers::{Catalog, Provider, SelectError};
use crate::resources::{ExtensionCommands, NoExtensions, Resources};
use crate::runtime::{Clock, Ids, RandomIds, SystemClock};
use crate::session::{Session, Store};
use crate::subagents::SharedPolicy;
use crate::tools::{ShellSettings, Spawner, ToolSet};

impl Server {
    /// Creates a builder with the defaults.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

/// Builds a server. Every component has a default: the scripted model, the built-in tools, this machine.
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
    dialect: &'static DialectEntry,
    updates: UpdateContent,
    pending_trust: Option<PendingTrust>,
    system_prompt: SystemPrompt,
    resources: Arc<Resources>,
    extension_commands: Arc<dyn ExtensionCommands>,
    settings: Settings,
    persist: Arc<dyn SettingsStore>,
    tools: Option<ToolSet>,
    policies: Option<SharedPolicy>,
    extensions: extensions::HostOptions,
    mcp: mcp::McpOptions,
    spawner: Option<Arc<dyn Spawner>>,
    shell: ShellSettings,
    remote_agent: Option<Arc<dyn RemoteAgent>>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    components_factory: Option<Arc<dyn ComponentsFactory>>,
    remote_agents: Option<Arc<dyn RemoteAgents>>,
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
            dialect: &DIALECTS[0],
            updates: UpdateContent::default(),
            pending_trust: None,
            system_prompt: SystemPrompt::default(),
            resources: Arc::default(),
            extension_commands: Arc::new(NoExtensions),
            settings: Settings::default(),
            persist: Arc::new(NullSettingsStore),
            tools: None,
            policies: None,
            extensions: extensions::HostOptions::default(),
            mcp: mcp::McpOptions::default(),
            spawner: None,
            shell: ShellSettings::default(),
            remote_agent: None,
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            components_factory: None,
            remote_agents: None,
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
    /// Sets the working directory of the agent; by default that of the process.
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Sets the directory for files with full outputs; by default the system's temporary directory.
    pub fn temp_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.temp_dir = Some(directory.into());
        self
    }

    /// Adds a provider. The scripted model is available only if no provider was added.
    pub fn with_provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.providers.push(provider);
        self
    }

    /// Sets the available models, in place of the models of added providers.
    pub fn catalog(mut self, catalog: Catalog) -> Self {
        self.catalog = Some(catalog);
        self
    }

    /// Sets the script that the scripted model follows.
    pub fn script(self, script: ModelScript) -> Self {
        let clock = self.clock.clone();
        self.with_provider(Arc::new(ScriptedProvider::from_script(script).with_clock(clock)))
    }

    /// Sets the initial model, in the syntax of [`Catalog::find`]. The default is the model of the session or of
    /// the settings, else the first one.
    pub fn model(mut self, pattern: impl Into<String>) -> Self {
        self.model = Some(pattern.into());
        self
    }

    /// Sets the provider of the initial model. Without a model pattern, its first model is used; otherwise the
    /// pattern selects among its models.
    pub fn provider(mut self, name: impl Into<String>) -> Self {
        self.provider = Some(name.into());
        self
    }

    /// Sets the models among which a client can cycle, as patterns. By default, all models are used. A
    /// pattern that matches no model is logged.
    pub fn models<I: Into<String>>(mut self, patterns: impl IntoIterator<Item = I>) -> Self {
        self.models = patterns.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the thinking level of the model.
    pub fn thinking(mut self, level: ThinkingLevel) -> Self {
        self.thinking = Some(level);
        self
    }

    /// Sets how temporary failures are retried, in place of the settings.
    pub fn retry(mut self, retry: RetrySettings) -> Self {
        self.settings.retry = retry;
        self
    }

    /// Sets the condition for compactions and the number of tokens that they keep, in place of the settings.
    pub fn compaction(mut self, compaction: CompactionSettings) -> Self {
        self.settings.compaction = compaction;
        self
    }

    /// Sets the name of the initial session; by default the session keeps its name.
    pub fn session_name(mut self, name: impl Into<String>) -> Self {
        self.session_name = Some(name.into());
        self
    }

    /// Sets the store of sessions. Without a store, sessions are in memory only.
    pub fn store(mut self, store: Store) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the session to continue; by default a new one.
    pub fn session(mut self, session: Session) -> Self {
        self.session = Some(session);
        self
    }

    /// Sets the dialect; by default the first one of [`DIALECTS`].
    pub fn dialect(mut self, entry: &'static DialectEntry) -> Self {
        self.dialect = entry;
        self
    }

    /// Sets the content of the frames while the model writes an answer. The default is the whole answer.
    pub fn updates(mut self, updates: UpdateContent) -> Self {
        self.updates = updates;
        self
    }

    /// Sets the question to the user about trust in the working directory. It is sent when the answer is first
    /// needed. Without it, no question is sent, and the components apply as they are.
    pub fn pending_trust(mut self, pending_trust: PendingTrust) -> Self {
        self.pending_trust = Some(pending_trust);
        self
    }

    /// Sets the system prompt: a single text, or parts; by default empty.
    pub fn system_prompt(mut self, prompt: impl Into<SystemPrompt>) -> Self {
        self.system_prompt = prompt.into();
        self
    }

    /// Sets skills and prompt templates; by default there are no such resources. The system prompt lists the
    /// skills for models.
    pub fn resources(mut self, resources: Resources) -> Self {
        self.resources = Arc::new(resources);
        self
    }

    /// Sets the source of commands that extensions have registered; by default there are no such commands.
    pub fn extension_commands(mut self, commands: Arc<dyn ExtensionCommands>) -> Self {
        self.extension_commands = commands;
        self
    }

    /// Sets the user's settings. Components that are not set take their values from them.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets a store for the settings that a client changes. Without it, the changes last until the server ends.
    pub fn persist(mut self, persist: Arc<dyn SettingsStore>) -> Self {
        self.persist = persist;
        self
    }

    /// Sets the policies for subagents. By default, they follow the settings, and copies of repositories are in the
    /// temporary directory.
    pub fn subagents(mut self, policies: SharedPolicy) -> Self {
        self.policies = Some(policies);
        self
    }

    /// Sets the tools. By default they are the tools of the dialect: read, bash, edit and write, and further
    /// tools of some dialects.
    pub fn tools(mut self, tools: ToolSet) -> Self {
        self.tools = Some(tools);
        self
    }

    /// Sets the extensions; by default there are no extensions.
    pub fn extensions(mut self, extensions: extensions::HostOptions) -> Self {
        self.extensions = extensions;
        self
    }

    /// Sets the MCP servers; by default there are no servers.
    pub fn mcp(mut self, mcp: mcp::McpOptions) -> Self {
        self.mcp = mcp;
        self
    }

    /// Sets the spawner of commands; by default commands start on this machine, without a guard.
    pub fn spawner(mut self, spawner: Arc<dyn Spawner>) -> Self {
        self.spawner = Some(spawner);
        self
    }

    /// Sets the shell for commands, and its options.
    pub fn shell(mut self, shell: ShellSettings) -> Self {
        self.shell = shell;
        self
    }

    /// Sets a remote agent, which does the work in place of the scripted model and the tools.
    pub fn remote_agent(mut self, agent: Arc<dyn RemoteAgent>) -> Self {
        self.remote_agent = Some(agent);
        self
    }

    /// Sets the clock. Call this before `script`, because a script uses the clock that is set at that time.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the source of identifiers.
    pub fn ids(mut self, ids: Arc<dyn Ids>) -> Self {
        self.ids = ids;
        self
    }

    /// Sets the factory for sessions in other directories. Only protocols with several sessions use it. Without it,
    /// these sessions use the same components.
    pub fn components_factory(mut self, factory: Arc<dyn ComponentsFactory>) -> Self {
        self.components_factory = Some(factory);
        self
    }

    /// Sets the remote agents that carry out the sessions, one for each session. Only protocols with several
    /// sessions use them.
    pub fn remote_agents(mut self, agents: Arc<dyn RemoteAgents>) -> Self {
        self.remote_agents = Some(agents);
        self
    }

    /// Returns the server. If the requested model does not exist, the server has no model and rejects
    /// prompts.
    pub fn build(self) -> Server {
        self.server().0
    }

    /// Works like [`Builder::build`], but fails if the requested model or provider does not exist.
    pub fn try_build(self) -> Result<Server, SelectError> {
        let (server, error) = self.server();
        error.map_or(Ok(server), Err)
    }

    fn server(mut self) -> (Server, Option<SelectError>) {
        let (dialect, updates, pending_trust) = (self.dialect, self.updates, self.pending_trust.take());
        let (extensions, mcp) = (std::mem::take(&mut self.extensions), std::mem::take(&mut self.mcp));
        let has_default_tools = self.tools.is_none();
        let (components_factory, remote_agents) = (self.components_factory.take(), self.remote_agents.take());
        let (options, session, error) = self.assemble();
        let components = AgentComponents {
            options,
            session,
            extensions,
            mcp,
            pending_trust,
            updates,
            has_default_tools,
            components_factory,
            remote_agents,
        };
        (Server { dialect, components }, error)
    }

    /// Returns the components of the agent, for callers that serve several agents. Fails if the requested model or
    /// provider does not exist.
    pub fn build_components(self) -> Result<AgentComponents, SelectError> {
        let (server, error) = self.server();
        error.map_or(Ok(server.components), Err)
    }

    /// Returns the engine options and the session, for callers that serve the engine without a dialect server.
    pub fn build_engine_options(self) -> (Options, Option<Session>) {
        let (options, session, _) = self.assemble();
        (options, session)
    }
}
