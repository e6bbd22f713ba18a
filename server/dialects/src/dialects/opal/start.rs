//! The start of a session.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agentese::opal::{Failure, OpalAuth, SessionStartParams, SessionStartResult};
use agentese::serve::CommandError;
use agentese::types::{Model, QueueMode, ThinkingLevel};

use super::OpalServer;
use super::active_session::{ActiveSession, SessionComponents};
use super::client::ClientUi;
use super::convert::Level;
use super::error::invalid_params;
use super::features::Features;
use super::sink::Sink;
use super::tools::{self, TaskList};
use crate::config::{SettingsChange, Trust, expand_home, load_settings, resolve};
use crate::conversation::ConversationService;
use crate::dialects::blocking::blocking;
use crate::engine::{RemoteAgent, RemoteError, SubagentLimits};
use crate::mcp;
use crate::prompt::{self, ContextFile, ContextFileNames, SystemPrompt, named_context_files};
use crate::providers::ModelSelection;
use crate::resources::{Resources, Sources};
use crate::runtime::Ids;
use crate::session::{OpenError, Session, SessionOptions, Store, may_be_id};

/// The context files for agents, in each directory from the root down.
const CONTEXT_FILES: ContextFileNames = ContextFileNames {
    names: &[
        "AGENTS.md",
        "OPAL.md",
        ".agents/AGENTS.md",
        ".agents/OPAL.md",
        ".opal/AGENTS.md",
        ".opal/OPAL.md",
    ],
    all: true,
};

/// The setting with the default model, as `provider:id`.
const DEFAULT_MODEL_SETTING: &str = "default_model";

/// The default model if the settings do not name one.
const FALLBACK_MODEL: (&str, &str) = ("copilot", "claude-sonnet-4");

/// The instructions to the model about its tags.
const TAG_INSTRUCTIONS: &str = "# Status and title\n\nThe program that shows your answers takes two tags out of your text. Whenever you \
                    begin a part of the work, write <status>a few words about it</status>. At the beginning of your first \
                    answer in a conversation write <title>what it is about, in at most sixty characters</title>.";

/// A source of ids. The first id is the given id of the session; all later ids are random.
struct SessionIdSource {
    first: Mutex<Option<String>>,
    others: Arc<dyn Ids>,
}

impl Ids for SessionIdSource {
    fn uuid(&self) -> String {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        first.unwrap_or_else(|| self.others.uuid())
    }

    fn entry(&self) -> String {
        self.others.entry()
    }
}

/// Data about the working directory and the stored session, read from the disk.
#[derive(Default)]
struct WorkspaceData {
    context: Vec<ContextFile>,
    resources: Resources,
    session: Option<Session>,
}

fn load_workspace(
    cwd: &Path,
    sources: &Sources,
    stored: Option<(&Store, &str)>,
    start: SessionOptions,
) -> Result<WorkspaceData, OpenError> {
    let session = stored.and_then(|(store, id)| store.find(id)).map(|path| Session::open(&path, start));
    let session = session.transpose()?;
    let (context, warnings) = named_context_files(&CONTEXT_FILES, None, cwd);
    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    // No path comes from a command line here, so no path can be missing.
    let (resources, warnings) = Resources::load(sources).unwrap_or_default();
    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    Ok(WorkspaceData { context, resources, session })
}

/// The MCP servers of a session.
#[derive(Default)]
struct SessionMcpServers {
    /// The servers to start.
    started: Vec<mcp::ServerDefinition>,
    /// The names of all servers from the files and the client. The servers of an untrusted directory are not
    /// started.
    names: Vec<String>,
}

impl SessionMcpServers {
    /// Collects the servers of a session. `own_servers` has the servers of the process's own directory, if `cwd` is
    /// that directory. Blocks. Fails with a sentence for an unusable server of the client.
    fn find(
        cwd: &Path,
        home: Option<&Path>,
        agent_dir: Option<&Path>,
        own_servers: Option<Vec<mcp::ServerDefinition>>,
        client_servers: &[serde_json::Map<String, serde_json::Value>],
    ) -> Result<Self, String> {
        let environment = |name: &str| std::env::var_os(name);
        let paths = || mcp::McpPaths { cwd, home, agent_dir };
        let mut started = mcp::parse_client_servers(client_servers, paths(), &environment)?;
        let found = own_servers.unwrap_or_else(|| {
            let trust = load_settings(&super::PATHS, agent_dir, cwd, home, None).trust;
            mcp::read_config(paths(), &environment, trust == Trust::Granted).definitions
        });
        let named = mcp::read_config(paths(), &environment, true).definitions;
        let is_new = |known: &[mcp::ServerDefinition], one: &mcp::ServerDefinition| {
            known.iter().all(|known| known.name != one.name)
        };
        for definition in found {
            if is_new(&started, &definition) {
                started.push(definition);
            }
        }
        let mut all = started.clone();
        for definition in named {
            if is_new(&all, &definition) {
                all.push(definition);
            }
        }
        let usable = all
            .iter()
            .filter(|one| !one.disabled && !matches!(one.transport, mcp::TransportConfig::Invalid(_)));
        let names = usable.map(|one| one.name.clone()).collect();
        Ok(Self { started, names })
    }
}

