//! Command line of the conformance suite.

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

const EXAMPLES: &str = "\
Examples:
  agentese-conformance run --dialect pi -- ./my-agent --mode rpc
      Play the recorded cases of pi with an agent, and report the differences.
  agentese-conformance run --dialect pi --only bash --show -- ./my-agent --mode rpc
      Play only the cases about bash, and print all their lines.
  agentese-conformance run --client --dialect pi -- python3 my_driver.py
      Test a client for pi; the driver is a small program around it.";

/// Test coding agents, and clients for them, with recorded cases. No model, key or network is needed, except to
/// record.
#[derive(Debug, Parser)]
#[command(
    name = "agentese-conformance",
    version,
    arg_required_else_help = true,
    after_help = EXAMPLES
)]
pub(crate) struct Arguments {
    /// Read cases, profiles and recordings from this folder. Default: those in the program.
    #[arg(long, global = true, value_name = "FOLDER")]
    suite: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::Run>),
    List(list::List),
    Detect(detect::Detect),
    Attack(Box<attack::Attack>),
    Torture(torture::Torture),
    Record(record::Record),
    Replay(replay::Replay),
    Model(model::Model),
    #[command(name = agentese_conformance::attack::stand_in::COMMAND, hide = true)]
    AttackStandIn(attack_stand_in::AttackStandIn),
    #[command(name = agentese_conformance::client::COMMAND, hide = true)]
    ClientAgent(client_agent::ClientAgent),
}

/// Runs the subcommand. Returns exit code 0 on success and 1 if the agent failed the case. Fails with an
/// error for any other problem.
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
