//! Tests of aborts: an abort withdraws every request that an extension does not answer. The time limit of the requests
//! is longer than any test.

use serde_json::{Value, json};

use super::host::command;
use crate::support::process::{Agent, Place};

fn agent(place: &Place, event: &str, script: Value) -> Agent {
    let host = json!({"hookTimeoutMs": 3_600_000, "startTimeoutMs": 60_000});
    let all = json!({"extensionHost": host, "compaction": {"reserveTokens": 100_000, "keepRecentTokens": 1}});
    place.put("home/.pi/agent/settings.json", all.to_string());
    let mut command = command(place, &["zoo"], script);
    command.env("ZOO_EVENTS", event).env("ZOO_UNANSWERED", event);
    Agent::start(command)
}

/// Returns a model script that answers two prompts, and then calls a tool if that is necessary to cause the event.
fn script(event: &str) -> Value {
    if event.contains("compact") {
        return json!({"responses": [], "default": {"text": "words"}});
    }
    let call = json!({"blocks": [{"tool": {"id": "call", "name": "bash", "args": {"command": "true"}}}]});
    json!({"responses": [{"text": "one"}, {"text": "two"}, call], "default": {"text": "ok"}})
}

/// Sends a command, and aborts as soon as the extension has received the request. Waits until the command and the abort
/// have responses; returns the response to the command.
#[track_caller]
fn abort_during_command(agent: &mut Agent, event: &str, command: &Value) -> Value {
    agent.send(command.clone());
    while agent.next_notice() != format!("asked {event}") {}
    agent.send(json!({"id": "abort", "type": "abort"}));
    let mut answers: [Option<Value>; 2] = [None, None];
    while answers.iter().any(Option::is_none) {
        let frame = agent.next().expect("both are answered");
        for (answer, id) in answers.iter_mut().zip(["c", "abort"]) {
            if frame["id"] == id && frame["type"] == "response" {
                *answer = Some(frame.clone());
            }
        }
        // A prompt is answered earlier.
        if command["type"] == "prompt" {
            let seen = agent.seen.iter().rfind(|frame| frame["id"] == "c" && frame["type"] == "response");
            answers[0] = seen.cloned();
        }
    }
    let [answer, abort] = answers.map(Option::unwrap);
    assert_eq!(abort["success"], true, "{event}");
    let state = agent.request(json!({"type": "get_state"}));
    assert_eq!(
        (&state["data"]["isStreaming"], &state["data"]["isCompacting"]),
        (&json!(false), &json!(false))
    );
    answer
}

#[test]
fn fm_f49_an_abort_reaches_every_hook() {
    for (event, talks, command) in [
        ("session_compact", 2, json!({"type": "compact"})),
        ("session_before_compact", 2, json!({"type": "compact"})),
        ("session_switch", 0, json!({"type": "new_session"})),
        ("session_before_switch", 0, json!({"type": "new_session"})),
        ("session_fork", 1, json!({"type": "fork"})),
        ("session_before_fork", 1, json!({"type": "fork"})),
        ("input", 0, json!({"type": "prompt", "message": "go"})),
        ("before_agent_start", 0, json!({"type": "prompt", "message": "go"})),
        ("context", 0, json!({"type": "prompt", "message": "go"})),
        ("tool_call", 2, json!({"type": "prompt", "message": "go"})),
        ("tool_result", 2, json!({"type": "prompt", "message": "go"})),
    ] {
        let place = Place::new();
        let mut agent = agent(&place, event, script(event));
        for number in 0..talks {
            agent.prompt(&format!("words {number}"));
            agent.until_event("agent_end");
        }
        let mut command = command;
        command["id"] = json!("c");
        if command["type"] == "fork" {
            let entries = agent.request(json!({"type": "get_fork_messages"}));
            command["entryId"] = entries["data"]["messages"][0]["entryId"].clone();
        }
        let answer = abort_during_command(&mut agent, event, &command);
        match event {
            // The operation is complete; the missing answer has no effect.
            "session_compact" => assert_eq!(answer["success"], true, "{answer}"),
            "session_switch" => assert_eq!(answer["data"], json!({"cancelled": false})),
            "session_fork" => assert_eq!(answer["data"]["cancelled"], false),
            "session_before_switch" => assert_eq!(answer["data"], json!({"cancelled": true})),
            "session_before_fork" => assert_eq!(answer["data"]["cancelled"], true),
            "session_before_compact" => assert_eq!(answer["error"], "Compaction cancelled"),
            "input" => assert_eq!(answer["error"], "it was aborted before it started"),
            _ => assert_eq!(answer["success"], true, "{event}: {answer}"),
        }
        assert_eq!(agent.failures(), Vec::<&Value>::new(), "{event}");
        assert_eq!(agent.finish().0.code(), Some(0), "{event}");
    }
}

#[test]
fn fm_f49_abort_ends_an_automatic_compaction_that_an_extension_delays() {
    let place = Place::new();
    let much = json!({"text": "two", "usage": {"input": 150_000, "output": 1}});
    let script =
        json!({"responses": [{"text": "one"}, much, {"text": "summary"}], "default": {"text": "ok"}});
    let mut agent = agent(&place, "session_compact", script);
    agent.prompt("first");
    agent.until_event("agent_end");
    agent.prompt("second");
    while agent.next_notice() != "asked session_compact" {}
    agent.send(json!({"id": "abort", "type": "abort"}));
    let ended = agent.until_event("auto_compaction_end").pop().unwrap();
    assert!(ended["result"]["summary"].is_string(), "{ended}");
    agent.until("the answer", |frame| frame["id"] == "abort" && frame["success"] == true);
    assert_eq!(agent.finish().0.code(), Some(0));
}

#[test]
fn fm_f49_abort_withdraws_a_prompt_that_waits_for_an_extension_start() {
    let place = Place::new();
    let mut agent = agent(&place, "session_start", script("session_start"));
    agent.prompt("words");
    while agent.next_notice() != "asked session_start" {}
    agent.send(json!({"id": "abort", "type": "abort"}));
    let frames = agent.until("the answer", |frame| frame["id"] == "words");
    assert_eq!(frames.last().unwrap()["error"], "it was aborted before it started");
    assert_eq!(agent.finish().0.code(), Some(0));
}
