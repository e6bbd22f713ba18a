//! How the parts become one agent.

use std::path::PathBuf;
use std::sync::Arc;

use agentese::serve::{Ended, Options as ServeOptions, serve_with};
use agentese::transport::Transport;
use agentese::types::{Model, ModelScript, ThinkingLevel};

use crate::config::{NotPersisted, Persist, Settings};
use crate::engine::{Engine, Options};
use crate::fronts::pi;
use crate::prompt::SystemPrompt;
use crate::providers::scripted::{self, Scripted};
use crate::providers::{Catalog, Chosen, Provider};
use crate::tools::{LocalSpawner, ShellSettings, Spawner, ToolContext, ToolSet};
use crate::world::{Clock, Ids, RandomIds, SystemClock};

/// One agent, ready to serve one client.
#[derive(Debug)]
pub struct Server {
    options: Options,
}

impl Server {
    /// Begins to put one together.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Why there is no model to begin with; none where there is one.
    pub fn no_model(&self) -> Option<&str> {
        self.options.model.is_none().then_some(self.options.no_model.as_str())
    }

    /// Serves the pi dialect to one client until its input ends. Bad input is answered, it never fails.
    pub async fn serve(self, transport: Transport) -> Ended {
        self.serve_with(transport, ServeOptions::default()).await
    }

    /// As [`Server::serve`], with limits and a way to stop it.
    pub async fn serve_with(self, transport: Transport, options: ServeOptions) -> Ended {
        let sink = Arc::new(pi::Sink::default());
        let front = Arc::new(pi::Front::new(Engine::new(self.options, sink.clone())));
        serve_with(transport, front, options, |emitter| sink.connect(emitter)).await
    }
}

/// Puts a server together. What is not given has a default: the embedded model, the built-in tools,
/// this machine.
pub struct Builder {
    cwd: Option<PathBuf>,
    temp_dir: Option<PathBuf>,
    providers: Vec<Arc<dyn Provider>>,
    model: Option<String>,
    provider: Option<String>,
    models: Vec<String>,
    thinking: Option<ThinkingLevel>,
    system_prompt: SystemPrompt,
    settings: Settings,
    persist: Arc<dyn Persist>,
    embedded_by_default: bool,
    tools: ToolSet,
    spawner: Option<Arc<dyn Spawner>>,
    shell: ShellSettings,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            cwd: None,
            temp_dir: None,
            providers: Vec::new(),
            model: None,
            provider: None,
            models: Vec::new(),
            thinking: None,
            system_prompt: SystemPrompt::default(),
            settings: Settings::default(),
            persist: Arc::new(NotPersisted),
            embedded_by_default: true,
            tools: ToolSet::builtin(),
            spawner: None,
            shell: ShellSettings::default(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
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

    /// Lets the embedded model play a script.
    pub fn script(self, script: ModelScript) -> Self {
        let clock = self.clock.clone();
        self.with_provider(Arc::new(Scripted::script(script).with_clock(clock)))
    }

    /// The model to begin with, as [`Catalog::find`] reads it; the first one by default. Where there
    /// is no such model the agent has none, and refuses prompts.
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

    /// Whether the embedded model is the one to begin with where nobody names one; true by default.
    pub fn embedded_by_default(mut self, yes: bool) -> Self {
        self.embedded_by_default = yes;
        self
    }

    /// How hard the model thinks.
    pub fn thinking(mut self, level: ThinkingLevel) -> Self {
        self.thinking = Some(level);
        self
    }

    /// What the model is told beforehand: a text alone, or parts; nothing by default.
    pub fn system_prompt(mut self, prompt: impl Into<SystemPrompt>) -> Self {
        self.system_prompt = prompt.into();
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

    /// The tools; read, bash, edit and write by default.
    pub fn tools(mut self, tools: ToolSet) -> Self {
        self.tools = tools;
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

    /// The server.
    pub fn build(self) -> Server {
        Server { options: self.options() }
    }

    /// What an engine of these parts is made of, for those who serve it in their own way.
    pub fn options(self) -> Options {
        let mut providers = self.providers;
        if providers.is_empty() {
            providers.push(Arc::new(Scripted::built_in().with_clock(self.clock.clone())));
        }
        let catalog = Catalog::new(providers);
        let wanted = match (&self.provider, &self.model) {
            (Some(provider), None) => Some(format!("{provider}/")),
            (Some(provider), Some(model)) if !model.starts_with(&format!("{provider}/")) => {
                Some(format!("{provider}/{model}"))
            }
            (_, model) => model.clone(),
        };
        let patterns: Vec<&str> = self.models.iter().map(String::as_str).collect();
        let (scope, unknown) = catalog.scope(patterns);
        for pattern in unknown {
            tracing::warn!(pattern, "no model matches");
        }
        let by_default = |model: &&Model| self.embedded_by_default || model.provider != scripted::NAME;
        let any = || Some(Chosen { model: catalog.models().find(by_default)?.clone(), thinking: None });
        let model = match &wanted {
            Some(pattern) => catalog.find(pattern),
            None => scope.first().cloned().or_else(|| preferred(&catalog, &self.settings)).or_else(any),
        };
        let names = catalog.names();
        let no_model = match &wanted {
            Some(pattern) => format!("nothing matches \"{pattern}\"; there is {}", names.join(", ")),
            None => "none is configured".to_owned(),
        };
        let cwd = self.cwd.or_else(|| std::env::current_dir().ok()).unwrap_or_else(|| PathBuf::from("/"));
        let mut context =
            ToolContext::new(cwd, self.spawner.unwrap_or_else(|| Arc::new(LocalSpawner::new(None))));
        context.shell = self.shell;
        if let Some(directory) = self.temp_dir {
            context.temp_dir = directory;
        }
        let named = model.as_ref().and_then(|chosen| chosen.thinking);
        Options {
            catalog,
            no_model,
            scope,
            thinking: self.thinking.or(named).or(self.settings.default_thinking_level),
            model,
            system_prompt: self.system_prompt,
            settings: self.settings,
            persist: self.persist,
            tools: self.tools,
            context,
            clock: self.clock,
            ids: self.ids,
        }
    }
}

/// The model that the settings name, where it is there.
fn preferred(catalog: &Catalog, settings: &Settings) -> Option<Chosen> {
    let chosen = match (&settings.default_provider, &settings.default_model) {
        (Some(provider), Some(id)) => {
            catalog.get(provider, id).map(|model| Chosen { model: model.clone(), thinking: None })
        }
        (Some(provider), None) => catalog.find(&format!("{provider}/")),
        (None, Some(id)) => catalog.find(id),
        (None, None) => return None,
    };
    if chosen.is_none() {
        let (provider, model) = (&settings.default_provider, &settings.default_model);
        tracing::info!(?provider, ?model, "the model of the settings is not there");
    }
    chosen
}
