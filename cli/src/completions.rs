//! Subcommand `agentese completions`.

use std::process::ExitCode;

use clap::CommandFactory;

use super::command_line::{Arguments, Completions};
use super::error::CliError;
use agentese_process::output;

/// Prints a completion script for a shell.
pub(super) fn print(options: &Completions) -> Result<ExitCode, CliError> {
    let mut command = Arguments::command().mut_subcommand("call", |_| super::call::all_dialects());
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut command, "agentese", &mut script);
    Ok(output::print(&String::from_utf8_lossy(&script))?)
}
