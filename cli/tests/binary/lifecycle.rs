//! Tests of the start and the end of the process, and of processes that must not remain.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::LONG;
use crate::support::process::{Agent, Place, assert_gone, is_alive, pid_in};
use crate::support::trace::check_run;

/// Returns a tool call that never ends by itself and has a child process.
fn endless_tool() -> Value {
    json!({"responses": [
        {"blocks": [{"tool": {"name": "bash", "args": {"command": "sleep 1000 & echo $! > child; echo $$ > shell; echo on; wait"}}}]},
    ], "default": {"text": "ok"}})
}

#[test]
fn fm_f28_the_end_of_stdin_while_idle_is_the_end() {
    let place = Place::new();
    let (status, stdout, stderr) = place.output(&["--mode", "rpc", "--provider", "scripted"]);
    assert_eq!((status.code(), stdout.as_str(), stderr.as_str()), (Some(0), "", ""));
    let mut agent = Agent::start(place.command(&["--mode", "rpc", "--provider", "scripted"]));
    agent.request(json!({"type": "get_state"}));
    assert_eq!(agent.finish().0.code(), Some(0));
}

#[test]
fn fm_f15_the_last_line_needs_no_line_feed() {
    let place = Place::new();
    for (line, success) in [("{\"type\":\"get_state\"}", true), ("{\"type\":\"get_st", false)] {
        let mut agent = Agent::start(place.command(&["--mode", "rpc", "--provider", "scripted"]));
        agent.send_raw(line.as_bytes());
        let (status, stdout, _) = agent.finish();
        assert_eq!(status.code(), Some(0));
        assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap()["success"], success);
    }
}

#[test]
fn fm_f29_started_work_finishes_after_the_end_of_stdin() {
    let place = Place::new();
    let mut agent = place.scripted(json!({"responses": [
        {"blocks": [{"text": "a"}, {"tool": {"name": "bash", "args": {"command": "echo on; until [ -e go ]; do sleep 0.01; done; echo off"}}}]},
        {"text": "end", "delay_ms": 5},
    ]}));
    agent.send(
        json!({"id": "b", "type": "bash", "command": "until [ -e go ]; do sleep 0.01; done; echo bash"}),
    );
    agent.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    agent.until_event("tool_execution_update");
    agent.close_stdin();
    std::fs::write(place.work().join("go"), "").unwrap();
    while agent.next().is_some() {}
    assert_eq!(agent.wait().code(), Some(0));
    check_run(&agent.seen);
    let bash = agent.seen.iter().find(|frame| frame["id"] == "b").unwrap();
    assert_eq!(bash["data"]["output"], "bash\n");
    let end = agent.seen.iter().find(|frame| frame["type"] == "agent_end").unwrap();
    assert_eq!(end["messages"].as_array().unwrap().last().unwrap()["content"][0]["text"], "end");
}

#[test]
fn fm_f31_a_closed_stdout_ends_everything_while_it_works() {
    let place = Place::new();
    let script = place.script(json!({"responses": [
        {"blocks": [{"text_repeat": {"chunk": "word ", "n": 2000}}], "delay_ms": 1},
    ]}));
    let mut agent =
        Agent::start_without_stdout_reader(place.command(&["--mode", "rpc", "--script", &script]));
    agent.send(json!({"type": "prompt", "message": "go"}));
    agent.close_stdout();
    let status = agent.wait();
    assert_eq!(status.code(), Some(0));
    assert_eq!(agent.stderr(), "");
}

#[test]
fn fm_f31_fm_f32_a_closed_stdout_is_noticed_in_silence_too() {
    let place = Place::new();
    let script = place.script(endless_tool());
    let mut agent =
        Agent::start_without_stdout_reader(place.command(&["--mode", "rpc", "--script", &script]));
    agent.send(json!({"type": "prompt", "message": "go"}));
    let child = pid_in(&place.work().join("child"));
    // As after the death of the parent, both pipes are closed and no write is pending.
    agent.close_stdin();
    assert!(is_alive(child));
    agent.close_stdout();
    assert_eq!(agent.wait().code(), Some(0));
    assert_gone(child);
}

#[test]
fn a_signal_causes_an_orderly_end() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let place = Place::new();
        let mut agent = place.scripted(endless_tool());
        agent.send(json!({"type": "prompt", "message": "go"}));
        agent.until_event("tool_execution_update");
        let (child, shell) = (pid_in(&place.work().join("child")), pid_in(&place.work().join("shell")));
        agent.signal(signal);
        while agent.next().is_some() {}
        assert_eq!(agent.wait().code(), Some(0));
        check_run(&agent.seen);
        assert_gone(child);
        assert_gone(shell);
    }
}

