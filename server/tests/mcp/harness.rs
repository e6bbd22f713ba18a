//! Helpers for agents whose model calls the tools that a test names, one in each answer.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::LONG;
use crate::support::process::{Agent, Place};

/// The user's configuration file for servers, in the directory of a test.
pub const USER_CONFIG: &str = "home/.pi/agent/mcp.json";

/// Returns the definition of the misbehaving server with these options.
pub fn zoo(options: &[&str]) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/zoo.py");
    let mut args = vec![script.to_str().unwrap()];
    args.extend(options);
    json!({"command": "python3", "args": args})
}

/// Returns a model script with one answer for each call, and a final answer `done`.
pub fn calling(calls: &[(&str, Value)]) -> Value {
    let answers = calls.iter().enumerate().map(|(number, (name, arguments))| {
        json!({"blocks": [{"tool": {"id": format!("call{number}"), "name": name, "args": arguments}}]})
    });
    json!({"responses": answers.collect::<Vec<_>>(), "default": {"text": "done"}})
}

/// Returns the command that starts an agent with the user's servers, settings and a script. `options` are its
/// arguments.
pub fn command(place: &Place, servers: Value, settings: Value, script: Value, options: &[&str]) -> Command {
    place.put(USER_CONFIG, json!({"mcpServers": servers}).to_string());
    place.put("home/.pi/agent/settings.json", json!({"mcp": settings}).to_string());
    let script = place.script(script);
    let mut all =
        vec!["--mode", "rpc", "--provider", "scripted", "--no-session", "--script", script.as_str()];
    all.extend(options);
    place.command(&all)
}

/// Starts the agent of [`command`].
pub fn agent(place: &Place, servers: Value, settings: Value, calls: &[(&str, Value)]) -> Agent {
    Agent::start(command(place, servers, settings, calling(calls), &[]))
}

/// Runs a prompt and returns its frames.
pub fn run(agent: &mut Agent) -> Vec<Value> {
    agent.send(json!({"type": "prompt", "message": "go"}));
    agent.until_event("agent_end")
}

/// Returns the results of the calls of a run.
pub fn results(frames: &[Value]) -> Vec<&Value> {
    frames.iter().filter(|frame| frame["type"] == "tool_execution_end").collect()
}

/// Returns the first text of a result.
#[track_caller]
pub fn result_text(result: &Value) -> &str {
    result["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

/// Returns the texts of the calls of a run.
pub fn texts(frames: &[Value]) -> Vec<&str> {
    results(frames).into_iter().map(result_text).collect()
}

/// Ends the agent in an orderly way; returns its stderr.
#[track_caller]
pub fn finish(agent: Agent) -> String {
    let (status, _, stderr) = agent.finish();
    assert!(status.success(), "{status}: {stderr}");
    stderr
}

/// Waits until the commands include the prompt of a server.
pub fn until_prompt_is_listed(agent: &mut Agent, prompt: &str) {
    let start = Instant::now();
    loop {
        let commands = agent.request(json!({"type": "get_commands"}))["data"]["commands"].clone();
        if commands.as_array().unwrap().iter().any(|command| command["name"] == prompt) {
            return;
        }
        assert!(start.elapsed() < LONG, "{prompt} does not come: {commands}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns a model script in which each run makes one call.
pub fn one_by_one(calls: &[(&str, Value)]) -> Value {
    let answers = calls.iter().flat_map(|(name, arguments)| {
        let call = json!({"blocks": [{"tool": {"id": "call", "name": name, "args": arguments}}]});
        [call, json!({"text": "done"})]
    });
    json!({"responses": answers.collect::<Vec<_>>()})
}

/// Returns the names of the messages that the server has recorded.
pub fn log(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}
