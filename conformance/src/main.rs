//! `agentese-conformance`: tests the conformance of coding agents.

mod cli;

use std::process::ExitCode;

use agentese::transport::{SpawnError, SpawnErrorKind};
use clap::Parser;
use clap::error::ErrorKind;

#[tokio::main]
async fn main() -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_env("AGENTESE_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let arguments = match cli::Arguments::try_parse() {
        Ok(arguments) => arguments,
        // Help and version are not errors. An error prints one line; `--help` prints the full usage.
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        Err(error) => {
            let text = error.to_string();
            let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
            eprintln!("{}", lines.collect::<Vec<_>>().join(" "));
            return ExitCode::from(2);
        }
    };
    match cli::run(arguments).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", describe_error(&error));
            ExitCode::from(2)
        }
    }
}

/// Formats an error with its causes. Omits causes that the text already contains. Omits the system's message
/// for a missing program, because the error already names the program.
fn describe_error(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let said = cause.to_string();
        if text.is_empty() {
            text = said;
        } else if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        if cause.downcast_ref::<SpawnError>().is_some_and(|error| error.kind == SpawnErrorKind::NotFound) {
            break;
        }
    }
    text
}
