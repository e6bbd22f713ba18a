//! The `bash` command of the wire: a command that the user runs, outside of any turn of the model.

use std::path::PathBuf;

use super::Exit;
use super::ToolContext;
use super::capture::Capture;
use super::process::{Ending, Finished, Request, StartError, run};
use super::signals::signal_name;

/// What a client is told of a command it had run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcBashOutput {
    /// The end of the output, cleaned of escape sequences and control characters, without any notice.
    pub output: String,
    /// The exit code; none when the command was cancelled or killed.
    pub exit_code: Option<i32>,
    /// Whether an abort ended it.
    pub cancelled: bool,
    /// Whether `output` is not all there was.
    pub truncated: bool,
    /// The file with all of it when `truncated`, if that could be written.
    pub full_output_path: Option<PathBuf>,
}

/// Why a command has no result. The text of each is fit for the response's `error`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RpcBashError {
    /// It did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A signal ended it that no abort had sent.
    #[error("command was killed by signal {signal}")]
    Killed {
        /// The signal's name.
        signal: String,
        /// Its number.
        number: i32,
        /// What the command wrote before.
        partial: Box<RpcBashOutput>,
    },
    /// Nobody can say how it ended.
    #[error("command was lost: {reason}")]
    Lost {
        /// Why.
        reason: String,
        /// What the command wrote before.
        partial: Box<RpcBashOutput>,
    },
    /// Another agent runs commands, and it refused or failed.
    #[error("{0}")]
    Elsewhere(String),
}

impl RpcBashError {
    /// What the command wrote, if it ran at all.
    pub fn partial(&self) -> Option<&RpcBashOutput> {
        match self {
            Self::Start(_) | Self::Elsewhere(_) => None,
            Self::Killed { partial, .. } | Self::Lost { partial, .. } => Some(partial),
        }
    }
}

/// Runs one command with the context's shell, directory and abort. An exit code is a result whatever it is; a start
/// that fails and a signal from elsewhere are errors. Commands may run side by side.
pub async fn run_rpc_bash(
    context: &ToolContext,
    command: &str,
    shown: &mut (dyn FnMut(&str) + Send),
) -> Result<RpcBashOutput, RpcBashError> {
    let mut seen = 0;
    let mut show = |capture: &Capture| {
        let new = capture.since(seen);
        if !new.is_empty() {
            shown(new);
        }
        seen = capture.bytes();
    };
    let finished = match run(context, Request { command, timeout: None, clean: true }, &mut show).await {
        Ok(finished) => finished,
        Err(StartError::Aborted) => return Ok(cancelled_early()),
        Err(error) => return Err(error.into()),
    };
    show(&finished.output);
    let result = result(&finished);
    match finished.ending {
        Ending::Exited(Exit::Code(_)) | Ending::Aborted | Ending::TimedOut => Ok(result),
        Ending::Exited(Exit::Signal(signal)) => Err(RpcBashError::Killed {
            signal: signal_name(signal),
            number: signal,
            partial: Box::new(result),
        }),
        Ending::Lost(reason) => Err(RpcBashError::Lost { reason, partial: Box::new(result) }),
    }
}

fn result(finished: &Finished) -> RpcBashOutput {
    let tail = finished.output.tail();
    RpcBashOutput {
        exit_code: match finished.ending {
            Ending::Exited(Exit::Code(code)) => Some(code),
            _ => None,
        },
        cancelled: matches!(finished.ending, Ending::Aborted | Ending::TimedOut),
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
