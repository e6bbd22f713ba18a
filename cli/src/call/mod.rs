//! `agentese call`: one command to an agent, as a command line that is made from the declaration.
//!
//! | file | concept |
//! |---|---|
//! | `grammar` | the commands of a dialect, as its schema has them |
//! | `line` | the command line: options, help, and what was said |
//! | `value` | a parameter's text as JSON |
//! | `talk` | the agent: one question, and what follows of it |
//! | `show` | answers, events and text for people and programs |

mod grammar;
mod line;
mod show;
mod talk;
#[cfg(test)]
mod tests;
mod value;

use std::ffi::OsString;
use std::process::ExitCode;

pub(super) use line::all_dialects;

use super::stderr::Stderr;

/// What is wrong with what was said, which ends the program with 2.
const USAGE: u8 = 2;

/// Why a call has no good end.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Client(#[from] agentese::Error),
    #[error("stdout: {0}")]
    Stdout(#[source] std::io::Error),
    #[error("{0}")]
    Agent(String),
}

/// Calls a command with what stands behind `agentese call`. Gives 0 where the agent has answered and the run is over, 1 where it
/// rejected the command, failed in its run or went away, 2 where the command line is wrong.
pub(super) fn main(words: &[OsString], stderr: &Stderr) -> ExitCode {
    let said = match line::read(words) {
        Ok(said) => said,
        Err(line::Refusal::Shown(help)) => {
            return super::output::print(&help).unwrap_or(ExitCode::FAILURE);
        }
        Err(line::Refusal::Wrong(reason)) => {
            stderr.say(format_args!("Error: {reason}"));
            return ExitCode::from(USAGE);
        }
    };
    match talk::run(said, stderr) {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that has seen enough (`… | head`) is no failure.
        Err(Failure::Stdout(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            stderr.say(format_args!("Error: {failure}"));
            ExitCode::FAILURE
        }
    }
}
