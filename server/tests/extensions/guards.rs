//! Tests of missing guards: no tool runs while its guard is missing, unless the user permits it.

use std::process::Command;

use serde_json::{Value, json};

use super::host::{check_runs, command, file, limited, settings};
use crate::support::process::{Agent, Place};

/// Returns a script with four answers that each call a tool, and a final answer `done`. Each call creates a file.
fn four_calls() -> Value {
    let call = |number: u8| {
        let arguments = json!({"command": format!("touch ran-{number}")});
        json!({"blocks": [{"tool": {"id": format!("call{number}"), "name": "bash", "args": arguments}}]})
    };
    json!({"responses": [call(1), call(2), call(3), call(4)], "default": {"text": "done"}})
}

fn zoo(place: &Place, how: &str, events: &str, host: Value) -> Command {
    settings(place, host);
    let mut command = command(place, &["zoo"], four_calls());
    command.env("ZOO", how).env("ZOO_EVENTS", events);
    command
}

/// Returns the numbers of the executed calls.
fn executed_calls(place: &Place) -> Vec<u8> {
    (1..=4).filter(|number| place.work().join(format!("ran-{number}")).exists()).collect()
}

/// Runs one prompt. Returns the results of its four calls, as the model receives them.
#[track_caller]
fn run_results(agent: &mut Agent) -> Vec<String> {
    agent.prompt("go");
    let frames = agent.until_event("agent_end");
    let ends: Vec<_> = frames.iter().filter(|frame| frame["type"] == "tool_execution_end").collect();
    assert_eq!(ends.len(), 4);
    check_runs(&agent.seen);
    ends.iter().map(|end| end["result"]["content"][0]["text"].as_str().unwrap().to_owned()).collect()
}

/// Checks that all calls were blocked. From the second call on, the reason must be the failure of the extension at that
/// path.
#[track_caller]
fn check_blocked(place: &Place, results: &[String], path: &str, why: &str) {
    assert_eq!(executed_calls(place), [0; 0], "{results:#?}");
    for text in &results[1..] {
        assert!(text.starts_with(&format!("Blocked: the extension {path} ")), "{text}");
        assert!(text.contains(why) && text.contains("\"extensionHost\": {\"unguarded\": true}"), "{text}");
    }
}

fn patient() -> Value {
    json!({"hookTimeoutMs": 60_000})
}

#[test]
fn fm_f92_after_the_end_of_a_guard_every_call_is_blocked() {
    let path = file("zoo").display().to_string();
    for (how, why) in [
        ("kill", "guards tools and is not running (signal SIGKILL ended its process)"),
        ("exit", "guards tools and is not running (its process ended with code 3: last words)"),
        ("hang", "guards tools and is not running (no answer to tool_call within 200 ms)"),
        ("flood", "guards tools and is not running (it sent more than"),
        ("no-end", "guards tools and is not running (it sent a line of more than"),
    ] {
        let place = Place::new();
        let host = if how == "hang" { json!({"hookTimeoutMs": 200}) } else { patient() };
        let mut agent = Agent::start(zoo(&place, how, "tool_call", host));
        check_blocked(&place, &run_results(&mut agent), &path, why);
        agent.until_failures(1);
        assert_eq!(agent.failures().len(), 1, "{how}");
        assert_eq!(agent.finish().0.code(), Some(0), "{how}");
    }
}

#[test]
fn fm_f92_after_the_last_restart_every_call_is_blocked() {
    let place = Place::new();
    // The extension exits at each call, three times in total.
    let mut agent = Agent::start(zoo(&place, "exit", "tool_call", json!({"restarts": 2})));
    let results = run_results(&mut agent);
    assert_eq!(executed_calls(&place), [0; 0], "{results:#?}");
    assert!(
        results[3].contains("guards tools and is not running (its process ended with code 3"),
        "{results:#?}"
    );
    agent.until_failures(3);
    assert_eq!(agent.finish().0.code(), Some(0));
}

