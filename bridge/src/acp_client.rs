//! Bridge from a client of a dialect to an ACP agent, with the bridge as the ACP client of the agent.
//!
//! | file | concept |
//! |---|---|
//! | `connection` | the connection: requests in both directions |
//! | `remote_agent` | user input and commands on their way to the agent |
//! | `event_loop` | messages and requests of the agent on their way to the engine |
//! | `questions` | permissions as questions to the user |
//! | `forms` | forms as questions, one member after the other |
//! | `permission_text` | the text of a permission question, without I/O |
//! | `shown_diff`, `shown_text` | changes and texts of the agent for the user, without I/O |
//! | `call_details` | the data of a tool call, without I/O |
//! | `call_extensions` | the agents' own members of a tool call, without I/O |
//! | `call_output` | the output of a tool call, without I/O |
//! | `state` | state of both directions |
//! | `translator` | conversion of updates to remote events, without I/O |
//! | `history` | the history of a loaded session, without I/O |
//! | `choices` | the agent's models and thinking levels |

mod call_details;
mod call_extensions;
mod call_output;
mod choices;
mod forms;
mod history;
mod permission_text;
mod questions;
mod shown_diff;
mod shown_text;

use std::process::ExitCode;
use std::sync::Arc;

use agentese::acp::{
    AcpClientCapabilities, AcpClientSession, AcpElicitation, AcpImplementation, AcpInitializeParams,
    AcpInitializeResult, AcpNewSession, AcpNewSessionParams, Command, Reply,
};
use agentese::serve::Options;
use agentese::transport::{Transport, memory_pair};
use agentese_server_dialects::conversation::RemoteSessionError;
use agentese_server_dialects::dialects::{ACP, DIALECTS, DialectEntry};
use agentese_server_dialects::server::Server;
use serde_json::Map;

use super::client_ui::ClientUi;
use super::fidelity_report::{FidelityReport, FrameCounts};
use super::launch::{MAX_COMMANDS, child, current_dir};
use crate::error::BridgeError;
use crate::options::BridgeOptions;
use agentese_process::stderr::Stderr;
use agentese_process::stdio;
use connection::AcpConnection;
pub(super) use remote_agent::AcpRemoteAgent;

/// The buffer of a connection in this process, in bytes for each direction.
const MEMORY_BUFFER: usize = 64 * 1024;

/// Serves a client in a dialect until the client disconnects. Fails if the agent cannot be started or opens
/// no session. Returns exit code 1 if the agent disconnects before the client.
pub(super) async fn serve(
    frontend: &'static DialectEntry,
    options: &BridgeOptions,
    stderr: &Stderr,
) -> Result<ExitCode, BridgeError> {
    let unusable = |trouble: String| BridgeError::Usage(format!("cannot use the agent: {trouble}"));
    let counts = Arc::<FrameCounts>::default();
    let agent = start(options, stderr, counts.clone()).await.map_err(unusable)?;
    let fidelity = FidelityReport::new(frontend.spec(), ACP.spec(), counts);
    let fidelity = Arc::new(fidelity.map_err(|error| unusable(error.to_string()))?);
    let (server, mut serving) = server(frontend, &agent);
    serving.gate = Some(fidelity.gate());
    let served = stdio::serve(server, serving, stderr).await;
    let disconnect_reason = agent.disconnect_reason();
    agent.close().await;
    options.report.as_deref().map_or(Ok(()), |path| fidelity.write_report(path))?;
    match disconnect_reason {
        Some(reason) => {
            stderr.write_line(format_args!("Error: the agent disconnected: {reason}"));
            Ok(ExitCode::FAILURE)
        }
        None => Ok(served?),
    }
}

