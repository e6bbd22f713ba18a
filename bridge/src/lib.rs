//! Bridge: an agent of one dialect behind a front end of another. `agentese bridge` is its command line.
//!
//! The client talks to agentese's own server of its dialect. The engine of that server has a remote agent
//! ([`agentese_server_engine::engine::RemoteAgent`]), which drives the other agent through the client for any
//! dialect ([`agentese::any`]). This crate does not depend on any particular dialect.
//!
//! | file | concept |
//! |---|---|
//! | `remote_agent`, `settings` | user input, commands and settings on their way to the agent |
//! | `event_loop` | events of the agent on their way to the engine |
//! | `control` | control messages of that event loop |
//! | `initial_state` | the initial state of the agent |
//! | `acp_client` | an ACP agent for a client of a dialect |
//! | `acp_server` | one agent for each session of an ACP client |
//! | `agui` | agents behind AG-UI components |
//! | `stored_sessions` | the stored sessions of agents |
//! | `event_queue` | remote events that wait for the engine |
//! | `translator` | conversion of neutral events to remote events, without I/O |
//! | `tool_call_buffer` | tool calls that follow their answer, without I/O |
//! | `partial_json` | the text of growing arguments, without I/O |
//! | `convert` | messages, tools and models of the engine |
//! | `session_switch` | events during a switch to another conversation, without I/O |
//! | `client_ui` | the agent's questions and notices, for the client |
//! | `fork_point` | the fork point at the agent, without I/O |
//! | `relay` | an agent of the client's own dialect and revision: its bytes, unchanged |
//! | `fidelity_report`, `explain` | carried, approximated and lost rows: declared, and counted |
//! | `launch` | the program of the agent |
//! | `options`, `error` | options, and failures that end a bridge |

mod acp_client;
mod acp_server;
mod agui;
mod client_ui;
mod control;
mod convert;
mod error;
mod event_loop;
mod event_queue;
mod explain;
#[cfg(test)]
mod fake_agent;
mod fidelity_report;
mod fork_point;
mod initial_state;
mod launch;
mod options;
mod partial_json;
mod relay;
mod remote_agent;
mod session_switch;
mod settings;
mod stored_sessions;
mod tool_call_buffer;
mod translator;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use agentese::any::Agent;
use agentese::dynamic;
use agentese::serve::Options;
use agentese::spec::Spec;
use agentese::transport::Transport;
use agentese_process::stderr::Stderr;
use agentese_process::stdio;
use agentese_server_dialects::dialects::DialectEntry;

use client_ui::ClientUi;
use fidelity_report::{FidelityReport, FrameCounts};
use initial_state::InitialState;
use launch::{MAX_COMMANDS, child, current_dir, is_acp};
use remote_agent::DialectRemoteAgent;

pub use error::BridgeError;
pub use explain::{Explanation, explain};
pub use options::{BridgeOptions, DEFAULT_RECONNECT_LIMIT};

/// The time limit for each response of an agent while its dialect is being detected.
const DETECT_LIMIT: Duration = Duration::from_secs(20);

/// A bridge whose options have been checked.
#[derive(Debug)]
pub struct Bridge {
    options: BridgeOptions,
    sides: Sides,
}

