//! Components of an agent, created from a plan.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentese::types::ModelScript;

use super::error::CliError;
use super::plan::{Plan, SessionChoice};
use super::script_check;
use agentese_process::environment::variable;
use agentese_process::session_store::store;
use agentese_process::stderr::Stderr;
use agentese_server::config::yaml::is_yaml;
use agentese_server::config::{NullSettingsStore, Settings, SettingsFile, SettingsStore, Trust};
use agentese_server::extensions::{self, ExtensionLimits, NodeHost};
use agentese_server::mcp;
use agentese_server::providers::scripted::{self, ScriptedProvider};
use agentese_server::providers::{self, Catalog, HttpClient, Sources, ThinkingTokens, key_variables, load};
use agentese_server::runtime::{RandomIds, SystemClock};
use agentese_server::session::{ResolveError, Session, SessionOptions, Store};
use agentese_server::subagents::{self, SharedPolicy, select_tools};
use agentese_server::tools::{LocalSpawner, ShellSettings, ToolSet};

/// Pause before each piece of text in the built-in script, long enough for a visible stream.
const PIECE_PAUSE: Duration = Duration::from_millis(2);

/// Returns the options with which the discovered extensions are started.
pub(super) fn extensions(
    plan: &Plan,
    found: Vec<extensions::DiscoveredExtension>,
) -> extensions::HostOptions {
    extensions::HostOptions {
        extensions: found,
        limits: ExtensionLimits::from_settings(&plan.settings.other, &|name: &str| std::env::var_os(name)),
        node_host: NodeHost::from_environment(&|name: &str| std::env::var_os(name)),
        agent_dir: plan.workspace.agent_dir.clone(),
        flags: plan.flags.clone(),
        ..extensions::HostOptions::default()
    }
}

/// Returns the options with which the configured MCP servers are started.
pub(super) fn mcp_servers(plan: &Plan) -> mcp::McpOptions {
    mcp::McpOptions {
        definitions: plan.servers.clone(),
        limits: mcp::McpLimits::from_settings(&plan.settings.other),
        enabled_tools: plan.tools.clone(),
        hidden: key_variables().map(Into::into).collect(),
        http: Arc::new(HttpClient::new(&network(plan).0, &variable)),
        ..mcp::McpOptions::default()
    }
}

/// Returns the discovered extensions. Unusable ones are included; each of them causes a warning.
pub(super) fn discover(
    wanted: &extensions::ExtensionPaths,
    stderr: &Stderr,
) -> Vec<extensions::DiscoveredExtension> {
    let (mut found, unusable) = extensions::discover(wanted);
    for unusable in unusable {
        stderr.warn(format_args!("extension {} is not loaded: {}", unusable.path.display(), unusable.reason));
        found.extend(unusable.is_extension.then(|| unusable.into()));
    }
    found
}

/// Returns the available models. The scripted model is included only if it was requested by name.
pub(super) fn catalog(plan: &Plan, stderr: &Stderr) -> Result<Catalog, CliError> {
    let environment = Arc::new(variable);
    let mut sources = Sources::new(plan.workspace.agent_dir.clone(), environment);
    sources.models = plan.workspace.files.models;
    sources.login = plan.workspace.files.login;
    sources.levels = plan.dialect.behavior_profile().models.thinking_levels;
    let (settings, unusable) = network(plan);
    sources.settings = providers::Settings { budgets: budgets(&plan.settings), ..settings };
    sources.spawner = Arc::new(LocalSpawner::guarded_by_this_binary());
    let model = &plan.model;
    let named = |name: &Option<String>| {
        let name = name.as_deref().map(|name| name.split(['/', ':']).next().unwrap_or_default());
        name == Some(scripted::NAME)
    };
    if model.script.is_some() || named(&model.provider) || named(&model.model) {
        sources.others.push(Arc::new(scripted_model(model.script.as_deref())?));
    }
    let (catalog, complaints) = load(sources);
    for complaint in unusable.into_iter().chain(complaints) {
        stderr.warn(complaint);
    }
    Ok(catalog)
}

/// Returns the network settings for requests to models, and warnings about invalid values.
fn network(plan: &Plan) -> (providers::Settings, Vec<providers::ConfigWarning>) {
    providers::Settings::default().with_network(&plan.settings.network, &variable)
}

fn budgets(settings: &Settings) -> ThinkingTokens {
    let (configured, usual) = (settings.thinking_budgets, ThinkingTokens::default());
    ThinkingTokens {
        minimal: configured.minimal.unwrap_or(usual.minimal),
        low: configured.low.unwrap_or(usual.low),
        medium: configured.medium.unwrap_or(usual.medium),
        high: configured.high.unwrap_or(usual.high),
    }
}

pub(super) const NO_STORE: &str =
    "no home directory was found for sessions; use --session-dir or --no-session";

/// Returns the file of a session that the command line names by a file or by a prefix of its id. Sessions of other
/// directories are found as well. Fails if neither a file nor a session has that name.
pub(super) fn session_file(plan: &Plan, named: &Path) -> Result<PathBuf, CliError> {
    let Some(text) = named.to_str().filter(|_| !plan.cwd().join(named).exists()) else {
        return Ok(named.to_owned());
    };
    let workspace = &plan.workspace;
    let home = workspace.home.as_deref();
    let store = store(&workspace.files, plan.session_dir.as_deref(), plan.agent_dir(), home, plan.cwd());
    match store.map(|store| store.resolve(text)) {
        Some(Ok(path) | Err(ResolveError::OtherDirectory { path, .. })) => Ok(path),
        Some(Err(error @ ResolveError::Unknown(_))) => Err(CliError::Session(error.to_string())),
        Some(Err(_)) | None => Ok(named.to_owned()),
    }
}

