//! `agentese bridge`: an agent of one dialect behind a front end of another.
//!
//! The front is the server's own. Its engine lets the other agent do the work
//! ([`agentese_server::engine::Lead`]), and drives it through the client of all dialects ([`agentese::any`]).
//! This module knows no dialect.
//!
//! | file | concept |
//! |---|---|
//! | `remote`, `settings` | the agent: user input, commands and settings on their way to it |
//! | `pump` | events of the agent on their way to the engine |
//! | `beginning` | the initial state of the agent |
//! | `behind` | an ACP agent behind a front of a dialect |
//! | `agui` | agents behind AG-UI components |
//! | `family` | one agent for each session of an ACP client |
//! | `kept` | the stored sessions of agents |
//! | `queue` | deeds that wait for the engine |
//! | `deeds` | conversion of neutral events to deeds, without I/O |
//! | `late` | tool calls that follow their answer, without I/O |
//! | `pieces` | the text of growing arguments, without I/O |
//! | `convert` | messages, tools and models of the engine |
//! | `moves` | events during a switch to another conversation, without I/O |
//! | `person` | the agent's questions and notices, for the front's client |
//! | `place` | the fork point at the agent, without I/O |
//! | `relay` | an agent of the front's own dialect and revision: its bytes, unchanged |
//! | `losses` | carried, approximated and lost rows: declared, and counted |

mod agui;
mod beginning;
mod behind;
mod convert;
mod deeds;
mod family;
#[cfg(test)]
mod far;
mod kept;
mod late;
mod losses;
mod moves;
mod person;
mod pieces;
mod place;
mod pump;
mod queue;
mod relay;
mod remote;
mod settings;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use agentese::any::Agent;
use agentese::dynamic;
use agentese::serve::Options;
use agentese::spec::Spec;
use agentese::transport::{ChildOptions, Transport};
use agentese_server::fronts::{ACP, Frontend};

use crate::arguments::Bridge;
use crate::error::Failure;
use crate::rpc;
use agentese_process::stderr::Stderr;
use agentese_process::{output, stdio};
use beginning::Beginning;
use losses::{Heard, Losses};
use person::Person;
use remote::Remote;

/// The maximum number of the client's commands, mainly prompts, that wait for the agent. Further ones are
/// rejected.
const COMMANDS: usize = 1024;
/// The time limit for responses of an agent during the detection of its dialect.
const DETECTED: Duration = Duration::from_secs(20);

/// Serves a client until it disconnects, with the agent behind it. Fails if the agent cannot be started or
/// its dialect is not detected. Returns exit code 1 if the agent disconnects before the client.
pub(super) fn run(options: Bridge, stderr: &Stderr) -> Result<ExitCode, Failure> {
    if let Some(pair) = &options.explain {
        return print(pair, options.json);
    }
    let to = options.to.as_deref().unwrap_or_default();
    let (to_acp, from_acp) = (is_acp(to), options.from.as_deref().is_some_and(is_acp));
    let to_agui = agui::is_agui(to);
    if to_agui && from_acp {
        return Err(Failure::Usage("--to ag-ui has agents of a dialect behind it, not of acp".to_owned()));
    }
    if options.from.as_deref().is_some_and(agui::is_agui) {
        return Err(Failure::Usage(
            "no agent is driven by ag-ui: it can be named with --to alone".to_owned(),
        ));
    }
    if !to_agui && (options.port != 0 || !options.allow_origin.is_empty()) {
        return Err(Failure::Usage("--port and --allow-origin go with --to ag-ui".to_owned()));
    }
    if to_acp && from_acp {
        return Err(Failure::Usage("both sides speak acp: nothing is to be translated".to_owned()));
    }
    let frontend = match to_acp || to_agui {
        true => None,
        false => Some(Frontend::find(to).map_err(|error| Failure::Usage(error.to_string()))?),
    };
    rpc::log_to(stderr, false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Failure::Io { context: "the runtime".to_owned(), source })?;
    let code = runtime.block_on(async {
        match frontend {
            None if to_agui => agui::serve(options, stderr).await,
            None => family::serve(options, stderr).await,
            Some(frontend) if from_acp => behind::serve(frontend, &options, stderr).await,
            Some(frontend) => bridge(frontend, options, stderr).await,
        }
    });
    runtime.shutdown_background();
    code
}

