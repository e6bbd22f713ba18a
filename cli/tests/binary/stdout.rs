//! Tests that stdout contains only frames.

use serde_json::{Value, json};

use crate::support::process::{Agent, Place};
use crate::support::trace::check_run;

#[test]
fn the_built_in_plan_streams_an_answer() {
    let place = Place::new();
    std::fs::write(place.work().join("README.md"), "# Kettle\n\nIt boils water.\n").unwrap();
    let mut agent = Agent::start(place.command(&["--mode", "rpc", "--provider", "scripted"]));
    agent.send(json!({"id": 1, "type": "prompt", "message": "What is it?"}));
    let frames = agent.until_event("agent_end");
    check_run(&frames);
    let deltas = frames.iter().filter(|frame| frame["assistantMessageEvent"]["type"] == "text_delta").count();
    assert!(deltas > 30, "{deltas} pieces");
    let text = agent.request(json!({"type": "get_last_assistant_text"}))["data"]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(text.contains("**Kettle**") && text.contains("It boils water."), "{text}");
}

#[test]
fn fm_f22_logs_and_tool_output_stay_off_stdout() {
    let place = Place::new();
    let script = place.script(json!({"responses": [
        // The tool tries to write to the stdout of the server itself.
        {"blocks": [{"tool": {"name": "bash", "args": {"command": "echo tool; echo noise > /dev/stdout; echo noise >&2; echo noise > /dev/tty; true"}}}]},
        {"error": {"status": 500}},
    ], "default": {"text": "ok"}}));
    let mut command = place.command(&["--mode", "rpc", "--script", &script]);
    command.env("AGENTESE_LOG", "trace").env("RUST_LOG", "trace");
    let mut agent = Agent::start(command);
    agent.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    agent.send(json!({"id": "b", "type": "bash", "command": "echo noise; echo noise >&2"}));
    agent.send_raw(b"garbage\n");
    agent.until_event("agent_end");
    // `finish` returns the rest of stdout, which the test has not parsed.
    agent.request(json!({"type": "get_state"}));
    let (status, stdout, stderr) = agent.finish();
    assert_eq!(status.code(), Some(0));
    for line in stdout.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    assert!(stderr.contains("DEBUG") || stderr.contains("TRACE"), "logs are on stderr: {stderr}");
}

#[test]
fn stderr_is_empty_without_a_reason() {
    let place = Place::new();
    let mut agent = place.scripted(json!({"responses": [], "default": {"text": "ok"}}));
    agent.send(json!({"type": "prompt", "message": "go"}));
    agent.until_event("agent_end");
    let (_, stdout, stderr) = agent.finish();
    assert_eq!((stdout.as_str(), stderr.as_str()), ("", ""));
}
