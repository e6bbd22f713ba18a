//! A program started as a child process, in a process group of its own.

use std::ffi::OsString;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::Signal;
use tokio::process::Command;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::group::Group;
use super::ladder::{Keeper, Progress};
use super::stderr::{StderrCallback, StderrDrain, StderrTail};
use super::stdin::StdinGate;
use super::{BoxReader, BoxWriter};

/// What to start, and how to end it.
#[derive(Clone)]
#[non_exhaustive]
pub struct ChildOptions {
    /// The program: a path, or a name that is looked up in `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its working directory; this process's own where there is none.
    pub cwd: Option<PathBuf>,
    /// Variables added to the inherited environment.
    pub env: Vec<(OsString, OsString)>,
    /// Variables taken out of the inherited environment.
    pub env_remove: Vec<OsString>,
    /// How much of the end of stderr is kept, in bytes: 64 KiB.
    pub stderr_tail_bytes: usize,
    /// How long the group may take to end after its stdin was closed: 2 s.
    pub eof_grace: Duration,
    /// How long the group may take to end after SIGTERM: 2 s.
    pub term_grace: Duration,
    /// Called with each line of stderr.
    pub on_stderr_line: Option<StderrCallback>,
}

impl ChildOptions {
    /// The given program without arguments, and the defaults.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: None,
            env: Vec::new(),
            env_remove: Vec::new(),
            stderr_tail_bytes: 64 * 1024,
            eof_grace: Duration::from_secs(2),
            term_grace: Duration::from_secs(2),
            on_stderr_line: None,
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets the working directory.
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Adds a variable to the environment.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Takes a variable out of the inherited environment.
    pub fn env_remove(mut self, name: impl Into<OsString>) -> Self {
        self.env_remove.push(name.into());
        self
    }

    /// Sets how long the group may take after end of input and after SIGTERM.
    pub fn graces(mut self, eof: Duration, term: Duration) -> Self {
        (self.eof_grace, self.term_grace) = (eof, term);
        self
    }

    /// Sets how much of the end of stderr is kept, in bytes.
    pub fn stderr_tail_bytes(mut self, bytes: usize) -> Self {
        self.stderr_tail_bytes = bytes;
        self
    }

    /// Sets what is called with each line of stderr.
    pub fn on_stderr_line(mut self, callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_stderr_line = Some(Arc::new(callback));
        self
    }
}

impl fmt::Debug for ChildOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values of variables are left out: keys travel there.
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        out.debug_struct("ChildOptions")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("cwd", &self.cwd)
            .field("env", &names)
            .field("env_remove", &self.env_remove)
            .field("stderr_tail_bytes", &self.stderr_tail_bytes)
            .field("eof_grace", &self.eof_grace)
            .field("term_grace", &self.term_grace)
            .finish_non_exhaustive()
    }
}

/// Why a program could not be started.
#[derive(Debug)]
pub struct SpawnError {
    /// The program, as it was asked for.
    pub program: String,
    /// What kind of failure it is.
    pub kind: SpawnErrorKind,
    /// What the system said.
    pub source: io::Error,
}

/// The kinds of failure to start a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpawnErrorKind {
    /// There is no such program.
    NotFound,
    /// There is such a file, but it cannot be run: no permission, no program, or its interpreter is missing.
    NotExecutable,
    /// Somebody has the program open for writing. Trying again may help.
    Busy,
    /// The working directory does not exist or cannot be entered.
    WorkingDirectory,
    /// Anything else: no memory, no descriptors, no runtime.
    Other,
}

impl fmt::Display for SpawnError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.kind {
            SpawnErrorKind::NotFound => "program not found",
            SpawnErrorKind::NotExecutable => "not an executable program",
            SpawnErrorKind::Busy => "the program's file is being written",
            SpawnErrorKind::WorkingDirectory => "the working directory cannot be entered",
            SpawnErrorKind::Other => return write!(out, "cannot start {}: {}", self.program, self.source),
        };
        write!(out, "cannot start {}: {reason}", self.program)
    }
}

