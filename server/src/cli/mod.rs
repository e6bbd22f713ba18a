//! The command line.

mod arguments;
mod parse;
mod refused;
mod rpc;
mod schema;
mod script_check;
mod stdout;

use std::process::ExitCode;

use arguments::Command;
use parse::Parsed;

/// A failure that ends the program, as stderr tells it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error("{context}: {source}")]
    Io { context: String, source: std::io::Error },
    #[error("{path}: {reason}")]
    Script { path: String, reason: String },
}

/// Runs the program with the process's arguments. Gives 0 after an orderly end, 1 after a failure
/// (which stderr tells), 2 for a command line that cannot be read.
pub fn main() -> ExitCode {
    let parsed = match parse::parse(std::env::args_os()) {
        Ok(parsed) => parsed,
        Err(error) => {
            // Help and version are errors to clap; it knows where each of them belongs.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let Parsed { arguments, warnings } = parsed;
    for warning in warnings {
        eprintln!("Warning: {warning}");
    }
    let result = match arguments.command {
        Some(Command::Schema(options)) => schema::print(&options),
        None => rpc::run(arguments.run),
    };
    result.unwrap_or_else(|failure| {
        eprintln!("Error: {failure}");
        ExitCode::FAILURE
    })
}
