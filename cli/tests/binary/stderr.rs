//! Tests of messages for users on stderr, which need no reader.

use serde_json::json;

use crate::support::process::{Agent, Place};
use crate::support::trace::check_run;

#[test]
fn fm_f27_unread_stderr_of_ten_mebibytes_does_not_block() {
    let place = Place::new();
    // The agent logs one line for each pattern without a matching model.
    let patterns = vec!["x".repeat(5); 120_000];
    place.put("home/.pi/agent/settings.json", json!({"enabledModels": patterns}).to_string());
    // With a reader, every line arrives, or is included in the number of dropped lines.
    let heard = place.output(&["--mode", "rpc", "--provider", "scripted"]).2;
    let (mut lines, mut dropped, mut bytes) = (0, 0, 0);
    for line in heard.lines() {
        match line.strip_prefix('(').and_then(|rest| rest.split(' ').next()) {
            Some(number) => dropped += number.parse::<usize>().unwrap(),
            None => {
                assert!(line.ends_with("no model matches pattern=\"xxxxx\""), "{line}");
                lines += 1;
                bytes = line.len() + 1;
            }
        }
    }
    assert_eq!(lines + dropped, 120_000);
    assert!(bytes * 120_000 > 10 << 20, "{bytes} bytes in each line");
    let script = place.script(json!({"responses": [], "default": {"text": "ok"}}));
    let mut agent =
        Agent::start_without_stderr_reader(place.command(&["--mode", "rpc", "--script", &script]));
    agent.send(json!({"type": "prompt", "message": "go"}));
    let frames = agent.until_event("agent_end");
    check_run(&frames);
    agent.close_stdin();
    while agent.next().is_some() {}
    assert_eq!(agent.wait().code(), Some(0));
}

#[test]
fn an_invalid_log_filter_is_reported() {
    let place = Place::new();
    let mut command = place.command(&["--mode", "rpc", "--provider", "scripted"]);
    command.env("AGENTESE_LOG", "a=b=c");
    let (status, _, stderr) = Agent::start(command).finish();
    assert_eq!(status.code(), Some(0));
    assert!(stderr.starts_with("Warning: AGENTESE_LOG is not a valid log filter"), "{stderr}");
}

#[test]
fn fm_f124_control_characters_are_escaped() {
    let place = Place::new();
    for (option, text, shown) in
        [("--tools", "\u{1b}]0;x\u{7}", "\\u{1b}]0;x\\u{7}"), ("--model", "\u{1b}[2J", "\\u{1b}[2J")]
    {
        let (_, _, stderr) = place.output(&["--mode", "rpc", option, text]);
        assert!(stderr.contains(&format!("\"{shown}\"")) && !stderr.contains('\u{1b}'), "{stderr}");
    }
}

#[test]
fn the_log_level_is_configurable() {
    let place = Place::new();
    let line = "DEBUG agentese::rpc: start";
    let logged = |level: &str| {
        let mut command = place.command(&["--mode", "rpc", "--provider", "scripted"]);
        command.env("AGENTESE_LOG", level);
        Agent::start(command).finish().2.contains(line)
    };
    assert!(logged("debug") && logged("agentese=debug") && !logged("") && !logged("error"));
}