impl std::error::Error for SpawnError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl SpawnError {
    fn new(options: &ChildOptions, source: io::Error) -> Self {
        let kind = SpawnErrorKind::of(options, &source);
        Self { program: options.program.to_string_lossy().into_owned(), kind, source }
    }
}

impl SpawnErrorKind {
    /// The system reports a missing directory and a missing program alike, so the directory is looked at.
    fn of(options: &ChildOptions, error: &io::Error) -> Self {
        let errno = Errno::from_io_error(error);
        let path_error = matches!(errno, Some(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP));
        if let Some(cwd) = &options.cwd
            && path_error
            && (!cwd.is_dir() || rustix::fs::access(cwd, rustix::fs::Access::EXEC_OK).is_err())
        {
            return Self::WorkingDirectory;
        }
        match errno {
            Some(Errno::NOENT | Errno::NOTDIR) => {
                let cwd = options.cwd.clone().unwrap_or_default();
                // A path that exists and yet is "not found" lacks the interpreter that its first line names.
                let is_path = options.program.as_encoded_bytes().contains(&b'/');
                if is_path && cwd.join(&options.program).exists() { Self::NotExecutable } else { Self::NotFound }
            }
            Some(Errno::ACCESS | Errno::PERM | Errno::NOEXEC | Errno::ISDIR | Errno::LOOP) => Self::NotExecutable,
            Some(Errno::TXTBSY) => Self::Busy,
            _ => Self::Other,
        }
    }
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exit {
    /// The exit code, where the process exited.
    pub code: Option<i32>,
    /// The signal's number, where a signal ended the process.
    pub signal: Option<i32>,
    /// The last of what it wrote to stderr; what is not UTF-8 became U+FFFD.
    pub stderr_tail: String,
}

impl Exit {
    /// Whether the process exited with code 0.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }

    /// The signal's name, such as `SIGKILL`; `None` where no signal ended the process, or a nameless one.
    pub fn signal_name(&self) -> Option<&'static str> {
        let signal = self.signal?;
        SIGNALS.iter().find(|(known, _)| known.as_raw() == signal).map(|(_, name)| *name)
    }
}

/// "exited with code 1", "killed by SIGTERM", or "ended" where the system did not tell.
impl fmt::Display for Exit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal, self.signal_name()) {
            (Some(code), ..) => write!(out, "exited with code {code}"),
            (None, _, Some(name)) => write!(out, "killed by {name}"),
            (None, Some(signal), None) => write!(out, "killed by signal {signal}"),
            (None, None, None) => out.write_str("ended"),
        }
    }
}

/// Numbers differ between systems, names do not.
const SIGNALS: &[(Signal, &str)] = &[
    (Signal::HUP, "SIGHUP"),
    (Signal::INT, "SIGINT"),
    (Signal::QUIT, "SIGQUIT"),
    (Signal::ILL, "SIGILL"),
    (Signal::TRAP, "SIGTRAP"),
    (Signal::ABORT, "SIGABRT"),
    (Signal::BUS, "SIGBUS"),
    (Signal::FPE, "SIGFPE"),
    (Signal::KILL, "SIGKILL"),
    (Signal::USR1, "SIGUSR1"),
    (Signal::SEGV, "SIGSEGV"),
    (Signal::USR2, "SIGUSR2"),
    (Signal::PIPE, "SIGPIPE"),
    (Signal::ALARM, "SIGALRM"),
    (Signal::TERM, "SIGTERM"),
    (Signal::XCPU, "SIGXCPU"),
    (Signal::XFSZ, "SIGXFSZ"),
    (Signal::SYS, "SIGSYS"),
];

/// A started program. Dropping it ends the program and its process group in the background.
///
/// The group is ended by a ladder: its stdin is closed, after a grace it gets SIGTERM, after another SIGKILL,
/// and it is reaped. What a leader that ended by itself left in its group goes the same way. Processes that
/// moved to a group or session of their own are not reached. Where the runtime ends first, the group is killed
/// at once.
pub struct ChildProcess {
    id: u32,
    group: Arc<Group>,
    stdin: StdinGate,
    tail: StderrTail,
    progress: watch::Receiver<Progress>,
    /// Dropping it asks as well.
    ask: watch::Sender<bool>,
}

