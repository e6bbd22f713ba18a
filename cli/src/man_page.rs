//! `agentese man`.

use std::process::ExitCode;

use clap::CommandFactory;

use super::command_line::Arguments;
use super::error::CliError;
use agentese_process::output;

/// Prints the manual page of the program in roff, from the definition of the command line.
pub(super) fn print() -> Result<ExitCode, CliError> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Arguments::command())
        .render(&mut page)
        .map_err(|source| CliError::Io { context: "cannot format the manual page".to_owned(), source })?;
    Ok(output::print(&String::from_utf8_lossy(&page))?)
}
