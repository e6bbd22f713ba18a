//! Commands as processes of this machine, with or without a guard process.

use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use tokio::io::AsyncRead;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::guard::{FILES, GRACE, GUARD_COMMAND, Report, TALK};
use super::open_files::limit_of_commands;
use super::spawner::{CommandLine, Exit, PipedProcess, ProcessHandle, Spawner};

/// Time limit for the first report of a guard, which starts in milliseconds.
const GUARD_START: Duration = Duration::from_secs(10);
/// Maximum waiting time for the end of a process group after SIGKILL.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Runs commands on this machine.
///
/// With a guard, no process of a command outlives this process; see [`super::guard`]. Without a guard,
/// background processes and the commands of a killed process are left behind. This mode is for programs that
/// use the tools as a library. Dropping a spawner ends the background processes of its guarded commands.
#[derive(Debug)]
pub struct LocalSpawner {
    guard: Option<PathBuf>,
    /// Cancelled when the spawner is dropped.
    closing: CancellationToken,
    _close: DropGuard,
}

impl LocalSpawner {
    /// Creates a spawner that runs every command under the binary `guard`, or without a guard for `None`. The
    /// `main` of that binary must call [`super::guard::main_if_guard`]. With any other binary, every start
    /// fails.
    pub fn new(guard: Option<PathBuf>) -> Self {
        let closing = CancellationToken::new();
        Self { guard, _close: closing.clone().drop_guard(), closing }
    }

    /// Creates a spawner that uses the running binary as its guard. If the path of the binary is unknown,
    /// commands run without a guard.
    pub fn guarded_by_this_binary() -> Self {
        // On Linux the link stays valid after the file is replaced by a newer version or deleted.
        let link = PathBuf::from("/proc/self/exe");
        Self::new(if link.exists() { Some(link) } else { std::env::current_exe().ok() })
    }

    async fn spawn_unguarded(&self, line: &CommandLine) -> io::Result<Box<dyn ProcessHandle>> {
        let mut command = Command::new(&line.program);
        command.args(&line.arguments).stdin(Stdio::null()).process_group(0);
        let (child, output) = start(command, line)?;
        let group = child.id().and_then(|id| Pid::from_raw(id as i32));
        let group = group.ok_or_else(|| io::Error::other("the process has no id"))?;
        Ok(Box::new(UnguardedProcess { child, group, exit: None, output: Some(output) }))
    }

    async fn spawn_guarded(&self, guard: &PathBuf, line: &CommandLine) -> io::Result<Box<dyn ProcessHandle>> {
        let (ours, theirs) = lifeline()?;
        let mut command = guard_command(guard, line, &[]);
        command.stdin(theirs);
        let (child, output) = start(command, line)?;
        self.wait_for_start(guard, child, ours, Some(output)).await
    }

    async fn spawn_guarded_piped(&self, guard: &PathBuf, line: &CommandLine) -> io::Result<PipedProcess> {
        let (ours, theirs) = lifeline()?;
        let mut command = guard_command(guard, line, &[TALK]);
        command.stdin(theirs);
        let (child, socket, errors) = start_piped(command, line, true)?;
        let running = self.wait_for_start(guard, child, ours, None).await?;
        Ok(piped_process(socket, errors, running))
    }

    async fn spawn_unguarded_piped(&self, line: &CommandLine) -> io::Result<PipedProcess> {
        let mut command = Command::new(&line.program);
        command.args(&line.arguments).process_group(0);
        let (child, socket, errors) = start_piped(command, line, false)?;
        let group = child.id().and_then(|id| Pid::from_raw(id as i32));
        let group = group.ok_or_else(|| io::Error::other("the process has no id"))?;
        Ok(piped_process(
            socket,
            errors,
            Box::new(UnguardedProcess { child, group, exit: None, output: None }),
        ))
    }

    /// Waits until the guard reports that its program runs.
    async fn wait_for_start(
        &self,
        guard: &Path,
        child: Child,
        ours: StdUnixStream,
        output: Option<pipe::Receiver>,
    ) -> io::Result<Box<dyn ProcessHandle>> {
        let mut guarded = GuardedProcess {
            lifeline: Some(ours.try_clone()?),
            reports: ReportReader { socket: UnixStream::from_std(ours)?, unread: Vec::new() },
            guard: Some(child),
            group: None,
            exit: None,
            output,
            closing: self.closing.clone(),
        };
        match timeout(GUARD_START, guarded.reports.next()).await {
            Ok(Ok(Some(Report::Started(group)))) => {
                guarded.group = Some(group);
                Ok(Box::new(guarded))
            }
            Ok(Ok(Some(Report::Failed(0)))) => Err(io::ErrorKind::InvalidInput.into()),
            Ok(Ok(Some(Report::Failed(code)))) => Err(io::Error::from_raw_os_error(code)),
            _ => {
                // The program is not a guard, so it must not continue.
                let _ = guarded.guard.as_mut().map(Child::start_kill);
                Err(io::Error::other(format!("{} did not start as a guard process", guard.display())))
            }
        }
    }
}

