//! `agentese bridge`: an agent of one dialect behind a front end of another.
//!
//! The front is the server's own; its engine has the other agent do the work ([`agentese_server::engine::Lead`]), and
//! drives it through the client of all dialects ([`agentese::any`]). Nothing here knows a dialect.
//!
//! | file | concept |
//! |---|---|
//! | `remote`, `settings` | the agent: words, commands and settings on their way to it |
//! | `pump` | what it tells, on its way to the engine |
//! | `beginning` | what the agent is before anybody says anything to it |
//! | `behind` | an agent that speaks ACP, behind a front of a dialect |
//! | `family` | an agent for each session of a client of ACP |
//! | `queue` | deeds that wait for the engine |
//! | `deeds` | from neutral events to deeds; without I/O |
//! | `pieces` | the text of arguments that grow; without I/O |
//! | `convert` | messages, tools and models as the engine has them |
//! | `person` | the agent's questions and notices, for the front's client |
//! | `place` | where the agent has to go back to for a fork; without I/O |
//! | `losses` | what is carried, approximated and lost: declared, and counted |

mod beginning;
mod behind;
mod convert;
mod deeds;
mod family;
mod losses;
mod person;
mod pieces;
mod place;
mod pump;
mod queue;
mod remote;
mod settings;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use agentese::any::Agent;
use agentese::dynamic;
use agentese::serve::Options;
use agentese::transport::ChildOptions;
use agentese_server::fronts::{ACP, Frontend};

use crate::arguments::Bridge;
use crate::stderr::Stderr;
use crate::{Failure, output, rpc};
use beginning::Beginning;
use losses::{Heard, Losses};
use person::Person;
use remote::Remote;

/// Speaks with a client until it leaves, with the agent behind it. Fails where the agent cannot be started or its dialect
/// is not found out; gives 1 where it goes away before the client.
pub(super) fn run(options: Bridge, stderr: &Stderr) -> Result<ExitCode, Failure> {
    if let Some(pair) = &options.explain {
        return print(pair, options.json);
    }
    let to = options.to.as_deref().unwrap_or_default();
    let (to_acp, from_acp) = (is_acp(to), options.from.as_deref().is_some_and(is_acp));
    if to_acp && from_acp {
        return Err(Failure::Usage("both sides speak acp: nothing is to be translated".to_owned()));
    }
    let frontend = if to_acp { Ok(&ACP) } else { Frontend::find(to) };
    let frontend = frontend.map_err(|error| Failure::Usage(error.to_string()))?;
    rpc::log_to(stderr, false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Failure::Io { context: "the runtime".to_owned(), source })?;
    let code = runtime.block_on(async {
        match (to_acp, from_acp) {
            (true, _) => family::serve(options, stderr).await,
            (_, true) => behind::serve(frontend, &options, stderr).await,
            _ => bridge(frontend, options, stderr).await,
        }
    });
    runtime.shutdown_background();
    code
}

/// Prints what becomes of each row of a pair.
fn print(pair: &[String], json: bool) -> Result<ExitCode, Failure> {
    let spec = |name: &str| match is_acp(name) {
        true => Ok(ACP.spec()),
        false => dynamic::spec(name),
    };
    let spec = |name: &str| spec(name).map_err(|error| Failure::Usage(error.to_string()));
    let [front, agent] = pair else {
        return Err(Failure::Usage("--explain needs two dialects".to_owned()));
    };
    let (front, agent) = (spec(front)?, spec(agent)?);
    let rows = agentese::any::explain(front, agent).map_err(|error| Failure::Usage(error.to_string()))?;
    let text = match json {
        false => losses::text(front, agent, &rows),
        true => {
            let text = serde_json::json!({"front": front.id(), "agent": agent.id(), "rows": rows});
            format!("{text:#}\n")
        }
    };
    output::print(text.as_bytes())
}

async fn bridge(frontend: &'static Frontend, options: Bridge, stderr: &Stderr) -> Result<ExitCode, Failure> {
    let unusable = |error: &agentese::Error| Failure::Usage(format!("the agent: {error}"));
    let person = Person::new();
    let heard = Arc::<Heard>::default();
    let mut connect = agentese::any::Options::new().asked(person.clone());
    connect.dialect = options.from.clone();
    if options.report.is_some() {
        connect.tap = Some(heard.clone());
    }
    let agent = Agent::spawn(child(&options, stderr)?, connect).await.map_err(|error| unusable(&error))?;
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
    serving.gate = Some(losses.gate());
    serving.stop = remote.parted();
    let persist = Arc::new(settings::Settings(remote.clone()));
    let served =
        rpc::serve(start.server(frontend, remote.clone(), persist, &here(), None).build(), serving, stderr)
            .await;
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
        None => served,
    }
}

/// Whether that names ACP, which is no dialect.
fn is_acp(name: &str) -> bool {
    name == ACP.spec().name || name == ACP.spec().id()
}

/// The directory of this process.
fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| Path::new("/").to_owned())
}

/// The agent's program; what it writes on stderr goes to stderr.
fn child(options: &Bridge, stderr: &Stderr) -> Result<ChildOptions, Failure> {
    let (program, words) =
        options.command.split_first().ok_or_else(|| Failure::Usage("no agent is named".to_owned()))?;
    let mut child = words.iter().fold(ChildOptions::new(program), ChildOptions::arg);
    let stderr = stderr.clone();
    child.on_stderr_line = Some(Arc::new(move |line: &str| stderr.say(line)));
    Ok(child)
}
