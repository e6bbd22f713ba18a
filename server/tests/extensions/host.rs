//! Helpers for agents with extensions.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::process::{Agent, Place};
use crate::support::trace::check_run;

/// Returns the file of a test extension.
pub fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/extensions").join(format!("{name}.py"))
}

/// Returns the command line of an agent with the given extensions and a script.
pub fn command(place: &Place, extensions: &[&str], script: Value) -> Command {
    let script = place.script(script);
    let mut command = place.command(&["--mode", "rpc", "--script", &script]);
    if !place.work().parent().unwrap().join(SETTINGS).exists() {
        settings(place, json!({}));
    }
    for name in extensions {
        let manifest = json!({"runtime": "python3", "entry": file(name)}).to_string();
        let manifest = place.put(&format!("installed/{name}/extension.json"), manifest);
        command.arg("-e").arg(manifest.parent().unwrap());
    }
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../extensions/python");
    command.env("PYTHONPATH", library).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

pub fn agent(place: &Place, extensions: &[&str], script: Value) -> Agent {
    Agent::start(command(place, extensions, script))
}

/// Starts an agent whose extension host has these settings.
pub fn limited(place: &Place, extensions: &[&str], script: Value, host: Value) -> Agent {
    settings(place, host);
    agent(place, extensions, script)
}

/// Writes the settings of the extension host. The start timeout is long, because test machines may be busy.
pub fn settings(place: &Place, mut host: Value) {
    if host["startTimeoutMs"].is_null() {
        host["startTimeoutMs"] = json!(60_000);
    }
    // Even a short conversation can be compacted.
    let compaction = json!({"keepRecentTokens": 1});
    place.put(SETTINGS, json!({"extensionHost": host, "compaction": compaction}).to_string());
}

const SETTINGS: &str = "home/.pi/agent/settings.json";

/// Returns a model that always answers `ok`.
pub fn plain() -> Value {
    json!({"responses": [], "default": {"text": "ok"}})
}

/// Returns a script whose model runs a command and then answers `done`.
pub fn runs(command: &str) -> Value {
    json!({"responses": [
        {"blocks": [{"tool": {"id": "call", "name": "bash", "args": {"command": command}}}]},
    ], "default": {"text": "done"}})
}

/// Checks that the events of each run have the same order as without extensions. Returns the number of runs.
#[track_caller]
pub fn check_runs(frames: &[Value]) -> usize {
    let of_extensions = ["extension_error", "extension_ui_request"];
    let events: Vec<Value> = frames
        .iter()
        .filter(|frame| !of_extensions.contains(&frame["type"].as_str().unwrap()))
        .filter(|frame| frame["type"] != "response")
        .cloned()
        .collect();
    let runs: Vec<_> = events.split_inclusive(|frame| frame["type"] == "agent_end").collect();
    runs.iter().for_each(|run| check_run(run));
    runs.len()
}

impl Agent {
    pub fn prompt(&mut self, text: &str) {
        self.send(json!({"id": text, "type": "prompt", "message": text}));
    }

    /// Waits for the next question or notice, and returns it.
    #[track_caller]
    pub fn next_dialog(&mut self) -> Value {
        self.until_event("extension_ui_request").pop().unwrap()
    }

    /// Returns the text of the next notice.
    #[track_caller]
    pub fn next_notice(&mut self) -> String {
        let frame = self.until("a notice", |frame| frame["method"] == "notify").pop().unwrap();
        frame["message"].as_str().unwrap().to_owned()
    }

    /// Returns the number of notices received so far.
    pub fn notice_count(&self) -> usize {
        self.seen.iter().filter(|frame| frame["method"] == "notify").count()
    }

    /// Answers a question; the answer has the given member and value.
    pub fn answer(&mut self, question: &Value, member: &str, value: impl Into<Value>) {
        let value: Value = value.into();
        self.send(json!({"type": "extension_ui_response", "id": question["id"], member: value}));
    }

    /// Returns the failures of extensions so far.
    pub fn failures(&self) -> Vec<&Value> {
        self.seen.iter().filter(|frame| frame["type"] == "extension_error").collect()
    }
}