/// Starts an agent behind a server of the default dialect in this process. Returns the client's end of the connection
/// with that server, and the agent. Fails if the agent cannot be started or opens no session.
pub(super) async fn serve_in_memory(
    options: &BridgeOptions,
    stderr: &Stderr,
    counts: Arc<FrameCounts>,
) -> Result<(Transport, Arc<AcpRemoteAgent>), RemoteSessionError> {
    let frontend = default_dialect();
    let agent = start(options, stderr, counts).await?;
    let (server, serving) = server(frontend, &agent);
    let (near, far) = memory_pair(MEMORY_BUFFER);
    let ended = agent.clone();
    tokio::spawn(async move {
        server.serve_with(far, serving).await;
        ended.close().await;
    });
    Ok((near, agent))
}

/// Returns the newest revision of the default dialect, which loses the least between an ACP agent and a client in this
/// process.
pub(super) fn default_dialect() -> &'static DialectEntry {
    let name = DIALECTS[0].spec().name;
    DIALECTS.iter().rfind(|entry| entry.spec().name == name).unwrap_or(&DIALECTS[0])
}

/// Starts an agent and opens a session. Fails with an error message for the user.
async fn start(
    options: &BridgeOptions,
    stderr: &Stderr,
    counts: Arc<FrameCounts>,
) -> Result<Arc<AcpRemoteAgent>, RemoteSessionError> {
    let child = child(options, stderr).map_err(|error| error.to_string())?;
    let transport = Transport::from_child(child).map_err(|error| error.to_string())?;
    let (connection, events) = AcpConnection::from_transport(transport, counts);
    match connect(&connection).await {
        Ok(opened) => Ok(AcpRemoteAgent::new(connection, events, opened, ClientUi::new())),
        Err(trouble) => {
            connection.close().await;
            Err(trouble)
        }
    }
}

/// Returns the server of a dialect for an agent, and its options: it ends when the agent disconnects.
fn server(frontend: &'static DialectEntry, agent: &Arc<AcpRemoteAgent>) -> (Server, Options) {
    let mut serving = Options::default();
    serving.commands = MAX_COMMANDS;
    serving.finish = agent.disconnected();
    let server = agent.initial_state().server(frontend, agent.clone(), agent.persist(), &current_dir(), None);
    (server.build(), serving)
}

/// Initializes the connection and opens a session. Fails with an error message for the user if the agent speaks another
/// version of ACP or rejects one of the requests.
async fn connect(
    connection: &AcpConnection,
) -> Result<(AcpInitializeResult, AcpNewSession), RemoteSessionError> {
    let initialized = initialize(connection).await?;
    let (its, ours) = (initialized.protocol_version, version());
    if its != ours {
        return Err(format!("unsupported ACP version {its}; supported: {ours}"));
    }
    let opened = new_session(connection).await?;
    Ok((initialized, opened))
}

/// Returns the ACP version that this program supports, as a number for the handshake.
fn version() -> u64 {
    ACP.spec().revision.parse().unwrap_or_default()
}

async fn initialize(connection: &AcpConnection) -> Result<AcpInitializeResult, RemoteSessionError> {
    let mut session = AcpClientSession::new();
    (session.notices, session.compaction) = (Some(Map::new()).into(), Some(Map::new()).into());
    let mut can = AcpClientCapabilities::new();
    can.session = Some(session).into();
    let mut forms = AcpElicitation::new();
    forms.form = Some(Map::new()).into();
    can.elicitation = Some(forms).into();
    let mut params = AcpInitializeParams::new(version());
    params.client_capabilities = Some(can).into();
    params.client_info = Some(AcpImplementation::new("agentese", env!("CARGO_PKG_VERSION"))).into();
    match connection.call(Command::Initialize(params)).await? {
        Reply::Initialize(initialized) => Ok(initialized),
        _ => Err("unexpected response type".to_owned()),
    }
}

/// Opens a session in the directory of this process.
async fn new_session(connection: &AcpConnection) -> Result<AcpNewSession, RemoteSessionError> {
    let params = AcpNewSessionParams::new(current_dir().to_string_lossy(), Vec::new());
    match connection.call(Command::NewSession(params)).await? {
        Reply::NewSession(opened) => Ok(opened),
        _ => Err("unexpected response type".to_owned()),
    }
}

mod connection;
mod event_loop;
mod remote_agent;
mod state;
#[cfg(test)]
mod tests;
mod translator;
