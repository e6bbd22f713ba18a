//! Tests of the proxy as a program. It makes its change, and passes everything else on.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// An agent that answers every line, writes a last line to stderr, and ends with a special exit
/// code.
const AGENT: &str = r#"while read -r line; do echo "{\"type\":\"response\",\"command\":\"get_state\",\"success\":false,\"error\":\"no\",\"id\":1}"; done; echo over >&2; exit 7"#;

fn proxied(arguments: &[&str], script: &str, input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_agentese-conformance-defects"))
        .arg("proxy")
        .args(arguments)
        .args(["--", "/bin/sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

const REQUEST: &str = "{\"id\":1,\"type\":\"get_state\"}\n";
const ANSWER: &str =
    "{\"type\":\"response\",\"command\":\"get_state\",\"success\":false,\"error\":\"no\",\"id\":1}\n";

#[test]
fn without_a_mutator_everything_goes_through() {
    let output = proxied(&[], AGENT, &REQUEST.repeat(3));
    assert_eq!(String::from_utf8_lossy(&output.stdout), ANSWER.repeat(3));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "over\n");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn one_place_is_changed_and_logged() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.json");
    let output = proxied(
        &["--mutator", "success-flipped", "--at", "1", "--log", log.to_str().unwrap()],
        AGENT,
        &REQUEST.repeat(3),
    );
    let wrong = ANSWER.replace("false", "true");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{ANSWER}{wrong}{ANSWER}"));
    let log: Value = serde_json::from_slice(&std::fs::read(log).unwrap()).unwrap();
    assert_eq!(log["applied"]["line"], 1);
    assert_eq!(log["applied"]["place"], "success");
    assert_eq!(log["applied"]["after"], wrong);
}

#[test]
fn the_end_of_the_agent_can_be_changed() {
    let output = proxied(&["--mutator", "other-exit-code"], AGENT, REQUEST);
    assert_eq!(String::from_utf8_lossy(&output.stdout), ANSWER);
    assert_eq!(output.status.code(), Some(3));
    let output = proxied(&["--mutator", "crashes", "--at", "0"], AGENT, &REQUEST.repeat(2));
    assert_eq!(String::from_utf8_lossy(&output.stdout), ANSWER);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_proxy_ends_by_the_same_signal_as_the_agent() {
    use std::os::unix::process::ExitStatusExt as _;
    let output = proxied(&[], "kill -TERM $$", "");
    assert_eq!(output.status.signal(), Some(15));
}

#[test]
fn signals_go_on_to_the_agent() {
    use std::io::{BufRead as _, BufReader};
    // The script prints a line when it runs, and another one when it receives the signal.
    let script = "trap 'echo heard; exit 5' TERM; echo there; while :; do sleep 0.05; done";
    let mut child = Command::new(env!("CARGO_BIN_EXE_agentese-conformance-defects"))
        .args(["proxy", "--", "/bin/sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "there");
    let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "heard");
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
fn a_mutator_that_cannot_work_live_is_rejected() {
    let output = proxied(&["--mutator", "drop-last"], AGENT, "");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("works within `run` alone"));
    let output = proxied(&["--mutator", "nonsense"], AGENT, "");
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no mutator `nonsense`"));
}