/// Prints the fidelity of each row of a pair.
fn print(pair: &[String], json: bool) -> Result<ExitCode, Failure> {
    let spec = |name: &str| match name {
        name if is_acp(name) => Ok(ACP.spec()),
        name if agui::is_agui(name) => Ok(agui::spec()),
        name => dynamic::spec(name),
    };
    let spec = |name: &str| spec(name).map_err(|error| Failure::Usage(error.to_string()));
    let [front, agent] = pair else {
        return Err(Failure::Usage("--explain needs two dialects".to_owned()));
    };
    let (front, agent) = (spec(front)?, spec(agent)?);
    let rows = agentese::any::explain(front, agent).map_err(|error| Failure::Usage(error.to_string()))?;
    if !json {
        return Ok(output::print(&losses::text(front, agent, &rows))?);
    }
    let text = serde_json::json!({"front": front.id(), "agent": agent.id(), "rows": rows});
    Ok(output::print_json(&format!("{text:#}\n"))?)
}

async fn bridge(frontend: &'static Frontend, options: Bridge, stderr: &Stderr) -> Result<ExitCode, Failure> {
    let unusable = |error: &agentese::Error| Failure::Usage(format!("the agent: {error}"));
    let named = options.from.as_deref().map(dynamic::client).transpose();
    let named = named.map_err(|error| unusable(&error))?;
    let transport = Transport::from_child(child(&options, stderr)?);
    let transport = transport.map_err(|error| unusable(&error.into()))?;
    // The client must not see the answer to a question that was withdrawn.
    let (known, transport, is_answered) = match named {
        Some(named) => (named, transport, true),
        None => {
            let found = agentese::any::detect(transport, DETECTED).await;
            let found = found.map_err(|error| unusable(&error))?;
            ((found.spec, None), found.transport, found.is_answered)
        }
    };
    if is_answered && relay::is_same(frontend.spec(), known) {
        return relay::serve(transport, frontend.spec(), options.report.as_deref(), stderr).await;
    }
    let person = Person::new();
    let heard = Arc::<Heard>::default();
    let mut connect = agentese::any::Options::new().asked(person.clone());
    connect.dialect = Some(known.1.map_or_else(|| known.0.name.to_owned(), Spec::id));
    if options.report.is_some() {
        connect.tap = Some(heard.clone());
    }
    let agent = Agent::over(transport, connect).await.map_err(|error| unusable(&error))?;
    let start = Beginning::of(&agent).await;
    let start = match start {
        Ok(start) => start,
        Err(error) => {
            agent.close().await;
            return Err(unusable(&error));
        }
    };
    let losses = Losses::new(frontend.spec(), agent.spec(), heard).map_err(|error| unusable(&error))?;
    let losses = Arc::new(losses);
    let remote = Arc::new(Remote::new(agent.clone(), person));
    let mut serving = Options::default();
    serving.commands = COMMANDS;
    serving.gate = Some(losses.gate());
    serving.finish = remote.parted();
    let follow_up = start.settings.follow_up_mode;
    let persist = Arc::new(settings::Settings::new(remote.clone(), frontend.spec(), follow_up));
    let server = start.server(frontend, remote.clone(), persist.clone(), &here(), None).build();
    let served = stdio::serve(server, serving, stderr).await;
    persist.give_back().await;
    let gone = remote.gone();
    agent.close().await;
    if let Some(path) = &options.report {
        losses.report(path)?;
    }
    match gone {
        Some(reason) => {
            stderr.say(format_args!("Error: the agent is gone: {reason}"));
            Ok(ExitCode::FAILURE)
        }
        None => Ok(served?),
    }
}

/// Returns true if the name means ACP, which is not a dialect.
fn is_acp(name: &str) -> bool {
    name == ACP.spec().name || name == ACP.spec().id()
}

/// Returns the dialect of the agents of that command line. If it is not named, starts an agent to detect it,
/// and ends that agent.
async fn dialect(options: &Bridge, stderr: &Stderr) -> Result<&'static Spec, Failure> {
    let unusable = |error: agentese::Error| Failure::Usage(format!("the agent: {error}"));
    if let Some(name) = &options.from {
        let (spec, revision) = dynamic::client(name).map_err(unusable)?;
        return Ok(revision.unwrap_or(spec));
    }
    let agent =
        Agent::spawn(child(options, stderr)?, agentese::any::Options::new()).await.map_err(unusable)?;
    let spec = agent.spec();
    agent.close().await;
    Ok(spec)
}

/// Returns the directory of this process.
fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| Path::new("/").to_owned())
}

/// Returns the program of the agent. Its stderr output goes to stderr.
fn child(options: &Bridge, stderr: &Stderr) -> Result<ChildOptions, Failure> {
    let (program, words) =
        options.command.split_first().ok_or_else(|| Failure::Usage("no agent is named".to_owned()))?;
    let mut child = words.iter().fold(ChildOptions::new(program), ChildOptions::arg);
    let stderr = stderr.clone();
    child.on_stderr_line = Some(Arc::new(move |line: &str| stderr.say(line)));
    Ok(child)
}
