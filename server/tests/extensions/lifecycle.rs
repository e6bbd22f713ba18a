//! Tests of the start and the end of extensions.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::json;

use super::host::{agent, command, file, plain};
use crate::support::process::{Agent, Place, assert_gone, is_alive, pid_in};

/// Starts an agent with an extension that has a child process. Returns the process ids of the extension and of its
/// child.
fn agent_with_child_process(place: &Place) -> (Agent, [rustix::process::Pid; 2]) {
    let mut command = command(place, &["zoo"], plain());
    command.env("ZOO", "child");
    let mut agent = Agent::start(command);
    assert_eq!(agent.next_notice(), "started");
    let pids = [pid_in(&place.work().join("own")), pid_in(&place.work().join("child"))];
    assert!(pids.into_iter().all(is_alive));
    (agent, pids)
}

#[test]
fn extensions_end_with_the_agent() {
    let place = Place::new();
    let (agent, pids) = agent_with_child_process(&place);
    let (status, _, stderr) = agent.finish();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
    pids.into_iter().for_each(assert_gone);
}

#[test]
fn fm_f92_extensions_do_not_outlive_a_killed_agent() {
    let place = Place::new();
    let (mut agent, pids) = agent_with_child_process(&place);
    agent.signal(Signal::KILL);
    agent.wait();
    pids.into_iter().for_each(assert_gone);
}

#[test]
fn fm_f92_a_client_that_dies_with_a_dialog_open_leaves_nothing() {
    let place = Place::new();
    let (mut agent, pids) = {
        let mut command = command(&place, &["zoo", "ui"], plain());
        command.env("ZOO", "child");
        let mut agent = Agent::start(command);
        assert_eq!(agent.next_notice(), "started");
        (agent, [pid_in(&place.work().join("own")), pid_in(&place.work().join("child"))])
    };
    agent.prompt("/ask-editor");
    agent.next_dialog();
    agent.close_stdin();
    while agent.next().is_some() {}
    assert_eq!(agent.wait().code(), Some(0));
    pids.into_iter().for_each(assert_gone);
}

#[test]
fn a_dialog_does_not_keep_the_agent_after_the_end_of_stdin() {
    let place = Place::new();
    let mut agent = agent(&place, &["ui"], plain());
    agent.prompt("/ask-select");
    agent.next_dialog();
    agent.close_stdin();
    while let Some(frame) = agent.next() {
        assert!(frame["type"] != "extension_error", "{frame}");
    }
    // A shutdown that is cut short by a delay exits with 1.
    assert_eq!(agent.wait().code(), Some(0));
}

fn listed(mut agent: Agent) -> (usize, String) {
    let commands = agent.request(json!({"type": "get_commands"}));
    let count = commands["data"]["commands"].as_array().unwrap().len();
    (count, agent.finish().2)
}

#[test]
fn extensions_of_a_directory_need_trust() {
    let place = Place::new();
    let program = place.put("work/.pi/extensions/ui.py", std::fs::read(file("ui")).unwrap());
    let text = format!("#!/usr/bin/env python3\n{}", std::fs::read_to_string(&program).unwrap());
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (count, stderr) = listed(Agent::start(command(&place, &[], plain())));
    assert_eq!(count, 0);
    assert!(stderr.contains(".pi/extensions is not read because the directory is not trusted"), "{stderr}");
    let with = |option: &str| {
        let mut command = command(&place, &[], plain());
        command.arg("--trust").arg(option);
        listed(Agent::start(command))
    };
    let (count, stderr) = with("--offline");
    assert!(count > 5, "{count}: {stderr}");
    assert_eq!(with("--no-extensions").0, 0);
}

#[test]
fn load_failure_is_reported_on_stderr_and_the_agent_starts() {
    let place = Place::new();
    let no_runtime = place.put("home/.pi/agent/extensions/lost.py", "");
    let mut command = command(&place, &[], plain());
    command.arg("-e").arg("gone");
    let mut agent = Agent::start(command);
    assert_eq!(agent.request(json!({"type": "get_state"}))["success"], true);
    assert_eq!(agent.seen.len(), 1);
    let (_, _, stderr) = agent.finish();
    for part in [no_runtime.to_str().unwrap(), "not executable", "gone", "no such file"] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
}

#[test]
fn reported_load_error_is_on_stderr() {
    let place = Place::new();
    let mut command = command(&place, &["zoo"], plain());
    command.env("ZOO", "load-error");
    let mut agent = Agent::start(command);
    agent.request(json!({"type": "get_state"}));
    assert_eq!(agent.seen.len(), 1);
    let stderr = agent.finish().2;
    let expected = format!("Failed to load extension \"{}\": load failed", file("zoo").display());
    assert!(stderr.contains(&expected), "{stderr}");
}

#[test]
fn waiting_prompt_starts_before_the_end_of_stdin_stops_everything() {
    let place = Place::new();
    let mut command = command(&place, &["late"], plain());
    command.args(["--dialect", "omp"]);
    let mut agent = Agent::start(command);
    agent.send(json!({"id": "p", "type": "prompt", "message": "/greet all"}));
    agent.close_stdin();
    place.put("work/go", "");
    let mut frames = Vec::new();
    while let Some(frame) = agent.next() {
        frames.push(frame);
    }
    assert_eq!(agent.wait().code(), Some(0));
    assert!(frames.iter().any(|frame| frame["message"] == "hello all"), "{frames:?}");
    assert!(frames.iter().any(|frame| frame["id"] == "p" && frame["success"] == true), "{frames:?}");
    assert!(!frames.iter().any(|frame| frame["success"] == false), "{frames:?}");
}
