//! An ACP agent behind a front of a dialect: this side is its client.
//!
//! | file | concept |
//! |---|---|
//! | `peer` | the connection: requests in both directions |
//! | `agent` | user input and commands on their way to the agent |
//! | `pump` | messages and requests of the agent on their way to the engine |
//! | `questions` | permissions and forms as questions to the user |
//! | `shared` | state of both directions |
//! | `turns` | conversion of updates to deeds, without I/O |
//! | `history` | the history of a loaded session, without I/O |
//! | `choices` | its models and thinking levels |

mod agent;
mod choices;
mod history;
mod peer;
mod pump;
mod questions;
mod shared;
mod turns;

use std::process::ExitCode;
use std::sync::Arc;

use agentese::acp::{
    AcpClientCapabilities, AcpClientSession, AcpElicitation, AcpImplementation, AcpInitializeParams,
    AcpInitialized, AcpNewSession, AcpNewSessionParams, Command, Reply,
};
use agentese::serve::Options;
use agentese::transport::Transport;
use agentese_server_dialects::desk::Trouble;
use agentese_server_dialects::fronts::{ACP, Frontend};
use serde_json::Map;

use super::launch::{COMMANDS, child, here};
use super::losses::{Heard, Losses};
use super::person::Person;
use crate::error::BridgeError;
use crate::options::BridgeOptions;
use agent::Behind;
use agentese_process::stderr::Stderr;
use agentese_process::stdio;
use peer::Peer;

/// Serves a client in a dialect until the client disconnects. Fails if the agent cannot be started or opens
/// no session. Returns exit code 1 if the agent disconnects before the client.
pub(super) async fn serve(
    frontend: &'static Frontend,
    options: &BridgeOptions,
    stderr: &Stderr,
) -> Result<ExitCode, BridgeError> {
    let unusable = |trouble: String| BridgeError::Usage(format!("the agent: {trouble}"));
    let transport =
        Transport::from_child(child(options, stderr)?).map_err(|error| unusable(error.to_string()))?;
    let counts = Arc::<Heard>::default();
    let (peer, heard) = Peer::over(transport, counts.clone());
    let opened = match begin(&peer).await {
        Ok(opened) => opened,
        Err(trouble) => {
            peer.close().await;
            return Err(unusable(trouble));
        }
    };
    let losses = Losses::new(frontend.spec(), ACP.spec(), counts);
    let losses = Arc::new(losses.map_err(|error| unusable(error.to_string()))?);
    let agent = Behind::new(peer, heard, opened, Person::new());
    let mut serving = Options::default();
    serving.commands = COMMANDS;
    serving.gate = Some(losses.gate());
    serving.finish = agent.gone_for_good();
    let server = agent.beginning().server(frontend, agent.clone(), agent.persist(), &here(), None);
    let served = stdio::serve(server.build(), serving, stderr).await;
    let gone = agent.gone();
    agent.close().await;
    options.report.as_deref().map_or(Ok(()), |path| losses.report(path))?;
    match gone {
        Some(reason) => {
            stderr.say(format_args!("Error: the agent is gone: {reason}"));
            Ok(ExitCode::FAILURE)
        }
        None => Ok(served?),
    }
}

/// Initializes the connection and opens a session. Fails with a sentence.
async fn begin(peer: &Peer) -> Result<(AcpInitialized, AcpNewSession), Trouble> {
    let initialized = introduce(peer).await?;
    let (its, ours) = (initialized.protocol_version, version());
    if its != ours {
        return Err(format!("it speaks version {its} of the protocol, not {ours}"));
    }
    let opened = open(peer).await?;
    Ok((initialized, opened))
}

/// Returns the version of the protocol, whose revisions are numbers.
fn version() -> u64 {
    ACP.spec().revision.parse().unwrap_or_default()
}

async fn introduce(peer: &Peer) -> Result<AcpInitialized, Trouble> {
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
    match peer.call(Command::Initialize(params)).await? {
        Reply::Initialize(initialized) => Ok(initialized),
        _ => Err("the answer is none to what was asked".to_owned()),
    }
}

/// Opens a session in the directory of this process.
async fn open(peer: &Peer) -> Result<AcpNewSession, Trouble> {
    let params = AcpNewSessionParams::new(here().to_string_lossy(), Vec::new());
    match peer.call(Command::NewSession(params)).await? {
        Reply::NewSession(opened) => Ok(opened),
        _ => Err("the answer is none to what was asked".to_owned()),
    }
}

#[cfg(test)]
mod tests;