#[test]
fn fm_f92_guard_with_a_failed_restart_blocks() {
    let path = file("zoo").display().to_string();
    for (how, why) in [
        ("second-hangs", "it did not report its contents within 5000 ms"),
        ("second-refuses", "guards tools and is not running (load failed)"),
    ] {
        let place = Place::new();
        let mut agent =
            Agent::start(zoo(&place, how, "tool_call", json!({"restarts": 1, "startTimeoutMs": 5000})));
        let results = run_results(&mut agent);
        check_blocked(&place, &results, &path, "guards tools and is not running");
        assert!(results[3].contains(why), "{how}: {results:#?}");
        assert_eq!(agent.finish().0.code(), Some(0), "{how}");
    }
}

#[test]
fn fm_f92_extension_that_never_started_counts_as_a_guard() {
    for (how, events, why) in [
        ("never", "", "it did not report its contents within 300 ms"),
        ("exit-at-start", "", "its process ended with code 3: last words"),
        ("old", "", "it uses version 0 of the protocol, the agent version 1"),
    ] {
        let place = Place::new();
        let limit = if how == "never" { 300 } else { 60_000 };
        let mut agent = Agent::start(zoo(&place, how, events, json!({"startTimeoutMs": limit})));
        let results = run_results(&mut agent);
        check_blocked(&place, &results, &file("zoo").display().to_string(), why);
        assert!(results[0].contains("has not started, and may guard tools"), "{results:#?}");
        assert_eq!(agent.finish().0.code(), Some(0), "{how}");
    }
}

#[test]
fn fm_f92_extension_that_cannot_start_counts_as_a_guard() {
    let manifest = |entry: &str| json!({"runtime": "no-such-runtime", "entry": entry}).to_string();
    for (file, text, path, why) in [
        ("x/extension.json", manifest("main"), "x/main", "no-such-runtime did not start"),
        ("x/extension.json", manifest("gone"), "x", "does not exist"),
        ("x/extension.json", "{".to_owned(), "x", "EOF while parsing"),
        ("script.py", String::new(), "script.py", "it is not executable"),
        ("", String::new(), "gone.ts", "no such file"),
    ] {
        let place = Place::new();
        settings(&place, json!({}));
        place.put("installed/x/main", "");
        if !file.is_empty() {
            place.put(&format!("installed/{file}"), text);
        }
        let path = place.work().parent().unwrap().join("installed").join(path);
        let named = if path.ends_with("main") { path.parent().unwrap() } else { &path };
        let mut command = command(&place, &[], four_calls());
        command.arg("-e").arg(named);
        let mut agent = Agent::start(command);
        check_blocked(&place, &run_results(&mut agent), path.to_str().unwrap(), why);
        assert_eq!(agent.finish().0.code(), Some(0), "{path:?}");
    }
}

#[test]
fn fm_f92_without_node_the_extensions_of_pi_may_be_guards() {
    let place = Place::new();
    let path = place.put("installed/guard.ts", "export default () => {};");
    let mut command = command(&place, &[], four_calls());
    // PATH contains only the shell and the programs of the test.
    let programs = place.work().parent().unwrap().join("programs");
    std::fs::create_dir(&programs).unwrap();
    for name in ["sh", "bash", "touch"] {
        if let Some(real) = ["/bin", "/usr/bin"]
            .iter()
            .map(|folder| format!("{folder}/{name}"))
            .find(|path| std::path::Path::new(path).exists())
        {
            std::os::unix::fs::symlink(real, programs.join(name)).unwrap();
        }
    }
    command.arg("-e").arg(&path).env("PATH", &programs);
    let mut agent = Agent::start(command);
    check_blocked(
        &place,
        &run_results(&mut agent),
        path.to_str().unwrap(),
        "has not started, and may guard tools",
    );
}

