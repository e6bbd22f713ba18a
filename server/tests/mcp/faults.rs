//! Tests of servers that misbehave.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{
    agent, calling, command, finish, log, one_by_one, result_text, results, run, texts,
    until_prompt_is_listed, zoo,
};
use crate::support::LONG;
use crate::support::process::{Agent, Place, assert_gone, is_alive, pid_in};

/// Returns a path beside the working directory.
fn outside_path(place: &Place, name: &str) -> std::path::PathBuf {
    place.work().parent().unwrap().join(name)
}

/// Returns the frames that report ended servers to the client.
fn failure_reports(frames: &[Value]) -> Vec<&Value> {
    frames.iter().filter(|frame| frame["type"] == "extension_error").collect()
}

#[test]
fn fm_f91_server_crash_in_a_call_is_reported_and_the_server_restarted() {
    let place = Place::new();
    let script = one_by_one(&[("die", json!({})), ("echo", json!({"text": "again"}))]);
    let settings = json!({"restartPauseMs": 1});
    let mut agent = Agent::start(command(&place, json!({"zoo": zoo(&[])}), settings, script, &[]));
    let frames = run(&mut agent);
    let end = results(&frames)[0];
    assert!(
        end["isError"] == true && result_text(end).starts_with("The MCP server zoo has disconnected: "),
        "{end}"
    );
    until_prompt_is_listed(&mut agent, "feed");
    assert_eq!(texts(&run(&mut agent)), ["zoo: again"]);
    let reports: Vec<_> = failure_reports(&agent.seen).into_iter().cloned().collect();
    assert_eq!(reports.len(), 1, "{reports:#?}");
    assert_eq!(reports[0]["extensionPath"], "mcp:zoo");
    assert_eq!(
        reports[0]["error"],
        "its process ended with code 3: I do not feel well; it is started again in 1 ms"
    );
    let stderr = finish(agent);
    assert!(stderr.contains("mcp:zoo: it is running again"), "{stderr}");
}

#[test]
fn fm_f91_tools_of_an_ended_server_disappear() {
    let place = Place::new();
    let script = one_by_one(&[("die", json!({})), ("echo", json!({}))]);
    let settings = json!({"restarts": 0});
    let mut agent = Agent::start(command(&place, json!({"zoo": zoo(&[])}), settings, script, &[]));
    run(&mut agent);
    // The server has ended once the client has received the report.
    if failure_reports(&agent.seen).is_empty() {
        agent.until_event("extension_error");
    }
    assert_eq!(texts(&run(&mut agent)), ["Tool echo not found"]);
    let error = failure_reports(&agent.seen)[0]["error"].as_str().unwrap();
    assert!(error.ends_with("I do not feel well; it is not started again"), "{error}");
    finish(agent);
}

#[test]
fn fm_f91_a_call_without_an_answer_ends_at_its_limit_and_is_cancelled() {
    let place = Place::new();
    let notes = outside_path(&place, "notes");
    let server = zoo(&["--log", notes.to_str().unwrap()]);
    let done = outside_path(&place, "done");
    let works = ("works", json!({"file": done}));
    let calls = [("hang", json!({})), works, ("echo", json!({"text": "still here"}))];
    let limit = 3000;
    let settings = json!({"callTimeoutMs": limit});
    let mut agent = agent(&place, json!({"zoo": server}), settings, &calls);
    agent.send(json!({"type": "prompt", "message": "go"}));
    let mut frames = agent.until("the second call", |frame| {
        frame["type"] == "tool_execution_start" && frame["toolName"] == "works"
    });
    // Progress restarts the time limit. This call exceeds the limit, with a pause of 20 ms before each update
    // but the first.
    for _ in 0..limit * 5 / 4 / 20 {
        frames.extend(agent.until_event("tool_execution_update"));
    }
    std::fs::write(done, "").unwrap();
    frames.extend(agent.until_event("agent_end"));
    let texts = texts(&frames);
    assert!(texts[0].starts_with("The MCP server zoo sent no answer or progress for 3000 ms"), "{texts:?}");
    assert_eq!(texts[1..], ["works is done", "zoo: still here"]);
    assert!(log(&notes).iter().any(|word| word == "notifications/cancelled"), "{:?}", log(&notes));
    assert!(failure_reports(&frames).is_empty());
    finish(agent);
}