fn start_failed(reason: impl ToString) -> CommandError {
    Failure::SessionStartFailed.command_error(&[]).with_data(reason.to_string())
}

impl OpalServer {
    /// Starts a session, or opens a stored session.
    pub(super) async fn start(&self, params: SessionStartParams) -> Result<SessionStartResult, CommandError> {
        let requested_model = self.named_model(&params)?;
        let mut components = self.components().for_session(None);
        let remote_agent = components.options.remote_agent.clone();
        let is_remote = remote_agent.is_some();
        if is_remote && params.mcp_servers.as_ref().is_some_and(|servers| !servers.is_empty()) {
            return Err(start_failed("the remote agent does not accept MCP servers"));
        }
        let id = match &params.session_id {
            Some(id) if !may_be_id(id) => {
                let reason =
                    "`session_id` must be letters, digits, `.`, `_` and `-`, with a letter or digit first";
                return Err(invalid_params("session/start", reason));
            }
            Some(id) => id.clone(),
            None => {
                self.remote_session_id().unwrap_or_else(|| components.options.ids.uuid().replace('-', ""))
            }
        };
        let _reservation = self.reserve_id(&id, is_remote).map_err(start_failed)?;
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let default_cwd = components.options.context.cwd.clone();
        let cwd = params.working_dir.as_deref().map_or_else(
            || default_cwd.clone(),
            |directory| resolve(&default_cwd, &expand_home(Path::new(directory), home.as_deref())),
        );
        // A remote agent has its own directory.
        if let Some(working_dir) = params.working_dir.as_deref().filter(|_| !is_remote) {
            let looked = cwd.clone();
            if !blocking(move || looked.is_dir()).await {
                let reason = format!("`working_dir`: {working_dir} is not a directory");
                return Err(invalid_params("session/start", &reason));
            }
        }
        if cwd != default_cwd {
            // The pending question about trust concerns another directory.
            components.pending_trust = None;
        }
        let agent_dir = components.extensions.agent_dir.clone();
        let servers = if is_remote {
            Ok(SessionMcpServers::default())
        } else {
            let (cwd, home, client_servers) =
                (cwd.clone(), home.clone(), params.mcp_servers.clone().unwrap_or_default());
            let own_servers = (cwd == default_cwd).then(|| components.mcp.definitions.clone());
            blocking(move || {
                SessionMcpServers::find(
                    &cwd,
                    home.as_deref(),
                    agent_dir.as_deref(),
                    own_servers,
                    &client_servers,
                )
            })
            .await
        };
        let servers = servers.map_err(start_failed)?;
        components.mcp.definitions = servers.started;
        let wants_storage = params.session == Some(true) || params.session_id.is_some();
        let store = components.options.store.take().map(|store| store.shared(&cwd));
        // Every session has a directory name; a session that is not stored creates no files there.
        let directory = store.as_ref().map(|store| store.directory().join(&id));
        let store = store.filter(|_| wants_storage);
        let claim = match store.clone().filter(|_| params.session_id.is_some() && !is_remote) {
            Some(store) => {
                let wanted = id.clone();
                let locked =
                    |holder| start_failed(format!("the session \"{id}\" is already open in {holder}"));
                blocking(move || store.claim(&wanted)).await.map_err(locked)?
            }
            None => None,
        };
        let start =
            SessionOptions::new(&cwd, components.options.clock.clone(), components.options.ids.clone())
                .write_in_background();
        let workspace = if let Some(remote_agent) = &remote_agent {
            // The remote agent handles the content of its directory.
            let switched = match &params.session_id {
                Some(id) if self.remote_session_id().as_ref() != Some(id) => {
                    self.switch_remote_session(&**remote_agent, id, start).await
                }
                _ => Ok(None),
            };
            let before = self.components().session.take();
            Ok(WorkspaceData {
                session: switched.map_err(start_failed)?.or(before),
                ..WorkspaceData::default()
            })
        } else {
            let sources =
                Sources { cwd: cwd.clone(), home, folders: super::PATHS.resources, ..Sources::default() };
            // A new id cannot belong to a stored session.
            let looked_in = store.clone().filter(|_| params.session_id.is_some());
            let (cwd, store, id) = (cwd.clone(), looked_in, id.clone());
            blocking(move || {
                load_workspace(&cwd, &sources, store.as_ref().map(|store| (store, id.as_str())), start)
            })
            .await
        };
        let WorkspaceData { context, resources, session } = workspace.map_err(start_failed)?;
        // A remote agent may report the location of its file.
        let file = session.as_ref().filter(|_| is_remote).and_then(Session::file);
        let directory = directory.or_else(|| file.and_then(Path::parent).map(Path::to_owned));
        let branch_settings = session.as_ref().map(Session::branch_settings).unwrap_or_default();
        let kept_model =
            branch_settings.model.and_then(|(provider, id)| self.catalog.model_like(&provider, &id));
        let model = match requested_model.or(kept_model) {
            Some(model) => {
                if is_remote {
                    let (provider, id) = (model.provider.clone(), model.id.clone());
                    components.options.persist.save(SettingsChange::DefaultModel { provider, id });
                }
                Some(model)
            }
            None => {
                let chosen = components.options.model.as_ref().map(|chosen| chosen.model.clone());
                self.default_model(chosen).await
            }
        };
        let level =
            branch_settings.thinking.or(components.options.thinking).map(Level::of).unwrap_or_default();
        let resources = Arc::new(resources);
        let (skills, _) = resources.for_model();
        let features = Features::new(tools::names::NAMES.map(str::to_owned).to_vec(), !skills.is_empty());
        features.set(params.features.as_ref(), params.tools.as_deref())?;
        let features = Arc::new(features);
        let has_mcp = features.mcp();
        let files: Vec<String> =
            context.iter().map(|file| file.path.to_string_lossy().into_owned()).collect();
        let sink = Arc::new(Sink::new(
            self.client.clone(),
            &id,
            self.catalog.clone(),
            model.as_ref().map_or(0, |model| model.context_window),
            store.is_some() || is_remote,
            files.clone(),
        ));
        let client_ui = Arc::new(ClientUi::new(self.client.clone(), id.clone()));
        let tasks = match directory.clone().filter(|_| store.is_some()) {
            Some(directory) => blocking(move || TaskList::load(&directory)).await,
            None => TaskList::default(),
        };
        let tasks = Arc::new(tasks);
        let options = &mut components.options;
        options.tools = tools::session_tools(tools::ToolDependencies {
            client_ui: client_ui.clone(),
            sink: sink.clone(),
            features: features.clone(),
            resources: resources.clone(),
            tasks: tasks.clone(),
            catalog: self.catalog.clone(),
            clock: options.clock.clone(),
            ids: options.ids.clone(),
        });
        options.system_prompt =
            system_prompt(&options.system_prompt, params.system_prompt.as_deref(), context, &cwd);
        options.resources = resources;
        options.hooks.push(features.clone());
        options.subagent_limits = SubagentLimits::default();
        options.settings.follow_up_mode = QueueMode::All;
        if is_remote {
            options.persist.save(SettingsChange::FollowUpMode(QueueMode::All));
        }
        // Failures are reported at once: the client decides about retries.
        options.settings.retry.enabled = false;
        let compaction = &mut options.settings.compaction;
        compaction.enabled &= store.is_some();
        if let Some(model) = &model {
            compaction.reserve_tokens = model.context_window / 5;
            compaction.keep_recent_tokens = compaction.keep_recent_tokens.min(model.context_window / 4);
        }
        options.model = model.map(|model| ModelSelection { model, thinking: None });
        options.thinking = Some(level.engine());
        // A remote agent stores its sessions itself.
        let is_stored = store.is_some() || (is_remote && wants_storage);
        options.store = store;
        options.context.cwd = cwd;
        options.ids =
            Arc::new(SessionIdSource { first: Mutex::new(Some(id.clone())), others: options.ids.clone() });
        components.session = session;
        let conversation = Arc::new(ConversationService::new(components, sink.clone(), self.stop.clone()));
        sink.set_engine(conversation.engine().downgrade());
        conversation.mcp().set_enabled(features.mcp());
        conversation.connect(client_ui);
        self.conversations.add(conversation.clone());
        let active_session = ActiveSession::new(SessionComponents {
            id: id.clone(),
            conversation,
            sink,
            features,
            tasks,
            level,
            is_stored,
            claim,
        });
        self.sessions().insert(id.clone(), Arc::new(active_session));
        let auth: OpalAuth = self.auth().await;
        let mut started = SessionStartResult::new(id);
        started.session_dir = directory.map(|directory| directory.to_string_lossy().into_owned());
        started.context_files = Some(files);
        started.available_skills = Some(skills.iter().map(|skill| skill.name().to_owned()).collect());
        started.mcp_servers = Some(if has_mcp { servers.names } else { Vec::new() });
        started.auth = Some(auth);
        Ok(started)
    }

