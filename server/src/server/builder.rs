//! What an agent is made of, said part by part.

use std::path::PathBuf;
use std::sync::Arc;

use agentese::types::{ModelScript, ThinkingLevel};

use super::Server;
use crate::config::{CompactionSettings, NotPersisted, Persist, RetrySettings, Settings};
use crate::desk::{Agents, Elsewhere, Parts, Undecided, Updates};
use crate::engine::{Lead, Options};
use crate::extensions;
use crate::fronts::{FRONTENDS, Frontend};
use crate::mcp;
use crate::prompt::SystemPrompt;
use crate::providers::scripted::Scripted;
use crate::providers::{Catalog, Provider, SelectError};
use crate::resources::{ExtensionCommands, NoExtensions, Resources};
use crate::session::{Session, Store};
use crate::subagents::Policies;
use crate::tools::{ShellSettings, Spawner, ToolSet};
use crate::world::{Clock, Ids, RandomIds, SystemClock};

mod put_together;

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
}
