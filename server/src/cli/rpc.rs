//! `agentese --mode rpc`: this process as an agent.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use agentese::serve::Options;
use agentese::types::ModelScript;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use super::Failure;
use super::arguments::Run;
use super::script_check;
use super::stdout::Watch;
use crate::config::agent_dir;
use crate::providers::scripted::Scripted;
use crate::server::{Builder, Server};
use crate::tools::{LocalSpawner, ShellSettings, ToolSet};

/// The pause before each piece of the built-in plan: fast, and still seen as a stream.
const PACE: Duration = Duration::from_millis(2);

/// How long an orderly shutdown may take. A client that does not read can hold it up for ever.
const SHUTDOWN: Duration = Duration::from_secs(8);

/// Serves stdin and stdout. Fails, before anything is read, for what the options ask and this
/// version has not.
pub(super) fn run(run: Run) -> Result<ExitCode, Failure> {
    let _ = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_from_env("AGENTESE_LOG").unwrap_or_else(|_| EnvFilter::new("warn")))
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .try_init();
    check(&run)?;
    let max_line = run.max_line;
    let server = server(run)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Failure::Io { context: "the runtime".to_owned(), source })?;
    let code = runtime.block_on(serve(server, max_line));
    // A thread that waits for a terminal or a stuck file system must not hold up the end.
    runtime.shutdown_background();
    code
}

/// What can be refused without reading anything.
fn check(run: &Run) -> Result<(), Failure> {
    let refuse = |text: String| Err(Failure::Usage(text));
    match run.mode.as_deref() {
        Some("rpc") => {}
        None => return refuse("say --mode rpc; see agentese --help".to_owned()),
        Some(mode) => {
            return refuse(format!("--mode {mode} is not available in this version; --mode rpc is"));
        }
    }
    if run.messages.iter().any(|message| message.starts_with('@')) {
        // The text is pi's.
        return refuse("@file arguments are not supported in RPC mode".to_owned());
    }
    if agentese::schema::schema(&run.dialect, agentese::schema::Side::Server).is_none() {
        let known = agentese::schema::dialects().join(", ");
        return refuse(format!("\"{}\" is no dialect; there is {known}", run.dialect));
    }
    if run.dialect.split('@').next() != Some(agentese::pi::SPEC.name) {
        return refuse(format!(
            "the dialect {} is declared, but this server does not speak it yet; it speaks {}",
            run.dialect,
            agentese::pi::SPEC.id()
        ));
    }
    match run.refused.reason(run.no_session) {
        Some(reason) => refuse(reason),
        None => Ok(()),
    }
}

fn server(run: Run) -> Result<Server, Failure> {
    if !run.messages.is_empty() {
        eprintln!("Warning: messages on the command line are ignored in RPC mode");
    }
    let scripted = match &run.script {
        None => Scripted::built_in().paced(PACE),
        Some(path) => {
            let context = || path.display().to_string();
            let text =
                std::fs::read_to_string(path).map_err(|source| Failure::Io { context: context(), source })?;
            let script = agentese::wire::decode::<ModelScript>(&text)
                .map_err(|error| Failure::Script { path: context(), reason: error.to_string() })?;
            if let Some(member) = script_check::undeclared(&script) {
                let reason = format!("{member} is no member of the format");
                return Err(Failure::Script { path: context(), reason });
            }
            Scripted::script(script)
        }
    };
    let prompts = [run.system_prompt, run.append_system_prompt];
    let prompt: Vec<_> = prompts.into_iter().flatten().filter(|text| !text.is_empty()).collect();
    let mut builder: Builder = Server::builder()
        .with_provider(Arc::new(scripted))
        .models(run.models)
        .system_prompt(prompt.join("\n\n"))
        .tools(tools(run.tools, run.no_tools))
        .spawner(Arc::new(LocalSpawner::guarded_by_this_binary()))
        .shell(shell());
    if let Some(provider) = run.provider {
        builder = builder.provider(provider);
    }
    if let Some(model) = run.model {
        builder = builder.model(model);
    }
    if let Some(level) = run.thinking {
        builder = builder.thinking(level);
    }
    let server = builder.build();
    if let Some(reason) = server.no_model() {
        eprintln!("Warning: no model is selected, prompts will be refused: {reason}");
    }
    Ok(server)
}

fn tools(names: Option<Vec<String>>, none: bool) -> ToolSet {
    let Some(names) = names else {
        return if none { ToolSet::none() } else { ToolSet::builtin() };
    };
    let selection = ToolSet::select(names);
    for name in selection.unknown {
        let known: Vec<_> = ToolSet::available().names().map(str::to_owned).collect();
        eprintln!("Warning: there is no tool \"{name}\"; there is {}", known.join(", "));
    }
    selection.tools
}

fn shell() -> ShellSettings {
    let agent_dir = agent_dir(&|name: &str| std::env::var_os(name));
    let programs = agent_dir.map(|directory| directory.join("bin")).filter(|directory| directory.is_dir());
    ShellSettings { path_prefix: programs, ..ShellSettings::default() }
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