    /// Returns the id of the current session of the remote agent. Returns `None` without a remote agent.
    fn remote_session_id(&self) -> Option<String> {
        let components = self.components();
        components.options.remote_agent.as_ref()?;
        components.session.as_ref().map(|session| session.id().to_owned()).filter(|id| may_be_id(id))
    }

    /// Switches the remote agent to the session with the given id. If there is no such session, switches to a new
    /// one, unless the current session has no messages. It is then kept, and the result is `None`.
    async fn switch_remote_session(
        &self,
        remote_agent: &dyn RemoteAgent,
        id: &str,
        start: SessionOptions,
    ) -> Result<Option<Session>, RemoteError> {
        let is_fresh =
            || self.components().session.as_ref().is_none_or(|session| session.message_count() == 0);
        let has_switched = match remote_agent.find_session(id).await? {
            Some(path) => remote_agent.switch_session(&path).await?,
            None if is_fresh() => return Ok(None),
            None => remote_agent.new_session().await?,
        };
        if !has_switched {
            return Err("the remote agent did not switch to another session".to_owned());
        }
        let remote_session = remote_agent.session().await;
        let messages = remote_agent.history().await?.unwrap_or_default();
        let mut session = Session::in_memory(start);
        if let Some((provider, id)) = &remote_session.model {
            session.record_model(provider, id);
        }
        session.record_thinking_level(remote_session.thinking.unwrap_or(ThinkingLevel::Off));
        messages.into_iter().for_each(|message| drop(session.append(Arc::new(message))));
        if let Some(name) = &remote_session.name {
            // An empty name is not set.
            let _ = session.rename(name);
        }
        session.set_external(remote_session.location);
        Ok(Some(session))
    }

