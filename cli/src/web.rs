//! `agentese web`: a page for an agent of any dialect, served on this machine only. `agentese inspect`: the
//! same page for a recorded session.
//!
//! | file | concept |
//! |---|---|
//! | `server`, `assets` | HTTP and WebSocket; the files of the page |
//! | `hub`, `tabs`, `message_log`, `questions`, `splice` | one agent and several tabs, without I/O |
//! | `command_permissions` | permitted commands |
//! | `agent_process` | the child process |
//! | `session_list`, `transcript_file` | the sessions that can be opened; a file with a recorded session |

mod agent_process;
mod assets;
mod command_permissions;
mod hub;
mod message_log;
mod questions;
mod server;
mod session_list;
mod splice;
mod tabs;
mod transcript_file;

use std::process::ExitCode;

use agentese_process::http::LocalServer;
use agentese_process::output;
use agentese_process::stderr::Stderr;
use tokio_util::sync::CancellationToken;

use crate::agent_command::AgentCommand;
use crate::command_line::{Inspect, Web};
use crate::error::CliError;
use agent_process::SharedHub;
use command_permissions::AccessPolicy;
use hub::{AgentInfo, Hub};
use server::PageSource;

/// Serves the page until a signal. Fails if the dialect is unknown or the port is in use.
pub(super) fn run(options: Web, stderr: &Stderr) -> Result<ExitCode, CliError> {
    let unknown = |error: agentese::Error| CliError::Usage(error.to_string());
    let agent = AgentCommand::new(&options.dialect, options.command).map_err(|source| CliError::Io {
        context: "cannot find the path of this program".to_owned(),
        source,
    })?;
    let (spec, revision) = agentese::dynamic::client(&agent.dialect).map_err(unknown)?;
    // This program speaks the first revision by default. The revision of another agent is unknown.
    let own_revision = agentese::dynamic::spec(&agent.dialect).map_err(unknown)?;
    let revision = revision.or(agent.is_own.then_some(own_revision)).map(|spec| spec.revision);
    let policy = AccessPolicy { read_only: options.read_only, deny: options.deny };
    for name in policy.unknown_commands(spec) {
        let reason = format!("--deny {name}: the {} dialect has no such command", spec.name);
        // A third-party agent may have additional commands.
        if agent.is_own {
            return Err(CliError::Usage(reason));
        }
        stderr.warn(reason);
    }
    let cwd = std::env::current_dir().map(|path| path.display().to_string()).unwrap_or_default();
    let shown = agent
        .words
        .iter()
        .map(|word| agentese::redact::redact_text(&word.to_string_lossy()).into_owned())
        .collect();
    let hub = Hub::new(
        spec,
        policy,
        AgentInfo { command: shown, cwd, revision, is_bridged: agent.is_bridged, ended: None },
    );
    let shared = SharedHub::new(hub);
    let shutdown = CancellationToken::new();
    runtime()?.block_on(async {
        let running = tokio::spawn(agent_process::run(agent.words, shared.clone(), shutdown.clone()));
        let served = serve(options.port, !options.no_open, PageSource::Live(shared), "", stderr).await;
        shutdown.cancel();
        let _ = running.await;
        served
    })
}

/// Serves the page for a recorded session. Fails if the file is unreadable.
pub(super) fn inspect(options: &Inspect, stderr: &Stderr) -> Result<ExitCode, CliError> {
    let (spec, _) =
        agentese::dynamic::client(&options.dialect).map_err(|error| CliError::Usage(error.to_string()))?;
    let text = transcript_file::read(&options.file)
        .map_err(|source| CliError::Io { context: options.file.display().to_string(), source })?;
    transcript_file::check_header(&text)
        .map_err(|reason| CliError::Session(format!("{}: {reason}", options.file.display())))?;
    let name = options.file.file_name().unwrap_or_default().to_string_lossy();
    let name = name.chars().map(|it| if it.is_ascii_graphic() { it } else { '_' }).collect();
    let source = PageSource::Recorded { name, text: text.into(), dialect: spec.name };
    runtime()?.block_on(serve(options.port, !options.no_open, source, "#inspect", stderr))
}

fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|source| CliError::Io { context: "cannot start the runtime".to_owned(), source })
}

/// Serves the page until a signal. `fragment` is the part of the address after `#`.
async fn serve(
    port: u16,
    opens: bool,
    source: PageSource,
    fragment: &str,
    stderr: &Stderr,
) -> Result<ExitCode, CliError> {
    let server = LocalServer::bind(port).await?;
    let address = format!("{}{fragment}", server.address());
    let state = server::AppState { token: server.token.clone(), port: server.port, source };
    output::print(&format!("{address}\n"))?;
    if opens && let Err(error) = open::that_detached(&address) {
        stderr.warn(format_args!("cannot open a browser: {error}; open the printed address"));
    }
    Ok(server.serve(move |request| server::handle(state.clone(), request)).await)
}
