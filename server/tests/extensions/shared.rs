//! Tests of extensions of pi that share a process, even if one of them damages it. They need Node.

use serde_json::{Value, json};

use super::host::{check_runs, command, plain, runs, settings};
use crate::support::process::{Agent, Place, assert_gone, pid_in};

/// An extension that records its process id and its requests.
const GUARD: &str = r#"
import { appendFileSync, writeFileSync } from "node:fs";
export default function (pi: any) {
  writeFileSync("own", `${process.pid}\n`);
  pi.on("tool_call", () => appendFileSync("asked", "asked\n"));
}
"#;

/// An extension that runs the user's input as code.
const FAULTY: &str = r#"
export default function (pi: any) {
  pi.on("input", async (event: any) => {
    if (event.text === "spin") for (;;);
    if (event.text === "exit") process.exit(3);
    if (event.text === "wait") await new Promise(() => {});
  });
}
"#;

/// Starts an agent with the two extensions, the guard first. Returns their paths.
fn both(place: &Place, script: Value, host: Value) -> (Agent, [String; 2]) {
    settings(place, host);
    let paths = [("guard", GUARD), ("faulty", FAULTY)]
        .map(|(name, text)| place.put(&format!("installed/{name}.ts"), text).to_str().unwrap().to_owned());
    let mut command = command(place, &[], script);
    command.arg("-e").arg(&paths[0]).arg("-e").arg(&paths[1]);
    (Agent::start(command), paths)
}

#[track_caller]
fn single_failure(agent: &Agent) -> (&str, &str) {
    let failures = agent.failures();
    assert_eq!(failures.len(), 1, "{failures:#?}");
    let text = |member: &str| failures[0][member].as_str().unwrap();
    (text("extensionPath"), text("error"))
}

#[test]
fn fm_f92_spinning_extension_restarts_the_shared_process() {
    let place = Place::new();
    let host = json!({"hookTimeoutMs": 1500, "restarts": 1});
    let (mut agent, [guard, faulty]) = both(&place, runs("touch ran"), host);
    agent.request(json!({"type": "get_state"}));
    let first = pid_in(&place.work().join("own"));
    agent.prompt("spin");
    agent.until_event("agent_end");
    let error = format!(
        "no answer to input within 1500 ms, and no answer to other requests (it served {guard}, {faulty})"
    );
    assert_eq!(single_failure(&agent), (faulty.as_str(), error.as_str()));
    assert_gone(first);
    // The restarted guard received the request and permitted the call.
    assert_ne!(pid_in(&place.work().join("own")), first);
    assert_eq!(std::fs::read_to_string(place.work().join("asked")).unwrap(), "asked\n");
    assert!(place.work().join("ran").exists());
    agent.prompt("and on");
    agent.until_event("agent_end");
    check_runs(&agent.seen);
    assert_eq!(agent.failures().len(), 1);
    assert_eq!(agent.finish().0.code(), Some(0));
}

#[test]
fn fm_f92_hanging_extension_is_excluded_and_the_others_stay() {
    let place = Place::new();
    let (mut agent, [_, faulty]) = both(&place, runs("touch ran"), json!({"hookTimeoutMs": 1500}));
    agent.request(json!({"type": "get_state"}));
    let first = pid_in(&place.work().join("own"));
    agent.prompt("wait");
    agent.until_event("agent_end");
    assert_eq!(single_failure(&agent), (faulty.as_str(), "no answer to input within 1500 ms"));
    assert_eq!(std::fs::read_to_string(place.work().join("asked")).unwrap(), "asked\n");
    assert_eq!(pid_in(&place.work().join("own")), first);
    assert!(place.work().join("ran").exists());
    assert_eq!(agent.finish().0.code(), Some(0));
}

#[test]
fn fm_f92_extension_that_ends_the_shared_process_is_named() {
    let place = Place::new();
    let (mut agent, [guard, faulty]) = both(&place, plain(), json!({}));
    agent.prompt("exit");
    agent.until_event("agent_end");
    agent.until_failures(1);
    let error = format!("its process ended with code 3 (it served {guard}, {faulty})");
    assert_eq!(single_failure(&agent), (faulty.as_str(), error.as_str()));
    assert_eq!(agent.finish().0.code(), Some(0));
}
