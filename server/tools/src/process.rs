//! Running of one shell command: output, timeout and abort, in bounded time and constant memory.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::FutureExt;
use futures::future::FusedFuture;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::output_writer::{CaptureBuffer, DiskWriter};
use super::signals::signal_name;
use super::tool::ToolContext;
use super::truncate::Limits;
use super::{Exit, ProcessHandle};
use crate::os_error;

pub use super::output_capture::OutputCapture;

/// Maximum time for which output is read after the end of the shell. A background process that keeps the pipe
/// open must not keep the call open.
pub const AFTER_EXIT: Duration = Duration::from_millis(250);
/// Minimum interval between two updates about the output of a running command.
pub const UPDATE_INTERVAL: Duration = Duration::from_millis(100);
/// Timeouts of at least this length are ignored. They have no use, and can exceed the range of clocks.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// Maximum time for which the end of a command waits for the last write to the output file.
const DISK_TIMEOUT: Duration = Duration::from_secs(5);
/// Size of the read buffer in bytes: the capacity of a pipe.
const CHUNK: usize = 64 * 1024;

/// Reason why a command was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The working directory does not exist, cannot be accessed, or is another kind of file.
    #[error("cannot run in the working directory {}: {}", path.display(), os_error::reason(source))]
    WorkingDirectory {
        /// Path of the working directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The operating system reported an error.
    #[error("cannot start {program}: {}", os_error::reason(source))]
    Spawn {
        /// Name or path of the shell.
        program: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The call was aborted before the start.
    #[error("the command was aborted before it started")]
    Aborted,
}

/// The end of a started command.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandOutcome {
    /// The command exited, or a signal ended it.
    Exited(Exit),
    /// The command exceeded its time limit, and its process group was ended.
    TimedOut,
    /// The call was aborted and the process group was ended.
    Aborted,
    /// The result of the command is unknown, for this reason. Its process group was ended.
    Lost(String),
}

impl CommandOutcome {
    /// Returns a line about the failure for the model. Returns `None` if the command succeeded.
    pub fn failure_message(&self, timeout: Option<f64>) -> Option<String> {
        match self {
            Self::Exited(Exit::Code(0)) => None,
            Self::Exited(Exit::Code(code)) => Some(format!("Command exited with code {code}")),
            Self::Exited(Exit::Signal(signal)) => {
                Some(format!("Command was killed by signal {}", signal_name(*signal)))
            }
            Self::TimedOut => {
                Some(format!("Command timed out after {} seconds", timeout.unwrap_or_default()))
            }
            Self::Aborted => Some("Command aborted".to_owned()),
            Self::Lost(reason) => Some(format!("Command was lost: {reason}")),
        }
    }
}

/// A command to run. Directory, shell and environment are in the [`ToolContext`].
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The command text that the shell executes.
    pub command: &'a str,
    /// Time limit in seconds; `None`, zero, negative and huge numbers mean no limit.
    pub timeout: Option<f64>,
    /// `true` to remove escape sequences and control characters from the output.
    pub clean: bool,
}

/// A command that has ended.
#[derive(Debug)]
pub struct CommandResult {
    /// The end of the command.
    pub outcome: CommandOutcome,
    /// The output of the command.
    pub output: OutputCapture,
}

/// Runs a command and waits for its end. `observe` is called at intervals while the output grows. Fails if
/// the command did not start; all other failures are a [`CommandOutcome`]. Returns at most [`AFTER_EXIT`]
/// after the end of the shell, and within seconds after a timeout or an abort. Dropping the future ends the
/// process group.
pub async fn run(
    context: &ToolContext,
    request: Request<'_>,
    observe: &mut (dyn FnMut(&OutputCapture) + Send),
) -> Result<CommandResult, StartError> {
    check_directory(&context.cwd)?;
    let line = context.shell.command_line(request.command, &context.cwd);
    let spawned = tokio::select! {
        biased;
        () = context.abort.cancelled() => return Err(StartError::Aborted),
        spawned = context.spawner.spawn(&line) => spawned,
    };
    let mut running = spawned.map_err(|source| StartError::Spawn {
        program: line.program.to_string_lossy().into_owned(),
        source,
    })?;
    let mut output = OutputReader::new(running.take_output(), context, request.clean);
    let mut observed = false;
    let mut observe_once = |capture: &OutputCapture| {
        observed = true;
        observe(capture);
    };
    let outcome = wait_for_end(context, request.timeout, &mut *running, &mut output, &mut observe_once).await;
    if matches!(outcome, CommandOutcome::TimedOut | CommandOutcome::Aborted) {
        // The pipe is drained meanwhile: an ending process may still have output to write.
        let mut ended = running.end().fuse();
        while !ended.is_terminated() {
            tokio::select! {
                () = &mut ended => {}
                () = output.step(), if !output.closed => {}
            }
        }
    }
    let deadline = Instant::now() + AFTER_EXIT;
    while !output.closed && timeout_at(deadline, output.step()).await.is_ok() {}
    let output = output.finish().await;
    // A command that ends at once is observed too.
    if !observed && !output.is_empty() {
        observe(&output);
    }
    Ok(CommandResult { outcome, output })
}

