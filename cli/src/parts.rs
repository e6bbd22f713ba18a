//! Components of an agent according to a plan.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentese::types::ModelScript;

use super::error::Failure;
use super::plan::{Plan, SessionChoice};
use super::script_check;
use agentese_process::environment::variable;
use agentese_process::session_store::store;
use agentese_process::stderr::Stderr;
use agentese_server::config::yaml::is_yaml;
use agentese_server::config::{NotPersisted, Persist, Settings, SettingsFile, Trust};
use agentese_server::extensions::{self, Limits, NodeHost};
use agentese_server::mcp;
use agentese_server::providers::scripted::{self, Scripted};
use agentese_server::providers::{self, Budgets, Catalog, HttpClient, Sources, key_variables, load};
use agentese_server::session::{Session, Start, Store};
use agentese_server::subagents::{self, Policies, select_tools};
use agentese_server::tools::{LocalSpawner, ShellSettings, ToolSet};
use agentese_server::world::{RandomIds, SystemClock};

/// Pause before each piece of the built-in script: fast, but still a visible stream.
const PACE: Duration = Duration::from_millis(2);

/// Returns the options of the discovered extensions.
pub(super) fn extensions(plan: &Plan, found: Vec<extensions::Found>) -> extensions::Options {
    extensions::Options {
        found,
        limits: Limits::of(&plan.settings.other, &|name: &str| std::env::var_os(name)),
        node_host: NodeHost::of(&|name: &str| std::env::var_os(name)),
        agent_dir: plan.surroundings.agent_dir.clone(),
        flags: plan.flags.clone(),
        ..extensions::Options::default()
    }
}

/// Returns the options of the configured MCP servers.
pub(super) fn servers(plan: &Plan) -> mcp::Options {
    mcp::Options {
        definitions: plan.servers.clone(),
        limits: mcp::Limits::of(&plan.settings.other),
        chosen: plan.tools.clone(),
        hidden: key_variables().map(Into::into).collect(),
        http: Arc::new(HttpClient::new(&network(plan).0, &variable)),
        ..mcp::Options::default()
    }
}

/// Returns the discovered extensions, including unusable ones, and warns about the latter.
pub(super) fn discover(wanted: &extensions::Wanted, stderr: &Stderr) -> Vec<extensions::Found> {
    let (mut found, unusable) = extensions::discover(wanted);
    for unusable in unusable {
        stderr.warn(format_args!("extension {} is not loaded: {}", unusable.path.display(), unusable.reason));
        found.extend(unusable.is_one.then(|| unusable.into()));
    }
    found
}

/// Returns the available models. The embedded model is included only if it was requested by name.
pub(super) fn catalog(plan: &Plan, stderr: &Stderr) -> Result<Catalog, Failure> {
    let environment = Arc::new(variable);
    let mut sources = Sources::new(plan.surroundings.agent_dir.clone(), environment);
    sources.models = plan.surroundings.files.models;
    sources.login = plan.surroundings.files.login;
    sources.levels = plan.dialect.customs().levels;
    let (settings, unusable) = network(plan);
    sources.settings = providers::Settings { budgets: budgets(&plan.settings), ..settings };
    sources.spawner = Arc::new(LocalSpawner::guarded_by_this_binary());
    let model = &plan.model;
    let named = |name: &Option<String>| {
        let name = name.as_deref().map(|name| name.split(['/', ':']).next().unwrap_or_default());
        name == Some(scripted::NAME)
    };
    if model.script.is_some() || named(&model.provider) || named(&model.model) {
        sources.others.push(Arc::new(embedded(model.script.as_deref())?));
    }
    let (catalog, complaints) = load(sources);
    for complaint in unusable.into_iter().chain(complaints) {
        stderr.warn(complaint);
    }
    Ok(catalog)
}

/// Returns the settings of requests, with warnings about invalid ones.
fn network(plan: &Plan) -> (providers::Settings, Vec<providers::Complaint>) {
    providers::Settings::default().with_network(&plan.settings.network, &variable)
}

fn budgets(settings: &Settings) -> Budgets {
    let (asked, usual) = (settings.thinking_budgets, Budgets::default());
    Budgets {
        minimal: asked.minimal.unwrap_or(usual.minimal),
        low: asked.low.unwrap_or(usual.low),
        medium: asked.medium.unwrap_or(usual.medium),
        high: asked.high.unwrap_or(usual.high),
    }
}

