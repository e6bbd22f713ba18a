//! Tests with the program itself: many sessions in one process, several processes with one directory, and sessions that
//! are not stored.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::agentese;
use crate::support::process::{Agent, Place};

/// A served program with a client for requests.
struct Process {
    agent: Agent,
    last: u64,
    /// Frames that are not responses.
    events: Vec<Value>,
}

fn script() -> Value {
    let shell = json!({"tool": {"id": "t", "name": "shell", "args": {"command": "ulimit -Sn"}}});
    json!({"responses": [
        {"when": {"user": "limit"}, "blocks": [shell]},
    ], "default": {"text": "Hello."}})
}

/// Returns the command line of the program. `limits` are the soft and the hard limit of open files.
fn command(place: &Place, limits: Option<(u64, u64)>) -> Command {
    let script = place.script(script());
    let arguments = ["--mode", "rpc", "--dialect", "opal", "--script", &script];
    let mut command = place.command(&arguments);
    if let Some((soft, hard)) = limits {
        let mut limited = Command::new("bash");
        let set = format!("ulimit -Sn {soft} && ulimit -Hn {hard} && exec \"$@\"");
        limited.args(["-c", set.as_str(), "bash"]).arg(agentese()).args(arguments);
        limited.current_dir(place.work()).env_clear();
        limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        limited.env("PATH", std::env::var_os("PATH").unwrap());
        command = limited;
    }
    command
}

impl Process {
    fn of(place: &Place) -> Self {
        Self::limited(place, None)
    }

    fn limited(place: &Place, limits: Option<(u64, u64)>) -> Self {
        Self { agent: Agent::start(command(place, limits)), last: 0, events: Vec::new() }
    }