/// The protocols on both sides of a bridge.
#[derive(Debug)]
enum Sides {
    /// The client and the agent each speak a dialect.
    Dialects(&'static DialectEntry),
    /// The client speaks a dialect, and the agent speaks ACP.
    AcpAgent(&'static DialectEntry),
    /// The client speaks ACP, and the agents speak a dialect.
    AcpClient,
    /// The clients speak AG-UI, and the agents speak a dialect or ACP.
    AgUi,
}

impl Bridge {
    /// Checks the options. Fails if they contradict each other or name an unknown dialect.
    pub fn new(options: BridgeOptions) -> Result<Self, BridgeError> {
        let to = options.to.as_str();
        let (to_acp, from_acp) = (is_acp(to), options.from.as_deref().is_some_and(is_acp));
        let to_agui = agui::is_agui(to);
        if options.from.as_deref().is_some_and(agui::is_agui) {
            return Err(BridgeError::Usage("ag-ui is only supported with --to".to_owned()));
        }
        if let Some(name) = options.agui_option().filter(|_| !to_agui) {
            return Err(BridgeError::Usage(format!("{name} requires --to ag-ui")));
        }
        if to_acp && from_acp {
            return Err(BridgeError::Usage("--to acp cannot be combined with --from acp".to_owned()));
        }
        let frontend = match to_acp || to_agui {
            true => None,
            false => Some(DialectEntry::find(to).map_err(|error| BridgeError::Usage(error.to_string()))?),
        };
        let sides = match frontend {
            None if to_agui => Sides::AgUi,
            None => Sides::AcpClient,
            Some(frontend) if from_acp => Sides::AcpAgent(frontend),
            Some(frontend) => Sides::Dialects(frontend),
        };
        Ok(Self { options, sides })
    }

    /// Serves a client until it disconnects. Requires a Tokio runtime with all drivers. Returns exit code 1 if the
    /// agent disconnects before the client. Fails if the agent cannot be started or its dialect is not detected.
    pub async fn serve(self, stderr: &Stderr) -> Result<ExitCode, BridgeError> {
        let Self { options, sides } = self;
        match sides {
            Sides::AgUi => agui::serve(options, stderr).await,
            Sides::AcpClient => acp_server::serve(options, stderr).await,
            Sides::AcpAgent(frontend) => acp_client::serve(frontend, &options, stderr).await,
            Sides::Dialects(frontend) => bridge(frontend, options, stderr).await,
        }
    }
}

async fn bridge(
    frontend: &'static DialectEntry,
    options: BridgeOptions,
    stderr: &Stderr,
) -> Result<ExitCode, BridgeError> {
    let unusable = |error: &agentese::Error| BridgeError::Usage(format!("cannot use the agent: {error}"));
    let named = options.from.as_deref().map(dynamic::client).transpose();
    let named = named.map_err(|error| unusable(&error))?;
    let transport = Transport::from_child(child(&options, stderr)?);
    let transport = transport.map_err(|error| unusable(&error.into()))?;
    // A relay would pass late responses to requests of the detection to the client, so it is used only if all
    // of them were answered.
    let (known, transport, is_answered) = match named {
        Some(named) => (named, transport, true),
        None => {
            let found = match agentese::any::detect(transport, DETECT_LIMIT).await {
                // Starts the agent again, because ACP has one handshake for each connection.
                Err(agentese::Error::BridgeNeeded { protocol, .. }) if is_acp(protocol) => {
                    return acp_client::serve(frontend, &options, stderr).await;
                }
                found => found.map_err(|error| unusable(&error))?,
            };
            ((found.spec, None), found.transport, found.is_answered)
        }
    };
    if is_answered && relay::is_same(frontend.spec(), known) {
        return relay::serve(transport, frontend.spec(), options.report.as_deref(), stderr).await;
    }
    let ui = ClientUi::new();
    let counts = Arc::<FrameCounts>::default();
    let mut connect = agentese::any::Options::new().on_question(ui.clone());
    connect.dialect = Some(known.1.map_or_else(|| known.0.name.to_owned(), Spec::id));
    if options.report.is_some() {
        connect.tap = Some(counts.clone());
    }
    let agent = Agent::from_transport(transport, connect).await.map_err(|error| unusable(&error))?;
    let start = InitialState::query(&agent).await;
    let start = match start {
        Ok(start) => start,
        Err(error) => {
            agent.close().await;
            return Err(unusable(&error));
        }
    };
    let fidelity =
        FidelityReport::new(frontend.spec(), agent.spec(), counts).map_err(|error| unusable(&error))?;
    let fidelity = Arc::new(fidelity);
    let remote = Arc::new(DialectRemoteAgent::new(agent.clone(), ui));
    let mut serving = Options::default();
    serving.commands = MAX_COMMANDS;
    serving.gate = Some(fidelity.gate());
    serving.finish = remote.disconnected();
    let follow_up = start.settings.follow_up_mode;
    let persist = Arc::new(settings::SettingsForwarder::new(remote.clone(), frontend.spec(), follow_up));
    let server = start.server(frontend, remote.clone(), persist.clone(), &current_dir(), None).build();
    let served = stdio::serve(server, serving, stderr).await;
    persist.restore().await;
    let disconnect_reason = remote.disconnect_reason();
    agent.close().await;
    if let Some(path) = &options.report {
        fidelity.write_report(path)?;
    }
    match disconnect_reason {
        Some(reason) => {
            stderr.write_line(format_args!("Error: the agent disconnected: {reason}"));
            Ok(ExitCode::FAILURE)
        }
        None => Ok(served?),
    }
}
