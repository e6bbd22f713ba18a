//! A program started as a child process, in a process group of its own.

use std::fmt;
use std::future::Future;
use std::io;
#[cfg(unix)]
use std::os::fd::{AsRawFd, RawFd};
use std::process::Stdio;
use std::sync::Arc;

use tokio::process::Command;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::exit::Exit;
use super::options::ChildOptions;
use super::shutdown::{Progress, ShutdownLadder};
use super::spawn_error::SpawnError;
use super::stderr::{StderrDrain, StderrTail};
use super::stdin::StdinGate;
use super::streams::{BoxReader, BoxWriter};
use super::system::{self, Group};

/// A started program, in a process group of its own (on Windows: a job object), so a terminal's Ctrl-C does
/// not reach it. Dropping it ends the program and its process group in the background.
///
/// The group ends step by step. First its stdin is closed. After a grace period it receives SIGTERM, and after
/// a second one SIGKILL. Then it is reaped. Windows has no SIGTERM: there the job is terminated after the first
/// grace period. If the program ends and leaves processes in its group, they are ended in the same way.
/// Processes that moved to another group or session are not affected. If the runtime ends first, the group is
/// killed at once.
pub struct ChildProcess {
    id: u32,
    #[cfg(unix)]
    pipes: [RawFd; 3],
    group: Arc<Group>,
    stdin: StdinGate,
    tail: StderrTail,
    progress: watch::Receiver<Progress>,
    /// Sender of the shutdown request. Dropping the sender also requests the shutdown.
    shutdown_request: watch::Sender<bool>,
}

impl ChildProcess {
    /// Starts a program and returns its stdout and its stdin. Fails if the program cannot be started, or if no
    /// tokio runtime is running.
    pub fn spawn(options: ChildOptions) -> Result<(Self, BoxReader, BoxWriter), SpawnError> {
        let runtime =
            Handle::try_current().map_err(|error| SpawnError::new(&options, io::Error::other(error)))?;
        let mut command = Command::new(system::program(&options));
        command.args(&options.args).envs(options.env.iter().map(|(name, value)| (name, value)));
        for name in &options.env_remove {
            command.env_remove(name);
        }
        if let Some(cwd) = &options.cwd {
            command.current_dir(cwd);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (mut child, group) = Group::spawn(command).map_err(|error| SpawnError::new(&options, error))?;

        let lost = || SpawnError::new(&options, io::Error::other("the child has no process id or no stdout"));
        let id = child.id().ok_or_else(lost)?;
        let group = Arc::new(group);
        #[cfg(unix)]
        let pipes = [
            child.stdin.as_ref().map(AsRawFd::as_raw_fd).ok_or_else(lost)?,
            child.stdout.as_ref().map(AsRawFd::as_raw_fd).ok_or_else(lost)?,
            child.stderr.as_ref().map(AsRawFd::as_raw_fd).ok_or_else(lost)?,
        ];
        let stdout = child.stdout.take().ok_or_else(lost)?;
        system::enlarge(&stdout);
        let (stdin, writer) = StdinGate::new(child.stdin.take());
        let tail = StderrTail::new(options.stderr_tail_bytes);
        let stderr = StderrDrain::new(child.stderr.take(), tail.clone(), options.on_stderr_line);
        let (progress_sender, progress) = watch::channel(Progress::default());
        let (ask, asked) = watch::channel(false);
        let ladder = ShutdownLadder {
            child,
            group: Arc::clone(&group),
            stdin: stdin.clone(),
            stderr,
            progress: progress_sender,
            eof_grace: options.eof_grace,
            term_grace: options.term_grace,
        };
        // The task ends when `ask` requests the shutdown or is dropped.
        runtime.spawn(ladder.run(asked));
        let process = Self {
            id,
            #[cfg(unix)]
            pipes,
            group,
            stdin,
            tail,
            progress,
            shutdown_request: ask,
        };
        Ok((process, Box::new(stdout), Box::new(writer)))
    }

    /// Returns the process id, which is also the id of its process group.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Returns the file descriptors of this process for the child's stdin, stdout and stderr, as they were at
    /// the start. After `fork` without `exec`, a copy of this process keeps them open and can close them by
    /// these numbers.
    #[cfg(unix)]
    pub fn pipes(&self) -> [RawFd; 3] {
        self.pipes
    }

    /// Returns the process group. It can be checked and killed even after the handle was dropped.
    pub fn group(&self) -> ProcessGroup {
        ProcessGroup { group: Arc::clone(&self.group), progress: self.progress.clone() }
    }

    /// Resolves when the process has ended, even while other processes keep its pipes open. May be called any
    /// number of times. The future stays valid after the handle was dropped.
    pub fn exit(&self) -> impl Future<Output = Exit> + Send + 'static {
        let mut progress = self.progress.clone();
        async move {
            let ended = progress.wait_for(|progress| progress.exit.is_some()).await;
            // The ladder always reports an exit before it ends.
            ended.ok().and_then(|progress| progress.exit.clone()).unwrap_or_default()
        }
    }

