//! The process of the agent under test: its input, its output and its end.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentese::transport::{BoxReader, ChildOptions, ChildProcess, Exit, Transport};
use agentese::types::StepSignal;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncReadExt;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::PlayError;
use super::input::AgentInput;
use crate::recording::Recorder;

/// Time for the process group to end after SIGTERM.
const TERM_GRACE: Duration = Duration::from_secs(3);
/// Time limit for output that the agent wrote before its end.
const DRAIN: Duration = Duration::from_secs(2);
/// Length in bytes from which a line is recorded on a separate thread.
const LONG_LINE: usize = 1 << 20;
/// Maximum number of characters of the agent's stderr, counted from its end, that a transcript contains.
const STDERR: usize = 4000;

/// The running agent, with the recorder of its lines.
pub(super) struct Agent {
    process: ChildProcess,
    input: Arc<AgentInput>,
    reader: JoinHandle<()>,
    /// `true` while the player does not read stdout.
    paused: watch::Sender<bool>,
    recorder: Arc<Recorder>,
}

impl Agent {
    pub(super) fn start(
        argv: &[String],
        work: &Path,
        environment: &[(String, String)],
        recorder: Arc<Recorder>,
    ) -> Result<Self, PlayError> {
        // After stdin is closed, `finish` waits for the end of the process and records its exit.
        let options = child_options(argv, work, environment).graces(Duration::from_millis(100), TERM_GRACE);
        let (stdout, stdin, child) = Transport::from_child(options)?.into_parts();
        let program = argv.first().cloned().unwrap_or_default();
        let process = child.ok_or(PlayError::NoCommand { profile: program })?;
        let held = watch::Sender::new(false);
        let reader = tokio::spawn(read_unless_paused(stdout, recorder.clone(), held.subscribe()));
        let input = Arc::new(AgentInput::new(stdin, recorder.clone()));
        Ok(Self { process, input, reader, paused: held, recorder })
    }

    /// Returns the agent's stdin.
    pub(super) fn input(&self) -> &Arc<AgentInput> {
        &self.input
    }

    pub(super) async fn close_stdin(&mut self) {
        if self.input.close().await {
            self.process.close_stdin();
        }
    }

    /// Stops or resumes the reader of stdout, and records the change.
    pub(super) fn pause_reading(&self, held: bool) {
        if self.paused.send_replace(held) != held {
            self.recorder.control(if held { "reading_held" } else { "reading_resumed" }, None);
        }
    }

    /// Waits for the end of the process, and records the outcome.
    pub(super) async fn wait_exit(&mut self, limit: Duration) {
        match tokio::time::timeout(limit, self.process.exit()).await {
            Ok(exit) => {
                self.drain().await;
                self.recorder.exit("exited", code(&exit), None);
            }
            Err(_) => self.recorder.control("still_running", Some(format!("after {} ms", limit.as_millis()))),
        }
    }

    pub(super) fn signal(&self, signal: &StepSignal) -> Result<(), String> {
        let number = match signal {
            StepSignal::Sigterm => Signal::TERM,
            StepSignal::Sigint => Signal::INT,
            StepSignal::Sighup => Signal::HUP,
            StepSignal::Sigkill => Signal::KILL,
        };
        self.recorder.control(&format!("signal {signal}"), None);
        let id = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        // After the process has ended, its id may belong to another process.
        match id.filter(|_| self.process.exited().is_none()) {
            None => Ok(()),
            Some(id) => kill_process(id, number).map_err(|error| format!("cannot send {signal}: {error}")),
        }
    }

    /// Ends the agent: closes its stdin, waits for the grace, and then ends its process group. `event` is the name
    /// of the record of the end.
    pub(super) async fn finish(&mut self, grace: Duration, event: &str) {
        self.pause_reading(false);
        if self.process.exited().is_none() {
            self.close_stdin().await;
            if tokio::time::timeout(grace, self.process.exit()).await.is_err() {
                self.recorder.control("signal SIGTERM", None);
            }
        }
        let exit = self.process.shutdown().await;
        self.drain().await;
        self.reader.abort();
        let stderr = &exit.stderr_tail;
        let start = stderr.char_indices().rev().nth(STDERR - 1).map_or(0, |(at, _)| at);
        self.recorder.exit(event, code(&exit), Some(stderr[start..].to_owned()));
    }

    /// Reads all output from before the agent's end. The wait has a limit, because another process may keep
    /// the pipe open.
    async fn drain(&mut self) {
        if !self.reader.is_finished() && !*self.paused.borrow() {
            let _ = tokio::time::timeout(DRAIN, &mut self.reader).await;
        }
    }
}