impl Spawner for LocalSpawner {
    fn spawn<'a>(&'a self, command: &'a CommandLine) -> BoxFuture<'a, io::Result<Box<dyn ProcessHandle>>> {
        match &self.guard {
            Some(guard) => self.spawn_guarded(guard, command).boxed(),
            None => self.spawn_unguarded(command).boxed(),
        }
    }

    fn spawn_piped<'a>(&'a self, command: &'a CommandLine) -> BoxFuture<'a, io::Result<PipedProcess>> {
        match &self.guard {
            Some(guard) => self.spawn_guarded_piped(guard, command).boxed(),
            None => self.spawn_unguarded_piped(command).boxed(),
        }
    }
}

/// Creates a socket pair and returns the server's end and the guard's end.
fn lifeline() -> io::Result<(StdUnixStream, Stdio)> {
    let (ours, theirs) = StdUnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((ours, Stdio::from(OwnedFd::from(theirs))))
}

fn guard_command(guard: &PathBuf, line: &CommandLine, options: &[&str]) -> Command {
    let mut command = Command::new(guard);
    // No process group: the guard creates a session for itself, which a group leader could not do.
    command.arg0("agentese").arg(GUARD_COMMAND).args(options);
    if let Some(limit) = limit_of_commands() {
        command.arg(FILES).arg(limit.to_string());
    }
    command.arg("--").arg(&line.program).args(&line.arguments);
    command
}

fn apply_environment(command: &mut Command, line: &CommandLine) {
    command.current_dir(&line.cwd).envs(line.environment.iter().map(|(name, value)| (name, value)));
    for name in &line.hidden {
        command.env_remove(name);
    }
}

/// Starts the process with a socket for communication and a pipe for its stderr. The program receives the
/// socket as its stdin and stdout. A guard receives the socket only as its stdout, and passes it on to the
/// program.
fn start_piped(
    mut command: Command,
    line: &CommandLine,
    is_guard: bool,
) -> io::Result<(Child, UnixStream, pipe::Receiver)> {
    let (ours, theirs) = StdUnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let (reader, writer) = io::pipe()?;
    apply_environment(&mut command, line);
    if !is_guard {
        command.stdin(Stdio::from(OwnedFd::from(theirs.try_clone()?)));
    }
    command.stdout(Stdio::from(OwnedFd::from(theirs))).stderr(writer);
    let child = command.spawn()?;
    // The copies of the program's ends are dropped with the command.
    drop(command);
    Ok((child, UnixStream::from_std(ours)?, pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?))
}

fn piped_process(
    socket: UnixStream,
    errors: pipe::Receiver,
    running: Box<dyn ProcessHandle>,
) -> PipedProcess {
    let (output, input) = socket.into_split();
    PipedProcess {
        input: Box::new(input),
        output: Box::new(output),
        errors: Box::new(errors),
        process: running,
    }
}

/// Starts the process with one pipe for both stdout and stderr, so that the order of the writes is preserved.
fn start(mut command: Command, line: &CommandLine) -> io::Result<(Child, pipe::Receiver)> {
    let (reader, writer) = io::pipe()?;
    apply_environment(&mut command, line);
    command.stdout(writer.try_clone()?).stderr(writer);
    let child = command.spawn()?;
    // The command owns copies of the writing end; while they exist, the pipe does not end.
    drop(command);
    Ok((child, pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?))
}

fn output_or_empty(output: &mut Option<pipe::Receiver>) -> Box<dyn AsyncRead + Send + Unpin> {
    match output.take() {
        Some(output) => Box::new(output),
        None => Box::new(tokio::io::empty()),
    }
}

struct UnguardedProcess {
    child: Child,
    group: Pid,
    exit: Option<Exit>,
    output: Option<pipe::Receiver>,
}

impl ProcessHandle for UnguardedProcess {
    fn take_output(&mut self) -> Box<dyn AsyncRead + Send + Unpin> {
        output_or_empty(&mut self.output)
    }

