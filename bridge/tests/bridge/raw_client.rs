//! Client that writes and reads frames as lines of text.

use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use super::soon;

pub struct RawClient {
    bridge: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
    stderr: JoinHandle<String>,
    /// All received frames, in order.
    pub seen: Vec<Value>,
}

impl RawClient {
    /// Starts a command and returns a client that is connected to it.
    pub fn of(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut bridge = command.spawn().unwrap();
        let mut stderr = bridge.stderr.take().unwrap();
        Self {
            to: bridge.stdin.take().unwrap(),
            from: BufReader::new(bridge.stdout.take().unwrap()).lines(),
            stderr: tokio::spawn(async move {
                let mut said = String::new();
                stderr.read_to_string(&mut said).await.unwrap();
                said
            }),
            bridge,
            seen: Vec::new(),
        }
    }

    pub async fn send(&mut self, frame: Value) {
        soon("the line", self.to.write_all(format!("{frame}\n").as_bytes())).await.unwrap();
    }

    /// Returns the anonymous memory of the bridge in bytes, without files and shared pages.
    pub fn memory(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.bridge.id().unwrap())).unwrap();
        let kib = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        kib.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
    }

    /// Reads frames until one has the type `kind`. Returns that frame.
    pub async fn until(&mut self, kind: &str) -> Value {
        loop {
            let line = soon(kind, self.from.next_line()).await.unwrap();
            let line = line.unwrap_or_else(|| panic!("the bridge is over before {kind}: {:?}", self.seen));
            self.seen.push(serde_json::from_str(&line).unwrap());
            if self.seen[self.seen.len() - 1]["type"] == kind {
                return self.seen[self.seen.len() - 1].clone();
            }
        }
    }

    /// Reads frames up to the response with that id.
    pub async fn until_id(&mut self, id: &Value) {
        while self.seen.last().is_none_or(|frame| frame["id"] != *id) {
            let line = soon("an answer", self.from.next_line()).await.unwrap();
            self.seen.push(serde_json::from_str(&line.expect("the bridge is there")).unwrap());
        }
    }

    /// Reads frames until the bridge ends by itself. Returns its exit code.
    pub async fn until_exit(&mut self) -> Option<i32> {
        while let Some(line) = soon("the rest", self.from.next_line()).await.unwrap() {
            self.seen.push(serde_json::from_str(&line).unwrap());
        }
        soon("the end", self.bridge.wait()).await.unwrap().code()
    }

    /// Kills the children of the bridge.
    pub fn kill_the_agent(&self) {
        let bridge = self.bridge.id().unwrap();
        let children = std::fs::read_to_string(format!("/proc/{bridge}/task/{bridge}/children")).unwrap();
        for child in children.split_whitespace() {
            assert!(std::process::Command::new("kill").args(["-KILL", child]).status().unwrap().success());
        }
    }

    /// Disconnects from the bridge. Returns its remaining output on stdout and stderr.
    pub async fn disconnect(mut self) -> String {
        drop(self.to);
        let mut all: Vec<String> = self.seen.iter().map(Value::to_string).collect();
        while let Some(line) = soon("the rest", self.from.next_line()).await.unwrap() {
            all.push(line);
        }
        soon("the end", self.bridge.wait()).await.unwrap();
        all.push(soon("stderr", self.stderr).await.unwrap());
        all.join("\n")
    }
}
