//! `agentese --mode rpc`: this process as an agent.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use agentese::serve::{Options, ServeEnd};
use agentese::types::ModelScript;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use super::arguments::Run;
use super::environment::variable;
use super::plan::{Plan, SessionChoice};
use super::stderr::Stderr;
use super::stdout::Watch;
use super::{Failure, script_check, trust};
use agentese_server::config::yaml::is_yaml;
use agentese_server::config::{Home, NotPersisted, Persist, Settings, SettingsFile, Trust};
use agentese_server::desk::Parts;
use agentese_server::extensions::{self, Limits, NodeHost};
use agentese_server::mcp;
use agentese_server::providers::scripted::{self, Scripted};
use agentese_server::providers::{
    self, Budgets, Catalog, HttpClient, SecretString, Sources, key_variables, load,
};
use agentese_server::server::{Builder, Server};
use agentese_server::session::{Session, Start, Store};
use agentese_server::subagents::{self, Policies, select_tools};
use agentese_server::tools::{LocalSpawner, ShellSettings, ToolSet};
use agentese_server::world::{RandomIds, SystemClock};

/// The pause before each piece of the built-in plan: fast, and still seen as a stream.
const PACE: Duration = Duration::from_millis(2);

/// How long an orderly shutdown may take. A client that does not read can hold it up for ever.
const SHUTDOWN: Duration = Duration::from_secs(8);

/// Sends logs and panics to stderr, in a way that holds nobody up.
pub(super) fn log_to(stderr: &Stderr, verbose: bool) {
    stderr.take_panics();
    // The MCP SDK tells of messages, which may hold what nobody is to see; what people need to know is told by us.
    let default = if verbose { "info,rmcp=off" } else { "warn,rmcp=off" };
    let asked = std::env::var("AGENTESE_LOG").unwrap_or_default();
    let filter =
        EnvFilter::try_new(if asked.is_empty() { default } else { &asked }).unwrap_or_else(|error| {
            stderr.warn(format_args!("AGENTESE_LOG is not a valid log filter ({error}); using `{default}`"));
            EnvFilter::new(default)
        });
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr.clone())
        .with_ansi(false)
        .try_init();
}