#[test]
fn fm_f30_the_end_of_stdin_and_a_signal_together_are_one_end() {
    // The moments between the steps are tested too, so the test does not wait.
    for (signal_first, between) in
        [false, true].into_iter().flat_map(|first| [0, 300, 2000].map(|micros| (first, micros)))
    {
        let place = Place::new();
        let mut agent = place.scripted(endless_tool());
        agent.send(json!({"type": "prompt", "message": "go"}));
        agent.until_event("tool_execution_update");
        let child = pid_in(&place.work().join("child"));
        if signal_first {
            agent.signal(Signal::TERM);
        } else {
            agent.close_stdin();
        }
        std::thread::sleep(Duration::from_micros(between));
        if signal_first {
            agent.close_stdin();
        } else {
            agent.signal(Signal::TERM);
        }
        while agent.next().is_some() {}
        assert_eq!(agent.wait().code(), Some(0), "{signal_first}, {between}");
        check_run(&agent.seen);
        assert_gone(child);
    }
}

/// The shell holds both pipes of the agent, like any other client.
#[test]
fn fm_f32_a_parent_that_is_killed_ends_the_agent_and_its_commands() {
    let place = Place::new();
    let script = place.script(endless_tool());
    let agent = place.command(&["--mode", "rpc", "--script", &script]);
    let parent = "mkfifo in out; \"$0\" \"$@\" <in >out & echo $! > agent; exec 3>in 4<out; \
                  echo '{\"type\":\"prompt\",\"message\":\"go\"}' >&3; read forever";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", parent]).arg(agent.get_program()).args(agent.get_args()).current_dir(place.work());
    for (name, value) in agent.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let mut shell = shell.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let (agent, child) = (pid_in(&place.work().join("agent")), pid_in(&place.work().join("child")));
    assert!(is_alive(agent) && is_alive(child));
    shell.kill().unwrap();
    shell.wait().unwrap();
    assert_gone(agent);
    assert_gone(child);
}

#[test]
fn fm_f44_a_second_signal_is_the_end_at_once() {
    let place = Place::new();
    // A client that does not read delays the orderly end.
    let script =
        place.script(json!({"responses": [{"blocks": [{"text_repeat": {"chunk": "word ", "n": 4000}}]}]}));
    let mut agent =
        Agent::start_without_stdout_reader(place.command(&["--mode", "rpc", "--script", &script]));
    agent.send(json!({"type": "prompt", "message": "go"}));
    agent.send(json!({"type": "bash", "command": "echo $$ > pid; exec sleep 1000"}));
    let child = pid_in(&place.work().join("pid"));
    let start = Instant::now();
    let mut signals = 0;
    // Two signals at the same moment may be merged, so the second one is repeated until it takes
    // effect.
    let status = loop {
        if signals < 100 {
            agent.signal(Signal::TERM);
            signals += 1;
        }
        assert!(start.elapsed() < LONG, "the agent still runs");
        std::thread::sleep(Duration::from_millis(20));
        if !is_alive(agent.pid()) {
            break agent.wait();
        }
    };
    assert_eq!(status.code(), Some(128 + 15));
    assert_gone(child);
}

#[test]
fn nothing_outlives_a_killed_server() {
    let place = Place::new();
    let mut agent = place.scripted(endless_tool());
    agent.send(json!({"type": "prompt", "message": "go"}));
    agent.send(json!({"type": "bash", "command": "echo $$ > own; exec sleep 1000"}));
    let children = ["child", "shell", "own"].map(|file| pid_in(&place.work().join(file)));
    agent.signal(Signal::KILL);
    agent.wait();
    for child in children {
        assert_gone(child);
    }
}

#[test]
fn an_abort_ends_the_whole_group_of_a_tool() {
    let place = Place::new();
    let mut agent = place.scripted(endless_tool());
    agent.send(json!({"type": "prompt", "message": "go"}));
    agent.until_event("tool_execution_update");
    let children = ["child", "shell"].map(|file| pid_in(&place.work().join(file)));
    agent.request(json!({"type": "abort"}));
    for child in children {
        assert_gone(child);
    }
    check_run(&agent.seen);
    agent.send(json!({"type": "prompt", "message": "again"}));
    agent.until_event("agent_end");
}