pub(super) const NO_STORE: &str =
    "no home directory was found for sessions; use --session-dir or --no-session";

/// Returns the store of the sessions, and the session to continue.
pub(super) fn session(plan: &Plan, stderr: &Stderr) -> Result<(Option<Store>, Option<Session>), Failure> {
    if plan.session == SessionChoice::InMemory {
        return Ok((None, None));
    }
    let surroundings = &plan.surroundings;
    let home = surroundings.home.as_deref();
    let store = store(&surroundings.files, plan.session_dir.as_deref(), plan.agent_dir(), home, plan.cwd());
    match &store {
        Some(store) => {
            if let Err(error) = store.create_directory() {
                tracing::warn!(%error, directory = %store.directory().display(), "sessions may not be kept");
            }
            store.sweep();
        }
        None => stderr.warn(
            "no home directory was found, so new sessions are not saved; use --session-dir to save them",
        ),
    }
    let kept = || store.as_ref().ok_or_else(|| Failure::Usage(NO_STORE.to_owned()));
    let start = || Start::new(plan.cwd(), Arc::new(SystemClock), Arc::new(RandomIds)).beside();
    let usage = |error: &dyn std::fmt::Display| Failure::Usage(error.to_string());
    let session = match &plan.session {
        SessionChoice::InMemory | SessionChoice::New => None,
        SessionChoice::Newest => match kept()?.latest() {
            Some(path) => Some(Session::open(&path, start()).map_err(|error| usage(&error))?),
            None => None,
        },
        SessionChoice::File(path) => {
            Some(Session::open_or_create(path, start()).map_err(|error| usage(&error))?)
        }
        SessionChoice::Id(id) => {
            let path = kept()?.resolve(id).map_err(|error| usage(&error))?;
            Some(Session::open(&path, start()).map_err(|error| usage(&error))?)
        }
    };
    Ok((store, session))
}

/// Returns the embedded model, with the given script if any.
fn embedded(script: Option<&Path>) -> Result<Scripted, Failure> {
    let Some(path) = script else { return Ok(Scripted::built_in().paced(PACE)) };
    let context = || path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|source| Failure::Io { context: context(), source })?;
    let script = agentese::wire::decode::<ModelScript>(&text)
        .map_err(|error| Failure::Script { path: context(), reason: error.to_string() })?;
    if let Some(member) = script_check::undeclared(&script) {
        let reason = format!("{member} is not a member of the format");
        return Err(Failure::Script { path: context(), reason });
    }
    Ok(Scripted::script(script))
}

/// Returns the built-in tools with those names. With `others`, there may be further tools, and their owner
/// reports unknown names.
pub(super) fn tools(names: Vec<String>, others: bool, policies: &Policies, stderr: &Stderr) -> ToolSet {
    let selection = select_tools(names, policies);
    for name in selection.unknown.into_iter().filter(|_| !others) {
        let all = ToolSet::available();
        let known: Vec<_> = all.names().chain(["task"]).collect();
        stderr.warn(format_args!("unknown tool \"{name}\"; known: {}", known.join(", ")));
    }
    selection.tools
}

/// Returns the settings of subagents. A background thread removes the leftovers of killed programs.
pub(super) fn policies(plan: &Plan) -> Policies {
    let policy = plan.surroundings.subagents(&plan.settings, plan.trust == Trust::Granted);
    let worktrees = policy.worktrees.clone();
    if worktrees.is_dir() {
        std::thread::spawn(move || subagents::sweep(&worktrees));
    }
    Policies::new(policy)
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

/// Returns the storage for settings of a client; by default they are not stored.
pub(super) fn persist(plan: &Plan, stderr: &Stderr) -> Arc<dyn Persist> {
    let file = plan.agent_dir().filter(|_| plan.settings.persist_defaults);
    let file = file.map(|directory| directory.join(plan.surroundings.files.settings));
    if let Some(file) = file.as_ref().filter(|file| is_yaml(file)) {
        // A rewrite would lose the comments in the file.
        stderr.warn(format_args!(
            "rpc.persistDefaults has no effect: {} is a YAML file, which is never written",
            file.display()
        ));
        return Arc::new(NotPersisted);
    }
    match file.map(SettingsFile::new) {
        Some(Ok(file)) => Arc::new(file),
        Some(Err(error)) => {
            stderr.warn(format_args!("settings that a client changes will not be saved: {error}"));
            Arc::new(NotPersisted)
        }
        None => Arc::new(NotPersisted),
    }
}
