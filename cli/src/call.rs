//! `agentese call`: one command to an agent, with a command line that is generated from the declaration.
//!
//! | file | concept |
//! |---|---|
//! | `grammar` | commands of a dialect, from its schema |
//! | `command_line` | command line: options, help, parsed call |
//! | `value` | text of a parameter as JSON |
//! | `execute` | one command at an agent, and its effects |
//! | `print` | output of responses, events and text |
//! | `error` | errors of a call |

mod command_line;
mod error;
mod execute;
mod grammar;
mod print;
#[cfg(test)]
mod tests;
mod value;

use std::ffi::OsString;
use std::process::ExitCode;

pub(super) use command_line::all_dialects;
use error::CallError;

use crate::error::USAGE;

use agentese_process::stderr::Stderr;

/// Runs `agentese call` with the arguments after it. Returns 0 if the agent responded and the run succeeded.
/// Returns 1 if the agent rejected the command, failed in its run or disconnected. Returns 2 if the command
/// line is invalid.
pub(super) fn main(arguments: &[OsString], stderr: &Stderr) -> ExitCode {
    let parsed = match command_line::parse(arguments) {
        Ok(parsed) => parsed,
        Err(command_line::ParseError::Help(help)) => {
            return agentese_process::output::print(&help).unwrap_or(ExitCode::FAILURE);
        }
        Err(command_line::ParseError::Invalid(reason)) => {
            stderr.write_line(format_args!("Error: {reason}"));
            return ExitCode::from(USAGE);
        }
    };
    match execute::run(parsed, stderr) {
        Ok(()) => ExitCode::SUCCESS,
        // It is not an error if the reader closes the pipe early (`… | head`).
        Err(CallError::Stdout(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            stderr.write_line(format_args!("Error: {failure}"));
            ExitCode::FAILURE
        }
    }
}