/// Returns the store of the sessions, and the session to continue.
pub(super) fn session(plan: &Plan, stderr: &Stderr) -> Result<(Option<Store>, Option<Session>), CliError> {
    if plan.session == SessionChoice::InMemory {
        return Ok((None, None));
    }
    let workspace = &plan.workspace;
    let home = workspace.home.as_deref();
    let store = store(&workspace.files, plan.session_dir.as_deref(), plan.agent_dir(), home, plan.cwd());
    match &store {
        Some(store) => {
            if let Err(error) = store.create_directory() {
                tracing::warn!(%error, directory = %store.directory().display(), "cannot create the session directory; sessions may not be saved");
            }
            store.sweep();
        }
        None => stderr.warn(
            "no home directory was found, so new sessions are not saved; use --session-dir to save them",
        ),
    }
    let existing = || store.as_ref().ok_or_else(|| CliError::Session(NO_STORE.to_owned()));
    let start =
        || SessionOptions::new(plan.cwd(), Arc::new(SystemClock), Arc::new(RandomIds)).write_in_background();
    let unusable = |error: &dyn std::fmt::Display| CliError::Session(error.to_string());
    let session = match &plan.session {
        SessionChoice::InMemory | SessionChoice::New => None,
        SessionChoice::Newest => match existing()?.latest() {
            Some(path) => Some(Session::open(&path, start()).map_err(|error| unusable(&error))?),
            None => None,
        },
        SessionChoice::File(path) => {
            Some(Session::open_or_create(path, start()).map_err(|error| unusable(&error))?)
        }
        SessionChoice::Id(id) => {
            let path = existing()?.resolve(id).map_err(|error| unusable(&error))?;
            Some(Session::open(&path, start()).map_err(|error| unusable(&error))?)
        }
    };
    Ok((store, session))
}

/// Returns the scripted model, which plays the script if one is given.
fn scripted_model(script: Option<&Path>) -> Result<ScriptedProvider, CliError> {
    let Some(path) = script else { return Ok(ScriptedProvider::built_in().with_pace(PIECE_PAUSE)) };
    let context = || path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|source| CliError::Io { context: context(), source })?;
    let script = agentese::wire::decode::<ModelScript>(&text)
        .map_err(|error| CliError::Script { path: context(), reason: error.to_string() })?;
    if let Some(member) = script_check::undeclared(&script) {
        let reason = format!("unknown member {member}");
        return Err(CliError::Script { path: context(), reason });
    }
    Ok(ScriptedProvider::from_script(script))
}

/// Returns the built-in tools with those names. An unknown name causes a warning, unless `others` is `true`,
/// because the tool may come from an extension or an MCP server.
pub(super) fn tools(names: Vec<String>, others: bool, policies: &SharedPolicy, stderr: &Stderr) -> ToolSet {
    let selection = select_tools(names, policies);
    for name in selection.unknown.into_iter().filter(|_| !others) {
        let all = ToolSet::available();
        let known: Vec<_> = all.names().chain(["task"]).collect();
        stderr.warn(format_args!("unknown tool \"{name}\"; known: {}", known.join(", ")));
    }
    selection.tools
}

/// Returns the settings of subagents. Starts a background thread that deletes worktrees of programs that were
/// killed.
pub(super) fn policies(plan: &Plan) -> SharedPolicy {
    let policy = plan.workspace.subagents(&plan.settings, plan.trust == Trust::Granted);
    let worktrees = policy.worktrees.clone();
    if worktrees.is_dir() {
        std::thread::spawn(move || subagents::sweep(&worktrees));
    }
    SharedPolicy::new(policy)
}

/// Returns the settings of shell commands.
pub(super) fn shell(agent_dir: Option<&Path>, settings: &Settings) -> ShellSettings {
    let programs = agent_dir.map(|directory| directory.join("bin")).filter(|directory| directory.is_dir());
    ShellSettings {
        program: settings.shell_path.clone(),
        prefix: settings.shell_command_prefix.clone(),
        path_prefix: programs,
        hidden: if settings.hide_keys { key_variables().map(Into::into).collect() } else { Vec::new() },
        ..ShellSettings::default()
    }
}

/// Returns the storage for settings that a client changes. By default, such changes are not stored.
pub(super) fn persist(plan: &Plan, stderr: &Stderr) -> Arc<dyn SettingsStore> {
    let file = plan.agent_dir().filter(|_| plan.settings.persist_defaults);
    let file = file.map(|directory| directory.join(plan.workspace.files.settings));
    if let Some(file) = file.as_ref().filter(|file| is_yaml(file)) {
        // Writing the file would lose its comments.
        stderr.warn(format_args!(
            "rpc.persistDefaults has no effect: {} is a YAML file, which is never written",
            file.display()
        ));
        return Arc::new(NullSettingsStore);
    }
    match file.map(SettingsFile::new) {
        Some(Ok(file)) => Arc::new(file),
        Some(Err(error)) => {
            stderr.warn(format_args!("cannot save settings that a client changes: {error}"));
            Arc::new(NullSettingsStore)
        }
        None => Arc::new(NullSettingsStore),
    }
}