#[test]
fn fm_f92_the_user_can_have_tools_run_without_their_guard() {
    for how in ["exit", "never"] {
        let place = Place::new();
        let limit = if how == "never" { 300 } else { 60_000 };
        let host = json!({"unguarded": true, "startTimeoutMs": limit});
        let mut agent = Agent::start(zoo(&place, how, "tool_call", host));
        let results = run_results(&mut agent);
        // The call in progress at the failure is blocked in any case, because the guard had not permitted it.
        let expected = if how == "exit" { &[2, 3, 4][..] } else { &[1, 2, 3, 4] };
        assert_eq!(executed_calls(&place), expected, "{results:#?}");
        assert_eq!(agent.finish().0.code(), Some(0));
    }
}

#[test]
fn end_of_a_non_guard_blocks_nothing() {
    let place = Place::new();
    let mut agent = Agent::start(zoo(&place, "", "input", patient()));
    agent.prompt("exit");
    agent.until_event("agent_end");
    agent.until_failures(1);
    assert_eq!(executed_calls(&place), [1, 2, 3, 4]);
}

#[test]
fn reported_load_error_blocks_nothing() {
    let place = Place::new();
    let mut agent = Agent::start(zoo(&place, "load-error", "tool_call", patient()));
    run_results(&mut agent);
    assert_eq!((executed_calls(&place), agent.failures()), (vec![1, 2, 3, 4], Vec::new()));
}

#[test]
fn fm_f92_manifest_declares_if_a_missing_extension_is_a_guard() {
    for (how, guards, expected) in [("exit-at-start", false, &[1, 2, 3, 4][..]), ("load-error", true, &[])] {
        let place = Place::new();
        settings(&place, json!({}));
        let mut command = command(&place, &[], four_calls());
        let manifest = json!({"runtime": "python3", "entry": file("zoo"), "guards": guards}).to_string();
        command.arg("-e").arg(place.put("installed/declared/extension.json", manifest)).env("ZOO", how);
        let mut agent = Agent::start(command);
        let results = run_results(&mut agent);
        assert_eq!(executed_calls(&place), expected, "{how}: {results:#?}");
    }
}

#[test]
fn fm_f92_a_session_of_33_mib_with_eight_images_leaves_its_guards_alive() {
    let place = Place::new();
    let session = place.put("work/large.jsonl", large_session());
    settings(&place, json!({}));
    let guard = place.put("installed/guard.ts", GUARD);
    let mut command = command(&place, &["zoo"], four_calls());
    command.arg("-e").arg(&guard);
    command.env("ZOO", "guard").env("ZOO_EVENTS", "tool_call,context").env("ZOO_WATCH", "state entries");
    let mut agent = Agent::start(command);
    let answer = agent.request(json!({"type": "switch_session", "sessionPath": session}));
    assert_eq!(answer["data"], json!({"cancelled": false}), "{answer}");
    let results = run_results(&mut agent);
    assert_eq!(results, ["guarded"; 4]);
    assert_eq!((executed_calls(&place), agent.failures()), (Vec::new(), Vec::new()));
    // The session arrived in several frames, completely.
    agent.prompt("/zoo");
    let entries =
        agent.request(json!({"type": "get_messages"}))["data"]["messages"].as_array().unwrap().len();
    assert_eq!(agent.next_notice(), format!("{} entries, true", entries));
    agent.prompt("/seen");
    assert_eq!(agent.next_notice(), format!("{} entries", entries));
    assert_eq!(agent.finish().0.code(), Some(0));
}

/// An extension that reads the conversation, replaces it, and counts the session entries.
const GUARD: &str = r#"
export default function (pi: any) {
  pi.on("tool_call", () => undefined);
  pi.on("context", (event: any) => ({ messages: event.messages }));
  pi.registerCommand("seen", {
    description: "",
    handler: async (_: string, ctx: any) => ctx.ui.notify(`${ctx.sessionManager.getEntries().length} entries`),
  });
}
"#;

