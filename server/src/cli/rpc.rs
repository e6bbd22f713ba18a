//! `agentese --mode rpc`: this process as an agent.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use agentese::serve::Options;
use agentese::types::ModelScript;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use super::plan::{ModelChoice, Plan};
use super::stderr::Stderr;
use super::stdout::Watch;
use super::{Failure, script_check};
use crate::config::{NotPersisted, Persist, Settings, SettingsFile};
use crate::providers::scripted::Scripted;
use crate::server::{Builder, Server};
use crate::tools::{LocalSpawner, ShellSettings, ToolSet};

/// The pause before each piece of the built-in plan: fast, and still seen as a stream.
const PACE: Duration = Duration::from_millis(2);

/// How long an orderly shutdown may take. A client that does not read can hold it up for ever.
const SHUTDOWN: Duration = Duration::from_secs(8);

/// Sends logs and panics to stderr, in a way that holds nobody up.
pub(super) fn log_to(stderr: &Stderr, verbose: bool) {
    stderr.take_panics();
    let default = if verbose { "info" } else { "warn" };
    let asked = std::env::var("AGENTESE_LOG").unwrap_or_default();
    let filter =
        EnvFilter::try_new(if asked.is_empty() { default } else { &asked }).unwrap_or_else(|error| {
            stderr.warn(format_args!("AGENTESE_LOG says nothing that can be understood: {error}"));
            EnvFilter::new(default)
        });
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr.clone())
        .with_ansi(false)
        .try_init();
}

/// Serves stdin and stdout. Fails, before anything is read, for what the plan cannot have.
pub(super) fn run(plan: Plan, stderr: &Stderr) -> Result<ExitCode, Failure> {
    let max_line = plan.max_line;
    let persist = persist(&plan, stderr);
    let named = named(&plan);
    let server = builder(plan, stderr)?.persist(persist.clone()).build();
    match (server.no_model(), named) {
        (None, _) => {}
        (Some(_), Some(name)) => return Err(Failure::NoSuchModel(name)),
        (Some(reason), None) => {
            stderr.warn(format_args!("no model is selected, prompts will be refused: {reason}"));
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Failure::Io { context: "the runtime".to_owned(), source })?;
    let code = runtime.block_on(serve(server, max_line));
    // A thread that waits for a terminal or a stuck file system must not hold up the end.
    runtime.shutdown_background();
    persist.finish();
    code
}

/// The model that the command line names, as the user wrote it.
fn named(plan: &Plan) -> Option<String> {
    let ModelChoice { provider, model, .. } = &plan.model;
    match (provider, model) {
        (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
        (provider, model) => model.as_ref().or(provider.as_ref()).cloned(),
    }
}

/// The parts of the server that a plan asks for.
pub(super) fn builder(plan: Plan, stderr: &Stderr) -> Result<Builder, Failure> {
    let Plan { cwd, agent_dir, settings, model, surroundings, trusted, .. } = plan;
    tracing::debug!(?agent_dir, trusted, ?surroundings, "start");
    let mut builder: Builder = Server::builder()
        .with_provider(Arc::new(scripted(model.script.as_deref())?))
        .models(model.scope)
        .embedded_by_default(model.embedded_by_default)
        .system_prompt(plan.system_prompt)
        .tools(tools(plan.tools, stderr))
        .spawner(Arc::new(LocalSpawner::guarded_by_this_binary()))
        .shell(shell(agent_dir.as_deref(), &settings))
        .settings(settings)
        .cwd(cwd);
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

/// The embedded model, with a script where one is given.
fn scripted(script: Option<&Path>) -> Result<Scripted, Failure> {
    let Some(path) = script else { return Ok(Scripted::built_in().paced(PACE)) };
    let context = || path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|source| Failure::Io { context: context(), source })?;
    let script = agentese::wire::decode::<ModelScript>(&text)
        .map_err(|error| Failure::Script { path: context(), reason: error.to_string() })?;
    if let Some(member) = script_check::undeclared(&script) {
        let reason = format!("{member} is no member of the format");
        return Err(Failure::Script { path: context(), reason });
    }
    Ok(Scripted::script(script))
}

fn tools(names: Option<Vec<String>>, stderr: &Stderr) -> ToolSet {
    let Some(names) = names else { return ToolSet::builtin() };
    let selection = ToolSet::select(names);
    for name in selection.unknown {
        let known: Vec<_> = ToolSet::builtin().names().map(str::to_owned).collect();
        stderr.warn(format_args!("there is no tool \"{name}\"; there is {}", known.join(", ")));
    }
    selection.tools
}

fn shell(agent_dir: Option<&Path>, settings: &Settings) -> ShellSettings {
    let programs = agent_dir.map(|directory| directory.join("bin")).filter(|directory| directory.is_dir());
    ShellSettings {
        program: settings.shell_path.clone(),
        prefix: settings.shell_command_prefix.clone(),
        path_prefix: programs,
        ..ShellSettings::default()
    }
}

/// Where what a client sets is kept: nowhere, unless the settings ask for it.
fn persist(plan: &Plan, stderr: &Stderr) -> Arc<dyn Persist> {
    let agent_dir = plan.agent_dir.as_ref().filter(|_| plan.settings.persist_defaults);
    match agent_dir.map(|directory| SettingsFile::new(directory.join("settings.json"))) {
        Some(Ok(file)) => Arc::new(file),
        Some(Err(error)) => {
            stderr.warn(format_args!("what a client sets will not be kept: {error}"));
            Arc::new(NotPersisted)
        }
        None => Arc::new(NotPersisted),
    }
}

async fn serve(server: Server, max_line: usize) -> Result<ExitCode, Failure> {
    let failed = |context: &str| {
        let context = context.to_owned();
        |source| Failure::Io { context, source }
    };
    let stop = CancellationToken::new();
    let mut watch = Watch::new();
    let signals = end_on_signals(stop.clone()).map_err(failed("signals"))?;
    let transport = agentese::transport::guard_stdio().map_err(failed("stdio"))?;
    let mut options = Options::default();
    options.max_line = max_line;
    options.stop = stop.clone();
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
        ended = server.serve_with(transport, options) => {
            tracing::debug!(?ended, "serving ended");
            ExitCode::SUCCESS
        }
        () = overdue => {
            tracing::error!("the shutdown takes too long and is cut short");
            ExitCode::FAILURE
        }
        () = unread => ExitCode::SUCCESS,
    };
    signals.abort();
    Ok(code)
}

/// The first signal asks for an orderly end, the second one is the end.
fn end_on_signals(stop: CancellationToken) -> std::io::Result<tokio::task::JoinHandle<()>> {
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