#[test]
fn fm_f91_an_abort_cancels_the_call_at_the_server() {
    let place = Place::new();
    let notes = outside_path(&place, "notes");
    let server = zoo(&["--log", notes.to_str().unwrap()]);
    let mut agent =
        agent(&place, json!({"zoo": server}), json!({"callTimeoutMs": 600_000}), &[("hang", json!({}))]);
    agent.send(json!({"type": "prompt", "message": "go"}));
    agent.until_event("tool_execution_start");
    wait_for(&notes, "tools/call");
    agent.send(json!({"id": "stop", "type": "abort"}));
    let frames = agent.until("the abort", |frame| frame["id"] == "stop");
    assert_eq!(result_text(results(&frames)[0]), "Operation aborted");
    wait_for(&notes, "notifications/cancelled");
    // The agent did not have to abandon the call.
    let stderr = finish(agent);
    assert!(!stderr.contains("is dropped"), "{stderr}");
}

/// Waits until the server has recorded this message as received.
#[track_caller]
fn wait_for(notes: &std::path::Path, word: &str) {
    let start = Instant::now();
    while !log(notes).iter().any(|known| known == word) {
        assert!(start.elapsed() < LONG, "{word} does not come: {:?}", log(notes));
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn fm_f91_a_server_that_answers_nothing_any_more_is_started_again() {
    let place = Place::new();
    let pids = outside_path(&place, "pids");
    let script = one_by_one(&[("freeze", json!({})), ("echo", json!({"text": "again"}))]);
    let settings = json!({"callTimeoutMs": 100, "restartPauseMs": 1});
    let servers = json!({"zoo": zoo(&["--pid", pids.to_str().unwrap()])});
    let mut agent = Agent::start(command(&place, servers, settings, script, &[]));
    let frames = run(&mut agent);
    assert!(texts(&frames)[0].contains("sent no answer"), "{frames:#?}");
    if failure_reports(&agent.seen).is_empty() {
        agent.until_event("extension_error");
    }
    let error = failure_reports(&agent.seen)[0]["error"].clone();
    assert_eq!(error, "it does not answer; it is started again in 1 ms");
    until_prompt_is_listed(&mut agent, "feed");
    assert_eq!(log(&pids).len(), 2);
    finish(agent);
}

#[test]
fn fm_f91_huge_output_is_cut_and_kept_in_a_file() {
    let place = Place::new();
    let size = 3_000_000;
    let mut agent = agent(&place, json!({"zoo": zoo(&[])}), json!({}), &[("huge", json!({"size": size}))]);
    let frames = run(&mut agent);
    let text = texts(&frames)[0];
    assert!(text.len() < 60_000, "{}", text.len());
    let path = text.split("Full output: ").nth(1).unwrap().trim_end_matches(']');
    assert_eq!(std::fs::metadata(path).unwrap().len(), size / 13 * 13);
    finish(agent);
}

#[test]
fn fm_f91_a_message_without_an_end_ends_the_server_and_not_the_agent() {
    let place = Place::new();
    let settings = json!({"restarts": 0});
    let mut agent = agent(&place, json!({"zoo": zoo(&[])}), settings, &[("endless", json!({}))]);
    let frames = run(&mut agent);
    let text = texts(&frames)[0];
    assert_eq!(text, "The MCP server zoo has disconnected: it sent a message of more than 16 MiB");
    finish(agent);
}

#[test]
fn fm_f91_invalid_message_is_reported_on_stderr_and_ignored() {
    let place = Place::new();
    let calls = [("echo", json!({"text": "fine"}))];
    let mut agent = agent(&place, json!({"zoo": zoo(&["--junk"])}), json!({}), &calls);
    assert_eq!(texts(&run(&mut agent)), ["zoo: fine"]);
    let stderr = finish(agent);
    assert!(
        stderr.contains("mcp:zoo: a line on its stdout is not a message: Welcome to the zoo!"),
        "{stderr}"
    );
}

#[test]
fn the_first_prompt_waits_for_servers_that_start_and_not_for_ever() {
    let place = Place::new();
    let calls = [("echo", json!({"text": "late"}))];
    let mut slow = agent(&place, json!({"zoo": zoo(&["--slow", "0.5"])}), json!({"waitMs": 60_000}), &calls);
    assert_eq!(texts(&run(&mut slow)), ["zoo: late"]);
    finish(slow);
    let mut never = agent(&place, json!({"zoo": zoo(&["--never"])}), json!({"waitMs": 50}), &calls);
    assert_eq!(texts(&run(&mut never)), ["Tool echo not found"]);
    let stderr = finish(never);
    assert!(stderr.contains("mcp:zoo: it is still starting after 50 ms"), "{stderr}");
}

#[test]
fn an_abort_ends_the_wait_for_servers() {
    let place = Place::new();
    let mut agent = agent(&place, json!({"zoo": zoo(&["--never"])}), json!({"waitMs": 60_000}), &[]);
    agent.send(json!({"id": "go", "type": "prompt", "message": "go"}));
    assert_eq!(agent.request(json!({"type": "get_state"}))["data"]["isStreaming"], false);
    agent.send(json!({"id": "stop", "type": "abort"}));
    let frames = [agent.next().unwrap(), agent.next().unwrap()];
    let refused = frames.iter().find(|frame| frame["id"] == "go").unwrap();
    assert_eq!(refused["success"], false, "{refused}");
    finish(agent);
}

#[test]
fn fm_f91_failed_server_start_is_reported_and_affects_nothing_else() {
    let place = Place::new();
    let servers = json!({
        "crashes": zoo(&["--crash"]),
        "missing": {"command": "no-such-program-anywhere"},
        "gone": {"type": "http", "url": "http://127.0.0.1:1/mcp?key=canary-of-the-address"},
        "late": {"type": "sse", "url": "http://127.0.0.1:1/sse"},
        "zoo": zoo(&[]),
    });
    let settings = json!({"restarts": 1, "restartPauseMs": 1});
    let mut agent = agent(&place, servers, settings, &[("echo", json!({"text": "fine"}))]);
    assert_eq!(texts(&run(&mut agent)), ["zoo: fine"]);
    // Two of the requests are retried.
    let over = |frames: &[Value]| {
        let ends = |frame: &&&Value| {
            let error = frame["error"].as_str().unwrap();
            error.ends_with("it is not started again") || error.contains("did not start: No such file")
        };
        failure_reports(frames).iter().filter(ends).count() == 3
    };
    while !over(&agent.seen) {
        agent.until_event("extension_error");
    }
    let errors: Vec<String> = failure_reports(&agent.seen)
        .iter()
        .map(|frame| {
            format!("{}: {}", frame["extensionPath"].as_str().unwrap(), frame["error"].as_str().unwrap())
        })
        .collect();
    for part in [
        "mcp:crashes: it did not start: its process ended with code 7: no zoo today; it is started again in 1 ms",
        "mcp:missing: no-such-program-anywhere did not start: No such file or directory (os error 2)",
        "mcp:gone: it cannot be reached: Connection refused (os error 111); it is not started again",
        "mcp:late: the type \"sse\" is not supported",
    ] {
        assert!(errors.iter().any(|error| error.starts_with(part)), "{part}: {errors:#?}");
    }
    let stderr = finish(agent);
    assert!(stderr.contains("mcp.json: MCP server \"late\": the type \"sse\" is not supported"), "{stderr}");
    assert!(!stderr.contains("canary"), "{stderr}");
}

#[test]
fn fm_f91_no_server_and_no_child_of_one_outlives_the_agent() {
    for kill in [None, Some(Signal::TERM), Some(Signal::KILL)] {
        let place = Place::new();
        let (pids, child) = (outside_path(&place, "pids"), outside_path(&place, "child"));
        let server = zoo(&["--stubborn", "--pid", pids.to_str().unwrap()]);
        let mut agent =
            agent(&place, json!({"zoo": server}), json!({}), &[("child", json!({"file": child}))]);
        assert_eq!(texts(&run(&mut agent)), ["child is done"]);
        let pids = [pid_in(&pids), pid_in(&child)];
        assert!(pids.iter().all(|pid| is_alive(*pid)));
        match kill {
            None => drop(finish(agent)),
            Some(signal) => {
                agent.signal(signal);
                agent.wait();
            }
        }
        pids.into_iter().for_each(assert_gone);
    }
}

#[test]
fn a_bad_file_is_reported_once_and_the_agent_serves() {
    let place = Place::new();
    let mut command = command(&place, json!({}), json!({}), calling(&[]), &[]);
    place.put(crate::harness::USER_CONFIG, "{\"mcpServers\": ");
    command.env("AGENTESE_LOG", "warn");
    let mut agent = Agent::start(command);
    run(&mut agent);
    let stderr = finish(agent);
    assert_eq!(stderr.matches("mcp.json").count(), 1, "{stderr}");
    assert!(stderr.contains("its MCP servers are ignored"), "{stderr}");
}
