//! The program itself, and a client that does not use the client libraries.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use super::LONG;

/// The directory for an agent. It contains the working directory `work`, and the directory `home` without settings.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(place.work()).unwrap();
        std::fs::create_dir(place.home()).unwrap();
        place
    }

    pub fn work(&self) -> std::path::PathBuf {
        self.0.path().join("work")
    }

    fn home(&self) -> std::path::PathBuf {
        self.0.path().join("home")
    }

    /// Writes a file beside the working directory. Returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub fn script(&self, script: Value) -> String {
        self.file("script.json", script.to_string())
    }

    /// Returns the command that starts the program with these arguments. Variables of this process that would affect it
    /// are removed.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(super::agentese());
        command
            .args(arguments)
            .current_dir(self.work())
            .env("HOME", self.home())
            .env("TMPDIR", self.0.path());
        command.env_remove("AGENTESE_LOG").env_remove("AGENTESE_HOME").env_remove("PI_CODING_AGENT_DIR");
        command.env_remove("PI_OFFLINE").env_remove("PI_CACHE_RETENTION");
        for (name, _) in std::env::vars_os() {
            let shown = name.to_string_lossy();
            if shown.ends_with("_API_KEY") || shown.ends_with("_TOKEN") {
                command.env_remove(&name);
            }
        }
        command
    }

    /// Writes a file in the home directory or the working directory, and creates its parent directories.
    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) -> std::path::PathBuf {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Starts `--mode rpc` with a script.
    pub fn scripted(&self, script: Value) -> Agent {
        let script = self.script(script);
        Agent::start(self.command(&["--mode", "rpc", "--script", &script]))
    }

    /// Runs the binary to its end without input.
    pub fn output(&self, arguments: &[&str]) -> (ExitStatus, String, String) {
        let agent = Agent::start(self.command(arguments));
        agent.finish()
    }
}

/// The running binary; killed on drop.
pub struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
    /// All received lines of stdout.
    pub seen: Vec<Value>,
}

impl Agent {
    pub fn start(command: Command) -> Self {
        let mut agent = Self::start_without_stdout_reader(command);
        agent.read_stdout();
        agent
    }

    /// Starts the program. Its stdout is not read at first.
    pub fn start_without_stdout_reader(command: Command) -> Self {
        let mut agent = Self::spawn(command);
        let mut stderr = agent.child.stderr.take().unwrap();
        agent.stderr = Some(std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        }));
        agent
    }

    /// Starts the program. Its stderr is not read.
    pub fn start_without_stderr_reader(command: Command) -> Self {
        let mut agent = Self::spawn(command);
        agent.read_stdout();
        agent
    }

    fn spawn(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let (_, lines) = channel();
        Self { child, stdin, lines, stderr: None, seen: Vec::new() }
    }

    fn read_stdout(&mut self) {
        let stdout = self.child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        self.lines = lines;
    }

    /// Closes this process's end of stdout.
    pub fn close_stdout(&mut self) {
        drop(self.child.stdout.take());
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().expect("stdin is closed").write_all(bytes).unwrap();
    }

    pub fn send(&mut self, command: Value) {
        self.send_raw(format!("{command}\n").as_bytes());
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Reads the next line of stdout, which must be a frame. Returns `None` after the last line.
    pub fn next(&mut self) -> Option<Value> {
        let line = match self.lines.recv_timeout(LONG) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("no frame within {LONG:?} after {:#?}", self.seen.last())
            }
        };
        super::trace::check_frame(&line);
        let frame: Value = serde_json::from_str(&line).unwrap();
        self.seen.push(frame.clone());
        Some(frame)
    }

    /// Reads the next line of stdout. Returns `None` after the last line.
    pub fn next_line(&mut self) -> Option<String> {
        self.lines.recv_timeout(LONG).ok()
    }

    pub fn until(&mut self, what: &str, mut found: impl FnMut(&Value) -> bool) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let Some(frame) = self.next() else { panic!("{what} did not come: {frames:#?}") };
            let last = found(&frame);
            frames.push(frame);
            if last {
                return frames;
            }
        }
    }

    pub fn until_event(&mut self, kind: &str) -> Vec<Value> {
        self.until(kind, |frame| frame["type"] == kind)
    }

    pub fn request(&mut self, mut command: Value) -> Value {
        let id = format!("ask-{}", self.seen.len());
        command["id"] = json!(id);
        self.send(command);
        self.until(&id, |frame| frame["id"] == id).pop().unwrap()
    }

    /// Waits for the end of the process.
    pub fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < LONG, "the process does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn stderr(&mut self) -> String {
        self.stderr.take().unwrap().join().unwrap()
    }

    /// Closes the input. Returns the exit status, the text of stdout and the text of stderr.
    pub fn finish(mut self) -> (ExitStatus, String, String) {
        self.close_stdin();
        let mut stdout = String::new();
        loop {
            match self.lines.recv_timeout(LONG) {
                Ok(line) => stdout.push_str(&format!("{line}\n")),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("stdout stays open"),
            }
        }
        let status = self.wait();
        (status, stdout, self.stderr())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for a file in which a process writes its id. Returns the id.
pub fn pid_in(file: &Path) -> Pid {
    let start = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if text.ends_with('\n') {
            return Pid::from_raw(text.trim().parse().unwrap()).unwrap();
        }
        assert!(start.elapsed() < LONG, "{} does not come", file.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns true if a process exists and is not a zombie.
pub fn is_alive(pid: Pid) -> bool {
    if test_kill_process(pid).is_err() {
        return false;
    }
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    !stat.is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
}

/// Waits until a process has ended.
#[track_caller]
pub fn assert_gone(pid: Pid) {
    let start = Instant::now();
    while is_alive(pid) {
        assert!(start.elapsed() < LONG, "{pid:?} lives on");
        std::thread::sleep(Duration::from_millis(2));
    }
}