async fn wait_for_end(
    context: &ToolContext,
    timeout: Option<f64>,
    running: &mut dyn ProcessHandle,
    output: &mut OutputReader,
    observe: &mut (dyn FnMut(&OutputCapture) + Send),
) -> CommandOutcome {
    let deadline = time_limit(timeout).map(|limit| Instant::now() + limit);
    let mut next_update = Instant::now();
    let mut is_observed = true;
    loop {
        tokio::select! {
            // In this order: continuous output must not delay the other events.
            biased;
            () = context.abort.cancelled() => return CommandOutcome::Aborted,
            () = wait_until(deadline) => return CommandOutcome::TimedOut,
            exit = running.wait() => return match exit {
                Ok(exit) => CommandOutcome::Exited(exit),
                Err(error) => CommandOutcome::Lost(error.to_string()),
            },
            () = sleep_until(next_update), if !is_observed && output.capture().is_some() => {}
            () = output.step(), if !output.closed => is_observed = false,
        }
        if let Some(capture) = output.capture()
            && !is_observed
            && Instant::now() >= next_update
        {
            if !capture.is_empty() {
                observe(capture);
            }
            next_update = Instant::now() + UPDATE_INTERVAL;
            is_observed = true;
        }
    }
}

/// Reads the output of a command into a capture.
///
/// A future of [`OutputReader::step`] can be dropped at any time without losing output. Between steps, the
/// capture is in `buffer`, or a thread owns it while it writes to the disk.
struct OutputReader {
    stream: Box<dyn AsyncRead + Send + Unpin>,
    buffer: Option<Box<CaptureBuffer>>,
    job: Option<oneshot::Receiver<Box<CaptureBuffer>>>,
    writer: DiskWriter,
    closed: bool,
    new_capture: Box<dyn Fn() -> OutputCapture + Send + Sync>,
}

impl OutputReader {
    fn new(stream: Box<dyn AsyncRead + Send + Unpin>, context: &ToolContext, clean: bool) -> Self {
        let (temp_dir, limit) = (context.temp_dir.clone(), context.output_file_limit);
        let new_capture = Box::new(move || OutputCapture::new(&temp_dir, limit, Limits::default(), clean));
        let buffer = Some(Box::new(CaptureBuffer { capture: new_capture(), chunk: vec![0; CHUNK] }));
        Self { stream, buffer, job: None, writer: DiskWriter::default(), closed: false, new_capture }
    }

    /// Performs one step: waits for the thread, or reads the next chunk or the end of the output.
    async fn step(&mut self) {
        if let Some(job) = &mut self.job {
            self.buffer = job.await.ok();
            self.job = None;
            return;
        }
        let Some(buffer) = &mut self.buffer else {
            // The job failed, which means a panic.
            self.closed = true;
            return;
        };
        match self.stream.read(&mut buffer.chunk).await {
            // An error ends the output too.
            Ok(0) | Err(_) => self.closed = true,
            Ok(count) if buffer.capture.may_block(count) => {
                self.job = self.buffer.take().map(|buffer| self.writer.push(buffer, count));
            }
            Ok(count) => buffer.capture.push(&buffer.chunk[..count]),
        }
    }

    /// Returns the capture. Returns `None` while a thread owns it.
    fn capture(&self) -> Option<&OutputCapture> {
        self.buffer.as_ref().map(|buffer| &buffer.capture)
    }

    async fn finish(mut self) -> OutputCapture {
        if let Some(job) = self.job.take() {
            self.buffer = timeout(DISK_TIMEOUT, job).await.ok().and_then(Result::ok);
        }
        let mut capture = self.buffer.map_or_else(&self.new_capture, |buffer| buffer.capture);
        capture.finish();
        capture
    }
}

/// Checks that the directory can be entered. Without this check, the error of the start would mention only
/// the shell.
fn check_directory(path: &Path) -> Result<(), StartError> {
    let problem = match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_dir() => Some(io::ErrorKind::NotADirectory.into()),
        Ok(_) => rustix::fs::access(path, rustix::fs::Access::EXEC_OK).err().map(io::Error::from),
        Err(error) => Some(error),
    };
    match problem {
        Some(source) => Err(StartError::WorkingDirectory { path: path.to_owned(), source }),
        None => Ok(()),
    }
}

/// Converts seconds to a time limit. Returns `None` if the number means no limit.
fn time_limit(seconds: Option<f64>) -> Option<Duration> {
    let limit = Duration::try_from_secs_f64(seconds?).ok()?;
    (!limit.is_zero() && limit < LONGEST_TIMEOUT).then_some(limit)
}

async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fm_f80_odd_timeouts_mean_never() {
        let never = [
            None,
            Some(0.0),
            Some(-0.0),
            Some(-5.0),
            Some(1e300),
            Some(f64::MAX),
            Some(f64::NAN),
            Some(1e-12),
        ];
        for seconds in never {
            assert_eq!(time_limit(seconds), None, "{seconds:?}");
        }
        assert_eq!(time_limit(Some(0.25)), Some(Duration::from_millis(250)));
        assert_eq!(time_limit(Some(86_400.0)), Some(Duration::from_secs(86_400)));
    }

    #[test]
    fn endings_read_as_in_pi() {
        assert_eq!(CommandOutcome::Exited(Exit::Code(0)).failure_message(None), None);
        assert_eq!(
            CommandOutcome::Exited(Exit::Code(3)).failure_message(None).unwrap(),
            "Command exited with code 3"
        );
        assert_eq!(
            CommandOutcome::TimedOut.failure_message(Some(1.0)).unwrap(),
            "Command timed out after 1 seconds"
        );
        assert_eq!(
            CommandOutcome::TimedOut.failure_message(Some(0.5)).unwrap(),
            "Command timed out after 0.5 seconds"
        );
        assert_eq!(CommandOutcome::Aborted.failure_message(None).unwrap(), "Command aborted");
        assert_eq!(
            CommandOutcome::Exited(Exit::Signal(9)).failure_message(None).unwrap(),
            "Command was killed by signal SIGKILL"
        );
    }
}
