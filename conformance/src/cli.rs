//! The command line.

mod attack;
mod attack_stand_in;
mod client_agent;
mod detect;
mod list;
mod model;
mod outputs;
mod progress;
mod record;
mod replay;
mod run;
mod torture;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use agentese_conformance::Suite;
use clap::{Parser, Subcommand};

/// Play cases against coding agents that speak newline-delimited JSON on stdio. The tests need no language
/// model, no key and no network.
#[derive(Debug, Parser)]
#[command(name = "agentese-conformance", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// Read cases, profiles and golden transcripts from this folder. Default: the suite in the program.
    #[arg(long, global = true, value_name = "FOLDER")]
    suite: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Attack(Box<attack::Attack>),
    #[command(name = agentese_conformance::attack::stand_in::COMMAND, hide = true)]
    AttackStandIn(attack_stand_in::AttackStandIn),
    Run(Box<run::Run>),
    #[command(name = agentese_conformance::client::COMMAND, hide = true)]
    ClientAgent(client_agent::ClientAgent),
    Detect(detect::Detect),
    List(list::List),
    Model(model::Model),
    Replay(replay::Replay),
    Torture(torture::Torture),
    Record(record::Record),
}

/// Runs the subcommand. Returns exit code 0 on success and 1 if the agent failed the case. All other problems
/// are errors.
pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let suite = arguments.suite.map_or_else(Suite::embedded, Suite::at);
    match arguments.command {
        Command::Attack(attack) => attack.run(&suite).await,
        Command::AttackStandIn(stand_in) => stand_in.run(),
        Command::Run(run) => run.run(&suite).await,
        Command::ClientAgent(agent) => agent.run().await,
        Command::Detect(detect) => detect.run(&suite).await,
        Command::List(list) => list.run(&suite),
        Command::Model(model) => model.run().await,
        Command::Record(record) => record.run().await,
        Command::Replay(replay) => replay.run(&suite).await,
        Command::Torture(torture) => torture.run(&suite).await,
    }
}

/// Writes to stdout. A closed pipe is not an error.
fn print(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