    /// Returns the model from the parameters.
    fn named_model(&self, params: &SessionStartParams) -> Result<Option<Model>, CommandError> {
        let Some(choice) = &params.model else { return Ok(None) };
        if choice.provider.is_empty() || choice.id.is_empty() {
            return Err(Failure::InvalidModel.command_error(&[]));
        }
        self.model_named(&choice.provider, &choice.id).map(Some)
    }

    /// Returns a model of a provider, even if the catalog does not list it. Fails if the provider is unknown.
    pub(super) fn model_named(&self, provider: &str, id: &str) -> Result<Model, CommandError> {
        self.catalog.model_like(provider, id).ok_or_else(|| {
            Failure::UnknownProvider.command_error(&[]).with_data(format!("unknown provider: \"{provider}\""))
        })
    }

    /// Returns the model for a session without one: from the settings, from the command line, or the first
    /// available one.
    async fn default_model(&self, selected: Option<Model>) -> Option<Model> {
        let settings = self.read_settings().await.unwrap_or_default();
        let set = settings.get(DEFAULT_MODEL_SETTING).and_then(|name| name.as_str());
        let set = set.and_then(|name| name.split_once(':'));
        if let Some(model) = set.and_then(|(provider, id)| self.catalog.model_like(provider, id)) {
            return Some(model);
        }
        let ready = || self.catalog.available().first().map(|model| (*model).clone());
        selected.or_else(ready).or_else(|| self.catalog.model_like(FALLBACK_MODEL.0, FALLBACK_MODEL.1))
    }
}

fn system_prompt(
    configured: &SystemPrompt,
    base: Option<&str>,
    context: Vec<ContextFile>,
    cwd: &Path,
) -> SystemPrompt {
    let configured = match configured {
        SystemPrompt::Composed(parts) => (**parts).clone(),
        SystemPrompt::Verbatim(text) => prompt::PromptParts {
            base: (!text.is_empty()).then(|| text.clone()),
            ..prompt::PromptParts::default()
        },
    };
    let base = base.filter(|text| !text.trim().is_empty()).map(str::to_owned).or(configured.base);
    let mut appended = configured.appended;
    appended.push(TAG_INSTRUCTIONS.to_owned());
    prompt::PromptParts { base, appended, context, cwd: cwd.to_owned(), ..prompt::PromptParts::default() }
        .into()
}
