//! Commands that the user runs through the protocol's `bash` command, independent of the model.

use std::path::PathBuf;

use super::Exit;
use super::ToolContext;
use super::output_capture::OutputCapture;
use super::process::{CommandOutcome, CommandResult, Request, StartError, run};
use super::signals::signal_name;

/// The result of a command of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcBashOutput {
    /// End of the output, without escape sequences and control characters, and without notices for the model.
    pub output: String,
    /// Exit code; `None` if the command was cancelled or killed.
    pub exit_code: Option<i32>,
    /// `true` if an abort ended the command.
    pub cancelled: bool,
    /// `true` if `output` is not complete.
    pub truncated: bool,
    /// File with the complete output; `None` if `output` is complete, or if the file could not be written.
    pub full_output_path: Option<PathBuf>,
}

/// The reason why a command has no result. Its text can be sent to the client as `error` of the response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RpcBashError {
    /// The command did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A signal ended the command without an abort.
    #[error("command was killed by signal {signal}")]
    Killed {
        /// Name of the signal.
        signal: String,
        /// Number of the signal.
        number: i32,
        /// Output before the signal.
        partial: Box<RpcBashOutput>,
    },
    /// The result of the command is unknown.
    #[error("command was lost: {reason}")]
    Lost {
        /// The reason why the result is unknown.
        reason: String,
        /// Output before the loss.
        partial: Box<RpcBashOutput>,
    },
    /// The remote agent that runs commands refused or failed.
    #[error("{0}")]
    Remote(String),
}

impl RpcBashError {
    /// Returns the output of the command so far. Returns `None` if the command did not run.
    pub fn partial(&self) -> Option<&RpcBashOutput> {
        match self {
            Self::Start(_) | Self::Remote(_) => None,
            Self::Killed { partial, .. } | Self::Lost { partial, .. } => Some(partial),
        }
    }
}

/// Runs one command of the user, with the shell, directory and abort of the context. Several commands can run at once.
/// Any exit code is a result. Fails if the command did not start, or if a signal ended it without an abort.
pub async fn run_rpc_bash(
    context: &ToolContext,
    command: &str,
    on_output: &mut (dyn FnMut(&str) + Send),
) -> Result<RpcBashOutput, RpcBashError> {
    let mut sent = 0;
    let mut show = |capture: &OutputCapture| {
        let new = capture.since(sent);
        if !new.is_empty() {
            on_output(new);
        }
        sent = capture.bytes();
    };
    let finished = match run(context, Request { command, timeout: None, clean: true }, &mut show).await {
        Ok(finished) => finished,
        Err(StartError::Aborted) => return Ok(cancelled_early()),
        Err(error) => return Err(error.into()),
    };
    show(&finished.output);
    let result = result(&finished);
    match finished.outcome {
        CommandOutcome::Exited(Exit::Code(_)) | CommandOutcome::Aborted | CommandOutcome::TimedOut => {
            Ok(result)
        }
        CommandOutcome::Exited(Exit::Signal(signal)) => Err(RpcBashError::Killed {
            signal: signal_name(signal),
            number: signal,
            partial: Box::new(result),
        }),
        CommandOutcome::Lost(reason) => Err(RpcBashError::Lost { reason, partial: Box::new(result) }),
    }
}

fn result(finished: &CommandResult) -> RpcBashOutput {
    let tail = finished.output.tail();
    RpcBashOutput {
        exit_code: match finished.outcome {
            CommandOutcome::Exited(Exit::Code(code)) => Some(code),
            _ => None,
        },
        cancelled: matches!(finished.outcome, CommandOutcome::Aborted | CommandOutcome::TimedOut),
        truncated: tail.truncated(),
        full_output_path: finished.output.path().filter(|_| tail.truncated()).map(Into::into),
        output: tail.content,
    }
}

fn cancelled_early() -> RpcBashOutput {
    RpcBashOutput {
        output: String::new(),
        exit_code: None,
        cancelled: true,
        truncated: false,
        full_output_path: None,
    }
}
