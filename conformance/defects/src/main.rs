//! `agentese-conformance-defects` measures the share of defects that the conformance suite catches. It is a
//! tool for developers of the suite.

mod measure;
mod mutate;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use agentese_conformance::Suite;
use clap::{Parser, Subcommand};

/// Seeds defects in the output of agents, and counts the defects that the conformance suite catches.
#[derive(Debug, Parser)]
#[command(name = "agentese-conformance-defects", version, arg_required_else_help = true)]
struct Arguments {
    /// Takes cases, profiles and golden transcripts from this folder instead of from the program itself.
    #[arg(long, global = true, value_name = "FOLDER")]
    suite: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(measure::Measure),
    Proxy(mutate::Mutate),
}

#[tokio::main]
async fn main() -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_env("AGENTESE_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let arguments = Arguments::parse();
    let suite = arguments.suite.map_or_else(Suite::embedded, Suite::at);
    let done = match arguments.command {
        Command::Run(measure) => measure.run(&suite).await,
        Command::Proxy(mutate) => mutate.run().await,
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}

/// Writes to stdout. A closed pipe is not an error.
fn print(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