impl ChildProcess {
    /// Starts a program and hands out its stdout and its stdin. Fails where the program cannot be started, or
    /// outside of a tokio runtime.
    pub fn spawn(options: ChildOptions) -> Result<(Self, BoxReader, BoxWriter), SpawnError> {
        let runtime =
            Handle::try_current().map_err(|error| SpawnError::new(&options, io::Error::other(error)))?;
        let mut command = Command::new(&options.program);
        command.args(&options.args).envs(options.env.iter().map(|(name, value)| (name, value)));
        for name in &options.env_remove {
            command.env_remove(name);
        }
        if let Some(cwd) = &options.cwd {
            command.current_dir(cwd);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|error| SpawnError::new(&options, error))?;

        let lost = || SpawnError::new(&options, io::Error::other("the child has no process id or no stdout"));
        let id = child.id().ok_or_else(lost)?;
        let group = Arc::new(Group::new(id).ok_or_else(lost)?);
        let stdout = child.stdout.take().ok_or_else(lost)?;
        let (stdin, writer) = StdinGate::new(child.stdin.take());
        let tail = StderrTail::new(options.stderr_tail_bytes);
        let stderr = StderrDrain::new(child.stderr.take(), tail.clone(), options.on_stderr_line);
        let (progress_sender, progress) = watch::channel(Progress::default());
        let (ask, asked) = watch::channel(false);
        let keeper = Keeper {
            child,
            group: Arc::clone(&group),
            stdin: stdin.clone(),
            stderr,
            progress: progress_sender,
            eof_grace: options.eof_grace,
            term_grace: options.term_grace,
        };
        // Its owner is `ask`: the task ends when that says so or is dropped.
        runtime.spawn(keeper.run(asked));
        let process = Self { id, group, stdin, tail, progress, ask };
        Ok((process, Box::new(stdout), Box::new(writer)))
    }

    /// The process id, which is also its group's.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Resolves when the process has ended, even while others hold its pipes. May be asked any number of times,
    /// and outlives the handle.
    pub fn exit(&self) -> impl Future<Output = Exit> + Send + 'static {
        let mut progress = self.progress.clone();
        async move {
            let ended = progress.wait_for(|progress| progress.exit.is_some()).await;
            // The keeper always reports an exit before it goes.
            ended.ok().and_then(|progress| progress.exit.clone()).unwrap_or_default()
        }
    }

    /// How the process ended, if it has.
    pub fn exited(&self) -> Option<Exit> {
        self.progress.borrow().exit.clone()
    }

    /// The last of what it wrote to stderr so far; what is not UTF-8 becomes U+FFFD.
    pub fn stderr_tail(&self) -> String {
        self.tail.text()
    }

    /// Closes its stdin, whoever holds the writer: it reads end of file.
    pub fn close_stdin(&self) {
        self.stdin.close();
    }

    /// Begins to end it, like [`shutdown`](Self::shutdown), and does not wait.
    pub fn request_shutdown(&self) {
        self.ask.send_replace(true);
    }

    /// Ends it and its group by the ladder and returns how it ended.
    ///
    /// Takes at most both grace periods and two seconds more. A process that could not even be killed by then
    /// is reported with neither code nor signal. Dropping the future does not stop the ladder.
    pub async fn shutdown(&self) -> Exit {
        self.request_shutdown();
        let mut progress = self.progress.clone();
        let over = progress.wait_for(|progress| progress.over).await;
        over.ok().and_then(|progress| progress.exit.clone()).unwrap_or_default()
    }

    /// Kills its group at once.
    pub fn kill(&self) {
        self.group.signal(Signal::KILL);
        self.request_shutdown();
    }
}

impl fmt::Debug for ChildProcess {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ChildProcess").field("id", &self.id).field("exited", &self.exited()).finish_non_exhaustive()
    }
}
