//! Runs the small programs of `examples/` against the reference agent, which `cargo build -p agentese-cli`
//! builds.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use agentese::pi::{self, AssistantMessageEvent as Piece, Event};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

#[path = "support/long.rs"]
mod long;
use long::LONG;

const NAMES: [&str; 8] =
    ["agent", "ctrl_c", "dialogs", "replay", "sse", "streaming", "supervisor", "ten_at_once"];

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, future).await.unwrap_or_else(|_| panic!("{what} did not happen"))
}

/// Returns the folder into which cargo writes programs.
fn built() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned()
}

/// Returns the command line of the reference agent, whose model gives the answers in `responses`.
fn agent(folder: &Path, responses: Value, more: &[&str]) -> Vec<String> {
    let program = built().join("agentese");
    assert!(program.exists(), "{} is missing: cargo build -p agentese-cli", program.display());
    let script = folder.join("script.json");
    std::fs::write(&script, json!({ "responses": responses }).to_string()).unwrap();
    let words = [program.to_str().unwrap(), "--mode", "rpc", "--provider", "scripted", "--script"];
    let words = words.into_iter().chain([script.to_str().unwrap()]).chain(more.iter().copied());
    words.map(str::to_owned).collect()
}

/// Running example; it ends together with the test.
struct Example {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Example {
    fn start(name: &str, folder: &Path, words: &[String]) -> Self {
        let mut command = Command::new(built().join("examples").join(name));
        command.args(words).current_dir(folder).env("HOME", folder).env("AGENTESE_HOME", folder.join("home"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    async fn line(&mut self) -> String {
        within("a line", self.lines.next_line()).await.unwrap().expect("a line and not the end")
    }

    /// Skips lines up to one with that beginning, and returns it.
    async fn shows(&mut self, beginning: &str) -> String {
        loop {
            let line = self.line().await;
            if line.starts_with(beginning) {
                return line;
            }
        }
    }

    async fn send(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).await.unwrap();
    }

    /// Waits for the end, and returns the remaining output.
    async fn end(mut self) -> Vec<String> {
        drop(self.child.stdin.take());
        let mut rest = Vec::new();
        while let Some(line) = within("the end", self.lines.next_line()).await.unwrap() {
            rest.push(line);
        }
        assert!(within("the exit", self.child.wait()).await.unwrap().success());
        rest
    }
}

#[test]
fn there_are_eight_examples_of_less_than_forty_lines() {
    for name in NAMES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(format!("{name}.rs"));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.lines().count() < 45, "{name} has {} lines", text.lines().count());
        let code = text.lines().filter(|line| !line.is_empty() && !line.starts_with("//!")).count();
        assert!(code < 40, "{name} has {code} lines of code");
        assert!(text.starts_with("//! "), "{name} starts with a description");
    }
}

#[tokio::test]
async fn streaming() {
    let folder = tempfile::tempdir().unwrap();
    let bash = json!({"blocks": [{"tool": {"name": "bash", "args": {"command": "ls"}}}]});
    let words = agent(folder.path(), json!([bash, {"text": "There are files."}]), &["--no-session"]);
    assert_eq!(Example::start("streaming", folder.path(), &words).end().await, ["There are files."]);
}

#[tokio::test]
async fn dialogs() {
    let folder = tempfile::tempdir().unwrap();
    let extension =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../extensions/examples/python/dialogs.py").canonicalize();
    let words =
        agent(folder.path(), json!([]), &["--no-session", "-e", extension.unwrap().to_str().unwrap()]);
    let mut example = Example::start("dialogs", folder.path(), &words);
    example.shows("Which colour? (red, green, blue)").await;
    example.send("green\n").await;
    example.shows("Sure? It will be green. (yes, no)").await;
    example.send("no\n").await;
    example.end().await;
}

#[tokio::test]
async fn ten_at_once_with_cancellation() {
    let folder = tempfile::tempdir().unwrap();
    let mut responses: Vec<Value> = [1, 3, 5, 7, 9]
        .iter()
        .map(|n| json!({"when": {"user": format!("about {n}.")}, "first_ms": 600_000, "text": "late"}))
        .collect();
    responses.push(json!({"text": "even"}));
    let words = agent(folder.path(), json!(responses), &["--no-session"]);
    let lines = Example::start("ten_at_once", folder.path(), &words).end().await;
    assert_eq!(lines, ["0: even", "2: even", "4: even", "6: even", "8: even", "5 were stopped"]);
}

#[tokio::test]
async fn a_supervisor_restarts_its_agent_and_resumes_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = folder.path().join("sessions");
    let responses =
        json!([{"when": {"user": "Continue"}, "text": "finished"}, {"first_ms": 600_000, "text": "never"}]);
    let words = agent(folder.path(), responses, &["--session-dir", sessions.to_str().unwrap()]);
    let mut example = Example::start("supervisor", folder.path(), &words);
    let first = example.shows("attempt 1: process ").await;
    let process = first.split(' ').nth(3).unwrap();
    // The agent accepts a prompt before the session file contains it.
    let kept = async {
        let has_text = |file: std::io::Result<std::fs::DirEntry>| file.unwrap().metadata().unwrap().len() > 0;
        while !std::fs::read_dir(&sessions).is_ok_and(|mut files| files.any(has_text)) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within("the session's file", kept).await;
    assert!(std::process::Command::new("kill").args(["-9", process]).status().unwrap().success());
    assert_eq!(example.line().await, "attempt 1: the agent was killed by SIGKILL");
    example.shows("attempt 2: process ").await;
    assert_eq!(example.end().await, ["done: finished"]);
}

#[tokio::test]
async fn a_custom_agent_answers() {
    let client = pi::Client::spawn([built().join("examples/agent")]).unwrap();
    let mut run = within("the acceptance", client.prompt("one two three")).await.unwrap();
    let mut text = String::new();
    while let Some(event) = within("an event", run.next()).await {
        let Event::MessageUpdate(update) = event.unwrap() else { continue };
        if let Piece::TextDelta(piece) = update.assistant_message_event {
            text.push_str(&piece.delta);
        }
    }
    assert_eq!(text, "one two three ");
    let long = within("the acceptance", client.prompt("word ".repeat(10_000))).await.unwrap();
    let busy = within("the refusal", client.prompt("x")).await.unwrap_err();
    assert_eq!(busy.refused().unwrap().message, "Agent is busy");
    within("the abort", client.abort()).await.unwrap();
    within("the end", long.result()).await.unwrap();
    within("the end", client.close()).await;
}

#[tokio::test]
async fn replay_in_a_unit_test() {
    let folder = tempfile::tempdir().unwrap();
    let lines = Example::start("replay", folder.path(), &[]).end().await;
    assert_eq!(lines, ["the answer is put together"]);
}

#[tokio::test]
async fn a_bridge_to_server_sent_events() {
    let folder = tempfile::tempdir().unwrap();
    let words = agent(folder.path(), json!([{"text": "Hello!"}]), &["--no-session"]);
    let mut example = Example::start("sse", folder.path(), &words);
    let address = example.line().await;
    let mut socket = tokio::net::TcpStream::connect(address.trim_start_matches("http://")).await.unwrap();
    socket.write_all(b"GET /Hi HTTP/1.1\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    within("the answer", socket.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.contains("content-type: text/event-stream"), "{answer}");
    assert!(
        answer.contains("event: agent_start\ndata: {") && answer.contains("event: agent_end\n"),
        "{answer}"
    );
}

#[tokio::test]
async fn ctrl_c_stops_the_run_and_not_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let responses =
        json!([{"when": {"user": "slow"}, "first_ms": 600_000, "text": "late"}, {"text": "quick"}]);
    let words = agent(folder.path(), responses, &["--no-session"]);
    let mut example = Example::start("ctrl_c", folder.path(), &words);
    example.send("slow\n").await;
    example.shows("(Ctrl-C stops this)").await;
    let process = example.child.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &process]).status().unwrap().success());
    example.shows("(stopped)").await;
    example.send("again\n").await;
    example.shows("(Ctrl-C stops this)").await;
    example.end().await;
}