/// Returns a session file with eight images of 4.1 MiB, each followed by an answer.
fn large_session() -> String {
    let header = json!({"type": "session", "version": 3, "id": "11111111-2222-4333-8444-555555555555",
        "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"});
    let mut lines = vec![header.to_string()];
    let mut parent = Value::Null;
    for number in 0..16 {
        let image = json!({"type": "image", "data": "A".repeat(43 << 17), "mimeType": "image/png"});
        let message = match number % 2 {
            0 => json!({"role": "user", "content": [image], "timestamp": 1}),
            _ => json!({"role": "assistant", "content": [{"type": "text", "text": "ok"}], "api": "a",
                "provider": "p", "model": "m", "stopReason": "stop", "timestamp": 1,
                "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
                    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}}),
        };
        let id = format!("{number:08x}");
        lines.push(
            json!({"type": "message", "id": id, "parentId": parent,
                "timestamp": "2026-01-01T00:00:00.000Z", "message": message})
            .to_string(),
        );
        parent = id.into();
    }
    lines.join("\n") + "\n"
}

#[test]
fn fm_f92_extension_that_stops_reading_blocks_for_a_limited_time() {
    let place = Place::new();
    let session = place.put("work/large.jsonl", large_session());
    let host = json!({"hookTimeoutMs": 1500});
    let mut command = {
        settings(&place, host);
        command(&place, &["zoo"], four_calls())
    };
    command.env("ZOO", "deaf").env("ZOO_EVENTS", "tool_call").env("ZOO_WATCH", "state entries");
    let mut agent = Agent::start(command);
    agent.request(json!({"type": "switch_session", "sessionPath": session}));
    let results = run_results(&mut agent);
    check_blocked(&place, &results, &file("zoo").display().to_string(), "guards tools and is not running");
    agent.until_failures(1);
    assert_eq!(agent.failures().len(), 1);
    assert_eq!(agent.finish().0.code(), Some(0));
}

#[test]
fn fm_f92_guard_blocks_after_the_end_of_its_shared_process() {
    let place = Place::new();
    settings(&place, json!({}));
    let guard =
        place.put("installed/guard.ts", "export default (pi: any) => pi.on('tool_call', () => undefined);");
    let faulty = place.put(
        "installed/faulty.ts",
        "export default (pi: any) => pi.on('input', (event: any) => { if (event.text === 'exit') process.exit(3); });",
    );
    let mut command = command(&place, &[], four_calls());
    command.arg("-e").arg(&guard).arg("-e").arg(&faulty);
    let mut agent = Agent::start(command);
    agent.prompt("exit");
    let frames = agent.until_event("agent_end");
    let ends: Vec<_> = frames.iter().filter(|frame| frame["type"] == "tool_execution_end").collect();
    for end in ends {
        let text = end["result"]["content"][0]["text"].as_str().unwrap();
        assert!(
            text.starts_with(&format!("Blocked: the extension {} guards tools", guard.display())),
            "{text}"
        );
    }
    assert_eq!(executed_calls(&place), [0; 0]);
}

#[test]
fn fm_f92_trust_in_the_directory_keeps_the_guards() {
    let place = Place::new();
    place.put("work/.pi/settings.json", json!({"extensionHost": {"unguarded": true}}).to_string());
    let mut agent = {
        let mut command = zoo(&place, "exit", "tool_call", patient());
        command.arg("--trust");
        Agent::start(command)
    };
    let results = run_results(&mut agent);
    check_blocked(&place, &results, &file("zoo").display().to_string(), "is not running");
}

#[test]
fn a_handler_that_the_extension_takes_away_itself_guards_no_more() {
    let place = Place::new();
    let mut agent = limited(&place, &["quits"], four_calls(), patient());
    agent.prompt("/quit");
    assert_eq!(agent.next_notice(), "quits");
    agent.until_failures(1);
    run_results(&mut agent);
    assert_eq!(executed_calls(&place), [1, 2, 3, 4]);
}