    /// Returns the exit of the process, or `None` while it runs.
    pub fn exited(&self) -> Option<Exit> {
        self.progress.borrow().exit.clone()
    }

    /// Returns the last output on stderr so far; invalid UTF-8 becomes U+FFFD.
    pub fn stderr_tail(&self) -> String {
        self.tail.text()
    }

    /// Closes the stdin of the process, even if its writer still exists. The process then reads end of file.
    pub fn close_stdin(&self) {
        self.stdin.close();
    }

    /// Requests the same steps as [`shutdown`](Self::shutdown), without waiting.
    pub fn request_shutdown(&self) {
        self.shutdown_request.send_replace(true);
    }

    /// Ends the process and its group step by step, as described at [`ChildProcess`]. Returns the exit.
    ///
    /// The process can still read everything that was written before. A pending write fails as a broken pipe.
    /// The wait lasts at most both grace periods and two more seconds. If the process has not ended by then in
    /// spite of SIGKILL, its exit has neither code nor signal. Dropping the future does not stop the shutdown.
    pub async fn shutdown(&self) -> Exit {
        self.request_shutdown();
        let mut progress = self.progress.clone();
        let over = progress.wait_for(|progress| progress.is_over).await;
        over.ok().and_then(|progress| progress.exit.clone()).unwrap_or_default()
    }

    /// Kills the process group at once.
    pub fn kill(&self) {
        self.group.kill();
        self.request_shutdown();
    }
}

/// The process group of a child, independent of the child's handle. It keeps no process alive, and dropping it
/// ends no process.
#[derive(Clone)]
pub struct ProcessGroup {
    group: Arc<Group>,
    progress: watch::Receiver<Progress>,
}

impl ProcessGroup {
    /// Returns `true` if all processes of the group have ended, or the group was killed.
    pub fn is_over(&self) -> bool {
        self.progress.borrow().is_over
    }

    /// Resolves when the group is over: all of its processes have ended, or the last step of a shutdown is
    /// complete.
    pub fn wait(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut progress = self.progress.clone();
        async move {
            // The ladder always reports the end before it ends itself.
            let _ = progress.wait_for(|progress| progress.is_over).await;
        }
    }

    /// Kills the remaining processes at once.
    pub fn kill(&self) {
        self.group.kill();
    }
}

impl fmt::Debug for ChildProcess {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ChildProcess")
            .field("id", &self.id)
            .field("exited", &self.exited())
            .finish_non_exhaustive()
    }
}

impl SpawnError {
    fn new(options: &ChildOptions, source: io::Error) -> Self {
        let kind = system::kind_of(options, &source);
        Self { program: options.program.to_string_lossy().into_owned(), kind, source }
    }
}