    fn next(&mut self) -> Value {
        let line = self.agent.next_line().expect("a frame");
        serde_json::from_str(&line).unwrap()
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.agent.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let frame = self.next();
            if frame["id"] == id && frame.get("method").is_none() {
                return frame;
            }
            self.events.push(frame["params"].clone());
        }
    }

    fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.request(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    fn error(&mut self, method: &str, params: Value) -> String {
        let answer = self.request(method, params);
        assert!(answer.get("error").is_some(), "{method}: {answer}");
        answer["error"].to_string()
    }

    fn start(&mut self, params: Value) -> String {
        self.result("session/start", params)["session_id"].as_str().unwrap().to_owned()
    }

    /// Runs a prompt. Returns the events of its run, including the last one.
    fn run(&mut self, session: &str, text: &str) -> Vec<Value> {
        self.events.clear();
        self.result("agent/prompt", json!({"session_id": session, "text": text}));
        loop {
            let ends = |event: &Value| {
                event["session_id"] == session
                    && ["agent_end", "error", "agent_abort"].iter().any(|kind| event["type"] == *kind)
            };
            if let Some(at) = self.events.iter().position(ends) {
                return self.events.drain(..=at).collect();
            }
            let frame = self.next();
            self.events.push(frame["params"].clone());
        }
    }

    fn texts(&mut self, session: &str) -> Vec<String> {
        let history = self.result("session/history", json!({"session_id": session}));
        let messages = history["messages"].as_array().unwrap().iter();
        messages.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the value `name` of the process's status in the system.
    fn status(&self, name: &str) -> u64 {
        let pid = self.agent.pid().as_raw_nonzero();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    fn descriptors(&self) -> usize {
        let pid = self.agent.pid().as_raw_nonzero();
        std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
    }
}

/// Returns the directory of the session files from the result of `session/start`.
fn directory(started: &Value) -> PathBuf {
    Path::new(started["session_dir"].as_str().unwrap()).parent().unwrap().to_owned()
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn idle_sessions_hold_no_files_and_threads_and_are_stored() {
    const COUNT: usize = 1000;
    let place = Place::new();
    let mut process = Process::limited(&place, Some((64, 64)));
    let started = process.result("session/start", json!({"session": true}));
    let first = started["session_id"].as_str().unwrap().to_owned();
    let end = |events: &[Value]| events.last().unwrap()["type"].clone();
    assert_eq!(end(&process.run(&first, "Hello")), "agent_end");
    let before = process.status("VmRSS");
    for _ in 1..COUNT {
        let session = process.start(json!({"session": true}));
        assert_eq!(end(&process.run(&session, "Hello")), "agent_end");
    }
    let (threads, descriptors) = (process.status("Threads"), process.descriptors());
    assert!(threads < 64 && descriptors < 64, "{threads} threads, {descriptors} descriptors");
    let grown = process.status("VmRSS") - before;
    assert!(grown < 64 << 10, "{grown} KiB");
    // Every conversation is written, long before the end of the process.
    let files = files(&directory(&started));
    assert_eq!(files.len(), COUNT);
    for file in &files {
        assert!(std::fs::read_to_string(file).unwrap().contains("Hello."), "{}", file.display());
    }
    // The least recently used session continues, with a command and its file.
    let events = process.run(&first, "limit");
    let ran = events.iter().find(|event| event["type"] == "tool_execution_end").unwrap();
    assert_eq!(ran["result"]["ok"], true, "{ran}");
    assert_eq!(process.texts(&first).len(), 6);
    let (status, _, stderr) = process.agent.finish();
    assert!(status.success(), "{stderr}");
}

#[test]
fn open_file_limit_is_raised_except_for_commands() {
    let place = Place::new();
    let mut process = Process::limited(&place, Some((64, 128)));
    let session = process.start(json!({}));
    let events = process.run(&session, "limit");
    let ran = events.iter().find(|event| event["type"] == "tool_execution_end").unwrap();
    assert_eq!(ran["result"]["output"].as_str().map(str::trim), Some("64"), "{ran}");
    if cfg!(target_os = "linux") {
        let pid = process.agent.pid().as_raw_nonzero();
        let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
        let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
        assert_eq!(line.split_whitespace().nth(3), Some("128"), "{line}");
    }
}

#[test]
fn an_id_belongs_to_one_process_from_the_start_of_the_session_to_its_end() {
    let place = Place::new();
    let (mut one, mut other) = (Process::of(&place), Process::of(&place));
    let wanted = json!({"session_id": "one"});
    let started = one.result("session/start", wanted.clone());
    // Before and after the first prompt.
    let error = other.error("session/start", wanted.clone());
    assert!(error.contains("is already open"), "{error}");
    if cfg!(target_os = "linux") {
        let pid = one.agent.pid().as_raw_nonzero().to_string();
        assert!(error.contains(&format!("process {pid}")), "{error}");
    }
    one.run("one", "TEXT-A");
    assert!(other.error("session/start", wanted.clone()).contains("is already open"));
    assert!(other.error("session/delete", wanted.clone()).contains("in use"));
    other.start(json!({"session_id": "another"}));
    // Killed without a chance to clean up.
    one.agent.signal(Signal::KILL);
    one.agent.wait();
    assert_eq!(other.start(wanted.clone()), "one");
    assert_eq!(other.texts("one"), ["TEXT-A", "Hello."]);
    assert_eq!(other.result("session/delete", wanted.clone()), json!({"ok": true}));
    let mut third = Process::of(&place);
    assert_eq!(third.start(wanted), "one");
    assert!(third.texts("one").is_empty());
    assert!(files(&directory(&started)).is_empty());
}

#[test]
fn a_session_that_has_two_files_is_listed_once_opened_as_it_is_listed_and_deleted_whole() {
    let place = Place::new();
    let mut process = Process::of(&place);
    let started = process.result("session/start", json!({"session_id": "one"}));
    process.run("one", "TEXT-A");
    process.agent.close_stdin();
    process.agent.wait();
    let directory = directory(&started);
    let kept = files(&directory).pop().unwrap();
    let text = std::fs::read_to_string(&kept).unwrap().replace("TEXT-A", "TEXT-B");
    let second = directory.join("2020-01-01T00-00-00-000Z_one.jsonl");
    std::fs::write(&second, text).unwrap();
    let mut process = Process::of(&place);
    let listed = process.result("session/list", json!({}));
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");
    process.start(json!({"session_id": "one"}));
    // This session was written last.
    assert_eq!(process.texts("one")[0], "TEXT-B");
    assert_eq!(process.result("session/delete", json!({"session_id": "one"})), json!({"ok": true}));
    assert!(files(&directory).is_empty());
    assert_eq!(process.result("session/list", json!({})), json!({"sessions": []}));
}

#[test]
fn storage_failure_is_reported_to_the_client_on_stderr_and_by_the_exit_code() {
    let place = Place::new();
    let mut process = Process::of(&place);
    let directory = directory(&process.result("session/start", json!({"session": true})));
    let (kept, lost) = (process.start(json!({"session": true})), process.start(json!({"session": true})));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    // A file in place of a directory, which also stops root.
    std::fs::write(&directory, "").unwrap();
    let last = process.run(&lost, "Hello").pop().unwrap();
    assert_eq!(last["type"], "error", "{last}");
    assert!(last["reason"].as_str().unwrap().starts_with("the session is not saved: "), "{last}");
    // The messages are available, and the failure is reported once.
    assert_eq!(process.texts(&lost), ["Hello", "Hello."]);
    assert_eq!(process.run(&lost, "Hello").pop().unwrap()["type"], "agent_end");
    // A stored session does not hide the failure.
    let other = process.start(json!({}));
    process.run(&other, "Hello");
    let _ = kept;
    let (status, _, stderr) = process.agent.finish();
    assert_eq!(status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("part of the conversation could not be saved"), "{stderr}");
}