/// Returns the options to start a command in a work directory. The process gets only the variables in
/// `environment`.
pub(crate) fn child_options(argv: &[String], work: &Path, environment: &[(String, String)]) -> ChildOptions {
    let (program, arguments) = argv.split_first().map_or(("", &[][..]), |(program, rest)| (program, rest));
    let mut options = ChildOptions::new(find_program(program)).args(arguments).cwd(work);
    for (name, value) in environment {
        options = options.env(name, value);
    }
    for (name, _) in std::env::vars_os() {
        if !environment.iter().any(|(known, _)| OsString::from(known) == name) {
            options = options.env_remove(name);
        }
    }
    options
}

/// Returns the exit code, or the negative number of the signal that ended the process.
fn code(exit: &Exit) -> Option<i64> {
    exit.code.map(i64::from).or(exit.signal.map(|signal| -i64::from(signal)))
}

/// Resolves a program with the working directory and `PATH` of this process, because those of the agent
/// differ.
pub fn find_program(program: &str) -> PathBuf {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut candidates = std::env::split_paths(&folders).map(|folder| folder.join(program));
    candidates.find(|candidate| candidate.is_file()).unwrap_or_else(|| path.to_owned())
}

/// Returns an error message if an argument is the relative path of a file. The agent cannot find such a file,
/// because it starts in another directory. Returns `None` if there is no such argument.
pub fn relative_argument(command: &[String]) -> Option<String> {
    let is_here = |word: &&String| Path::new(word).is_relative() && Path::new(word).is_file();
    let argument = command.iter().skip(1).find(is_here)?;
    Some(format!("`{argument}` is a relative path, which is not resolved; use an absolute path"))
}

/// Returns the folder of the package that the agent belongs to. That is the nearest folder with a
/// `package.json` above a file in the command. Returns `None` if there is no such folder.
pub(crate) fn package(command: &[String]) -> Option<PathBuf> {
    let files = command.iter().enumerate().rev().filter_map(|(at, word)| {
        let path = if at == 0 { find_program(word) } else { PathBuf::from(word) };
        let is_path = at == 0 || word.contains('/');
        std::fs::canonicalize(path).ok().filter(|path| is_path && path.is_file())
    });
    let mut folders = files.filter_map(|file| {
        let above = file.ancestors().skip(1).find(|folder| folder.join("package.json").is_file());
        above.map(Path::to_owned)
    });
    folders.next()
}

/// Reads stdout to its end. Only a line feed ends a line.
pub(crate) async fn read_lines(stdout: BoxReader, recorder: Arc<Recorder>) {
    let held = watch::Sender::new(false);
    read_unless_paused(stdout, recorder, held.subscribe()).await;
}

/// Reads as [`read_lines`] does, but reads nothing while `held` is `true`.
async fn read_unless_paused(mut stdout: BoxReader, recorder: Arc<Recorder>, mut held: watch::Receiver<bool>) {
    let mut buffer: Vec<u8> = Vec::new();
    let mut searched = 0;
    loop {
        // If the sender was dropped, reading continues.
        let _ = held.wait_for(|held| !held).await;
        buffer.reserve(64 << 10);
        let read = tokio::select! {
            biased;
            Ok(_) = held.wait_for(|held| *held) => continue,
            read = stdout.read_buf(&mut buffer) => read,
        };
        let at = Instant::now();
        match read {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        }
        let mut start = 0;
        while let Some(end) = memchr::memchr(b'\n', &buffer[searched..]) {
            let end = searched + end;
            record(&recorder, &buffer[start..end], None, at).await;
            start = end + 1;
            searched = start;
        }
        buffer.drain(..start);
        searched = buffer.len();
    }
    if !buffer.is_empty() {
        record(&recorder, &buffer, Some(""), Instant::now()).await;
    }
    recorder.end();
}

/// Records a line that was read at the time `at`. A long line takes seconds, so it is recorded on another
/// thread, and the output of other agents is read in the meantime.
async fn record(recorder: &Arc<Recorder>, line: &[u8], eol: Option<&'static str>, at: Instant) {
    if line.len() < LONG_LINE {
        return recorder.received_bytes(line, eol, at);
    }
    let (recorder, line) = (recorder.clone(), line.to_vec());
    let recorded = tokio::task::spawn_blocking(move || recorder.received_bytes(&line, eol, at)).await;
    recorded.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()));
}
