//! `agentese completions`.

use std::process::ExitCode;

use clap::CommandFactory;

use super::arguments::{Arguments, Completions};
use super::{Failure, output};

/// Prints a script that a shell reads at its start.
pub(super) fn print(options: &Completions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "agentese", &mut script);
    output::print(&script)
}