    fn wait(&mut self) -> BoxFuture<'_, io::Result<Exit>> {
        async {
            let status = self.child.wait().await?;
            let exit = status.code().map(Exit::Code).or_else(|| status.signal().map(Exit::Signal));
            self.exit = exit;
            exit.ok_or_else(|| io::Error::other(format!("the command ended without a status: {status}")))
        }
        .boxed()
    }

    fn end(&mut self) -> BoxFuture<'_, ()> {
        async {
            let start = Instant::now();
            let mut killed = false;
            let _ = kill_process_group(self.group, Signal::TERM);
            loop {
                // Reaping the leader removes it from the group.
                let _ = timeout(POLL_INTERVAL, self.wait()).await;
                if self.exit.is_some() {
                    if test_kill_process_group(self.group).is_err() {
                        return;
                    }
                    sleep_until(Instant::now() + POLL_INTERVAL).await;
                }
                if !killed && start.elapsed() >= GRACE {
                    let _ = kill_process_group(self.group, Signal::KILL);
                    killed = true;
                }
                if start.elapsed() >= GRACE + KILL_TIMEOUT {
                    return;
                }
            }
        }
        .boxed()
    }
}

impl Drop for UnguardedProcess {
    fn drop(&mut self) {
        // Until it is reaped, the leader prevents reuse of the group's number.
        if self.exit.is_none() {
            let _ = kill_process_group(self.group, Signal::KILL);
        }
    }
}

struct GuardedProcess {
    /// The server's end of the guard's socket, used to close it. `None` after a background task has taken the
    /// guard over.
    lifeline: Option<StdUnixStream>,
    /// The server's end of the guard's socket, used to read from it.
    reports: ReportReader,
    guard: Option<Child>,
    group: Option<Pid>,
    exit: Option<Exit>,
    output: Option<pipe::Receiver>,
    closing: CancellationToken,
}

impl ProcessHandle for GuardedProcess {
    fn take_output(&mut self) -> Box<dyn AsyncRead + Send + Unpin> {
        output_or_empty(&mut self.output)
    }

    fn wait(&mut self) -> BoxFuture<'_, io::Result<Exit>> {
        async {
            if let Some(exit) = self.exit {
                return Ok(exit);
            }
            match self.reports.next().await? {
                Some(Report::Ended(exit)) => {
                    self.exit = Some(exit);
                    Ok(exit)
                }
                _ => {
                    // The guard was killed, so this process has to end the group.
                    self.kill();
                    Err(io::Error::other("the guard process of the command was killed"))
                }
            }
        }
        .boxed()
    }

    fn end(&mut self) -> BoxFuture<'_, ()> {
        async {
            self.close();
            let ended = async {
                while let Ok(Some(report)) = self.reports.next().await {
                    if let Report::Ended(exit) = report {
                        self.exit = Some(exit);
                    }
                }
            };
            if timeout(GRACE + KILL_TIMEOUT, ended).await.is_err() {
                self.kill();
                // The time limit is over, and the guard has no group any more.
                let _ = self.guard.as_mut().map(Child::start_kill);
            }
        }
        .boxed()
    }
}

impl GuardedProcess {
    /// Closes the sending direction of the socket, so that the guard ends the group. The guard's reports
    /// still arrive.
    fn close(&self) {
        if let Some(lifeline) = &self.lifeline {
            let _ = lifeline.shutdown(Shutdown::Write);
        }
        if let Some(guard) = &self.guard {
            resume_guard(guard);
        }
    }

    fn kill(&self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Resumes a guard that was stopped with SIGSTOP.
fn resume_guard(guard: &Child) {
    if let Some(guard) = guard.id().and_then(|id| Pid::from_raw(id as i32)) {
        let _ = kill_process(guard, Signal::CONT);
    }
}

impl Drop for GuardedProcess {
    fn drop(&mut self) {
        if self.exit.is_none() {
            self.close();
        }
        let (Some(mut guard), Some(lifeline)) = (self.guard.take(), self.lifeline.take()) else { return };
        // The guard continues for background processes. Its socket stays open until the guard ends or the
        // spawner is dropped. Without a runtime everything closes here, which ends the group.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (closing, group) = (self.closing.clone(), self.group);
        runtime.spawn(async move {
            tokio::select! {
                _ = guard.wait() => return,
                () = closing.cancelled() => drop(lifeline),
            }
            resume_guard(&guard);
            if timeout(GRACE + KILL_TIMEOUT, guard.wait()).await.is_err() {
                // A running guard has not reaped its group, so the number of the group is not reused.
                let _ = group.map(|group| kill_process_group(group, Signal::KILL));
                let _ = guard.start_kill();
                let _ = guard.wait().await;
            }
        });
    }
}

/// Reader of the reports that a guard sends over its socket.
struct ReportReader {
    socket: UnixStream,
    unread: Vec<u8>,
}

impl ReportReader {
    /// Returns the next report, or `None` after the end of the guard. Dropping the future loses no data.
    async fn next(&mut self) -> io::Result<Option<Report>> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.unread) {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return Report::parse(&String::from_utf8_lossy(&line[..end])).map(Some);
            }
            self.socket.readable().await?;
            let mut chunk = [0; 64];
            match self.socket.try_read(&mut chunk) {
                Ok(0) => return Ok(None),
                Ok(count) => self.unread.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}