/// Serves stdin and stdout. Fails, before anything is read, for what the plan cannot have.
pub(super) fn run(mut plan: Plan, stderr: &Stderr) -> Result<ExitCode, Failure> {
    let max_line = plan.max_line;
    let api_key = plan.model.api_key.clone();
    let cwd = plan.cwd().to_owned();
    let persist = persist(&plan, stderr);
    let catalog = catalog(&plan, stderr)?;
    let elsewhere = plan.again.take().map(|run| Elsewhere {
        run: *run,
        flags: plan.flags.clone(),
        catalog: catalog.clone(),
        persist: persist.clone(),
        stderr: stderr.clone(),
    });
    let mut builder = builder(plan, catalog, stderr)?.persist(persist.clone());
    if let Some(elsewhere) = elsewhere {
        builder = builder.elsewhere(Arc::new(elsewhere));
    }
    let server = builder.try_build()?;
    if let Some(key) = api_key {
        server.give_key(SecretString::from(key.reveal()));
    }
    if let Some(reason) = server.no_model() {
        stderr.warn(format_args!("no model is selected; prompts will be rejected: {reason}"));
    }
    // A large directory or a slow disk holds nothing up.
    drop(std::thread::Builder::new().spawn(move || agentese_server::replace::tell_of_copies(&cwd, None)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Failure::Io { context: "the runtime".to_owned(), source })?;
    let mut options = Options::default();
    options.max_line = max_line;
    // More would wait in memory and come no sooner: a pipe holds a megabyte at most.
    options.outbox_bytes = 4 << 20;
    let code = runtime.block_on(serve(server, options, stderr));
    // A thread that waits for a terminal or a stuck file system must not hold up the end.
    runtime.shutdown_background();
    persist.finish();
    code
}

/// The parts of the server that a plan asks for.
fn builder(plan: Plan, catalog: Catalog, stderr: &Stderr) -> Result<Builder, Failure> {
    let (store, session) = session(&plan, stderr)?;
    let found = discover(&plan.extensions, stderr);
    let policies = policies(&plan);
    let undecided = trust::undecided(&plan, &found, &policies, stderr);
    let more_may_come =
        undecided.is_some() && plan.left_out.contains(&plan.surroundings.project_extensions());
    if found.is_empty() {
        let said = extensions::complaints(&plan.flags, more_may_come);
        said.iter().filter(|said| !plan.warnings.contains(said)).for_each(|said| stderr.warn(said));
    }
    let extensions = extensions::Options { more_may_come, ..extensions(&plan, found) };
    let mcp = servers(&plan);
    let others = !mcp.definitions.is_empty() || undecided.is_some();
    let Plan { surroundings, settings, model, trust, .. } = plan;
    let agent_dir = surroundings.agent_dir;
    tracing::debug!(?agent_dir, ?trust, "start");
    let mut builder: Builder = Server::builder()
        .catalog(catalog)
        .models(model.scope)
        .system_prompt(plan.system_prompt)
        .resources(plan.resources)
        .extensions(extensions)
        .mcp(mcp)
        .spawner(Arc::new(LocalSpawner::guarded_by_this_binary()))
        .shell(shell(agent_dir.as_deref(), &settings))
        .settings(settings)
        .dialect(plan.dialect)
        .updates(plan.updates)
        .cwd(surroundings.cwd);
    if let Some(names) = plan.tools {
        builder = builder.tools(tools(names, others, &policies, stderr));
    }
    builder = builder.subagents(policies);
    if let Some(undecided) = undecided {
        builder = builder.undecided(undecided);
    }
    if let Some(store) = store {
        builder = builder.store(store);
    }
    if let Some(session) = session {
        builder = builder.session(session);
    }
    if let Some(name) = plan.session_name {
        builder = builder.session_name(name);
    }
    if let Some(provider) = model.provider {
        builder = builder.provider(provider);
    }
    if let Some(model) = model.model {
        builder = builder.model(model);
    }
    if let Some(level) = model.thinking {
        builder = builder.thinking(level);
    }
    Ok(builder)
}

/// Makes agents for sessions in other directories, by the same options.
struct Elsewhere {
    run: Run,
    flags: Vec<extensions::GivenFlag>,
    /// Models and keys are those of the process.
    catalog: Catalog,
    persist: Arc<dyn Persist>,
    stderr: Stderr,
}

impl agentese_server::desk::Elsewhere for Elsewhere {
    fn parts(&self, cwd: &Path) -> Result<Parts, String> {
        let plan =
            Plan::read(self.run.clone(), &variable, cwd.to_owned()).map_err(|error| error.to_string())?;
        let plan = Plan { flags: self.flags.clone(), ..plan };
        plan.warnings.iter().for_each(|warning| self.stderr.warn(warning));
        let builder = builder(plan, self.catalog.clone(), &self.stderr).map_err(|error| error.to_string())?;
        builder.persist(self.persist.clone()).all_parts().map_err(|error| error.to_string())
    }
}

/// The extensions that are there.
fn extensions(plan: &Plan, found: Vec<extensions::Found>) -> extensions::Options {
    extensions::Options {
        found,
        limits: Limits::of(&plan.settings.other, &|name: &str| std::env::var_os(name)),
        node_host: NodeHost::of(&|name: &str| std::env::var_os(name)),
        agent_dir: plan.surroundings.agent_dir.clone(),
        flags: plan.flags.clone(),
        ..extensions::Options::default()
    }
}

/// The MCP servers that there are.
fn servers(plan: &Plan) -> mcp::Options {
    mcp::Options {
        definitions: plan.servers.clone(),
        limits: mcp::Limits::of(&plan.settings.other),
        chosen: plan.tools.clone(),
        hidden: key_variables().map(Into::into).collect(),
        http: Arc::new(HttpClient::new(&providers::Settings::default(), &variable)),
        ..mcp::Options::default()
    }
}

/// The extensions that there are, with those that never start. Those are told of.
pub(super) fn discover(wanted: &extensions::Wanted, stderr: &Stderr) -> Vec<extensions::Found> {
    let (mut found, unusable) = extensions::discover(wanted);
    for unusable in unusable {
        stderr.warn(format_args!("extension {} is not loaded: {}", unusable.path.display(), unusable.reason));
        found.extend(unusable.is_one.then(|| unusable.into()));
    }
    found
}

/// The models that there are. The embedded one is among them only where it was asked for by name.
pub(super) fn catalog(plan: &Plan, stderr: &Stderr) -> Result<Catalog, Failure> {
    let environment = Arc::new(variable);
    let mut sources = Sources::new(plan.surroundings.agent_dir.clone(), environment);
    sources.models = plan.surroundings.files.models;
    sources.login = plan.surroundings.files.login;
    sources.settings.budgets = budgets(&plan.settings);
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
    for complaint in complaints {
        stderr.warn(complaint);
    }
    Ok(catalog)
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

/// Where sessions are kept, and the one to go on with.
fn session(plan: &Plan, stderr: &Stderr) -> Result<(Option<Store>, Option<Session>), Failure> {
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

/// The sessions of a working directory, as that home keeps them; none without a place for them.
pub(super) fn store(
    files: &Home,
    session_dir: Option<&Path>,
    agent_dir: Option<&Path>,
    home: Option<&Path>,
    cwd: &Path,
) -> Option<Store> {
    match (session_dir, agent_dir) {
        (Some(directory), _) => Some(Store::at(directory, cwd)),
        (None, Some(agent_dir)) if files.short_names => {
            Some(Store::short(agent_dir, cwd, home, &std::env::temp_dir()))
        }
        (None, Some(agent_dir)) => Some(Store::new(agent_dir, cwd)),
        (None, None) => None,
    }
}

/// The embedded model, with a script where one is given.
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

/// The built-in tools of those names. `others` says that there may be tools besides: who brings them tells of names that
/// nobody has.
fn tools(names: Vec<String>, others: bool, policies: &Policies, stderr: &Stderr) -> ToolSet {
    let selection = select_tools(names, policies);
    for name in selection.unknown.into_iter().filter(|_| !others) {
        let all = ToolSet::available();
        let known: Vec<_> = all.names().chain(["task"]).collect();
        stderr.warn(format_args!("unknown tool \"{name}\"; known: {}", known.join(", ")));
    }
    selection.tools
}

/// What counts for subagents. What programs that were killed left of them is put away meanwhile.
fn policies(plan: &Plan) -> Policies {
    let policy = plan.surroundings.subagents(&plan.settings, plan.trust == Trust::Granted);
    let worktrees = policy.worktrees.clone();
    if worktrees.is_dir() {
        std::thread::spawn(move || subagents::sweep(&worktrees));
    }
    Policies::new(policy)
}

/// How commands are run.
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

/// Where what a client sets is kept: nowhere, unless the settings ask for it.
fn persist(plan: &Plan, stderr: &Stderr) -> Arc<dyn Persist> {
    let file = plan.agent_dir().filter(|_| plan.settings.persist_defaults);
    let file = file.map(|directory| directory.join(plan.surroundings.files.settings));
    if let Some(file) = file.as_ref().filter(|file| is_yaml(file)) {
        // Writing it anew would lose the comments that people keep there.
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

/// Serves stdin and stdout until the client leaves, a signal comes, or the options' token is cancelled.
pub(super) async fn serve(server: Server, options: Options, stderr: &Stderr) -> Result<ExitCode, Failure> {
    let failed = |context: &str| {
        let context = context.to_owned();
        |source| Failure::Io { context, source }
    };
    let stop = options.stop.clone();
    let mut watch = Watch::new();
    let signals = end_on_signals(stop.clone()).map_err(failed("signals"))?;
    let transport = agentese::transport::guard_stdio().map_err(failed("stdio"))?;
    let overdue = async {
        stop.cancelled().await;
        tokio::time::sleep(SHUTDOWN).await;
    };
    let unread = async {
        watch.broken().await;
        stop.cancel();
        std::future::pending::<()>().await
    };
    let code = tokio::select! {
        served = server.serve_to_the_end(transport, options) => {
            tracing::debug!(?served, "serving ended");
            if let Some(reason) = &served.unsaved {
                stderr.say(format_args!("Error: part of the conversation could not be saved: {reason}"));
            }
            if served.ended == ServeEnd::FailedOutput {
                stderr.say("Error: stdout cannot be written; frames are lost");
            }
            match served.unsaved.is_none() && served.ended != ServeEnd::FailedOutput {
                true => ExitCode::SUCCESS,
                false => ExitCode::FAILURE,
            }
        }
        () = overdue => {
            tracing::error!("the shutdown took too long and was cut short");
            ExitCode::FAILURE
        }
        () = unread => ExitCode::SUCCESS,
    };
    signals.abort();
    Ok(code)
}

/// The first signal asks for an orderly end, the second one is the end.
pub(super) fn end_on_signals(stop: CancellationToken) -> std::io::Result<tokio::task::JoinHandle<()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    Ok(tokio::spawn(async move {
        loop {
            let number = tokio::select! {
                _ = terminate.recv() => SignalKind::terminate(),
                _ = interrupt.recv() => SignalKind::interrupt(),
                _ = hang_up.recv() => SignalKind::hangup(),
            };
            if stop.is_cancelled() {
                std::process::exit(128 + number.as_raw_value());
            }
            stop.cancel();
        }
    }))
}
