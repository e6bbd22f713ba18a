//! The `bash` command of the protocol: a command of the user, outside of any turn of the model.

use std::path::PathBuf;

use super::Exit;
use super::ToolContext;
use super::output_capture::OutputCapture;
use super::process::{CommandOutcome, CommandResult, Request, StartError, run};
use super::signals::signal_name;

/// The result of a command of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcBashOutput {
    /// End of the output, without escape sequences, control characters and notices.
    pub output: String,
    /// Exit code; `None` if the command was cancelled or killed.
    pub exit_code: Option<i32>,
    /// `true` if an abort ended the command.
    pub cancelled: bool,
    /// `true` if `output` is not complete.
    pub truncated: bool,
    /// File with the complete output if `truncated`, unless it could not be written.
    pub full_output_path: Option<PathBuf>,
}

/// The reason why a command has no result. The message is suitable for `error` of a response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RpcBashError {
    /// The command did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A signal that no abort sent ended the command.
    #[error("command was killed by signal {signal}")]
    Killed {
        /// Name of the signal.
        signal: String,
        /// Number of the signal.
        number: i32,
        /// Output before the end.
        partial: Box<RpcBashOutput>,
    },
    /// The end of the command is unknown.
    #[error("command was lost: {reason}")]
    Lost {
        /// Reason.
        reason: String,
        /// Output before the loss.
        partial: Box<RpcBashOutput>,
    },
    /// The remote agent that runs commands refused or failed.
    #[error("{0}")]
    Remote(String),
}

impl RpcBashError {
    /// Returns the output of the command, if the command ran.
    pub fn partial(&self) -> Option<&RpcBashOutput> {
        match self {
            Self::Start(_) | Self::Remote(_) => None,
            Self::Killed { partial, .. } | Self::Lost { partial, .. } => Some(partial),
        }
    }
}

/// Runs one command with the shell, directory and abort of the context. Any exit code is a result. Fails if the command
/// does not start, or if a signal ends it that no abort sent. Commands may run concurrently.
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
