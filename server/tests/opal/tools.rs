//! Tests of the tools that only Opal has.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::rpc::{Rpc, events, types};
use crate::support::LONG;
use crate::support::clock::TickingClock;
use crate::support::link::builder;

fn call(id: &str, name: &str, args: Value) -> Value {
    json!({"tool": {"id": id, "name": name, "args": args}})
}

fn results(events: &[Value]) -> Vec<&Value> {
    events
        .iter()
        .filter(|event| event["type"] == "tool_execution_end")
        .map(|event| &event["result"])
        .collect()
}

#[tokio::test]
async fn files_are_read_and_written_under_opals_names() {
    let (mut rpc, place) = Rpc::scripted(json!({"responses": [
        {"blocks": [call("w", "write_file", json!({"path": "a.txt", "content": "alpha\n"}))]},
        {"blocks": [call("r", "read_file", json!({"path": "a.txt"})), call("s", "shell", json!({"command": "cat a.txt"}))]},
        {"blocks": [{"text": ["done"]}]},
    ]}));
    let session = rpc.start(json!({})).await;
    let events = rpc.run(&session, "go").await;
    assert_eq!(std::fs::read_to_string(place.path().join("a.txt")).unwrap(), "alpha\n");
    let results = results(&events);
    assert!(results.iter().all(|result| result["ok"] == true), "{results:?}");
    assert!(results[1]["output"].as_str().unwrap().contains("alpha"));
    let start = events.iter().find(|event| event["type"] == "tool_execution_start").unwrap();
    assert_eq!((&start["tool"], &start["meta"]), (&json!("write_file"), &json!("Write a.txt")));
}

#[tokio::test]
async fn tasks_are_kept_and_listed() {
    let ops = json!([{"action": "insert", "label": "Tests"}, {"action": "insert", "label": "Parser", "blocked_by": "1"}]);
    let (mut rpc, _place) = Rpc::scripted(json!({"responses": [
        {"blocks": [call("t", "tasks", json!({"action": "batch", "ops": ops}))]},
        {"blocks": [call("u", "tasks", json!({"action": "update", "id": 1, "blocked_by": [2]}))]},
        {"blocks": [{"text": ["planned"]}]},
    ]}));
    let session = rpc.start(json!({})).await;
    assert_eq!(rpc.result("tasks/list", json!({"session_id": session})).await, json!({"tasks": []}));
    let events = rpc.run(&session, "go").await;
    let results = results(&events);
    assert_eq!(results[0]["output"]["counts"], json!({"open": 1, "in_progress": 0, "blocked": 1, "done": 0}));
    assert_eq!(results[1], &json!({"ok": false, "error": "task 1 would depend on itself, through 2"}));
    let listed = rpc.result("tasks/list", json!({"session_id": session})).await;
    assert_eq!(listed["tasks"][1]["blocked_by"], "1");
    assert_eq!(listed["tasks"][1]["status"], "blocked");
}

#[tokio::test]
async fn sub_agent_events_are_wrapped_in_their_call() {
    let (mut rpc, _place) = Rpc::scripted(json!({"responses": [
        {"blocks": [{"text": ["Delegating."]}, call("s", "sub_agent", json!({"prompt": "Count", "tools": ["read_file"]}))], "usage": {"input": 5, "output": 1}},
        {"blocks": [{"text": ["child says 3"]}], "usage": {"input": 10, "output": 2}},
        {"blocks": [{"text": ["It is 3."]}], "usage": {"input": 20, "output": 4}},
    ]}));
    let session = rpc.start(json!({})).await;
    let events = rpc.run(&session, "go").await;
    let inner: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "sub_agent_event")
        .map(|event| &event["inner"])
        .collect();
    let kinds: Vec<_> = inner.iter().map(|inner| inner["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["sub_agent_start", "agent_start", "message_start", "message_delta", "usage_update", "agent_end"]
    );
    assert_eq!((&inner[0]["label"], &inner[0]["tools"]), (&json!("Count"), &json!(["read_file"])));
    assert!(inner.iter().all(|inner| inner.get("session_id").is_none()));
    let place = |kind: &str| types(&events).iter().position(|other| *other == kind).unwrap();
    let last = types(&events).iter().rposition(|kind| *kind == "sub_agent_event").unwrap();
    assert!(place("tool_execution_start") < place("sub_agent_event") && last < place("tool_execution_end"));
    assert_eq!(results(&events)[0], &json!({"ok": true, "output": "child says 3"}));
    // The usage of a child is not part of the parent's.
    assert_eq!(events.last().unwrap()["usage"]["prompt_tokens"], 25);
}

/// Starts an agent that delegates to a child. The agent has this clock, and the child gives this answer.
fn delegating(clock: &TickingClock, child: Value) -> (Rpc, tempfile::TempDir) {
    let (builder, place) = builder(json!({"responses": [
        {"blocks": [call("s", "sub_agent", json!({"prompt": "Wait"}))]},
        child,
        {"blocks": [{"text": ["child is done"]}]},
        {"blocks": [{"text": ["done"]}]},
    ]}));
    (Rpc::serving(builder.clock(Arc::new(clock.clone()))), place)
}

#[tokio::test]
async fn inactive_sub_agent_is_stopped() {
    let clock = TickingClock::default();
    let (mut rpc, _place) = delegating(&clock, json!({"blocks": [{"text": ["half"]}], "hang_after": 1}));
    let session = rpc.start(json!({})).await;
    rpc.result("agent/prompt", json!({"session_id": session, "text": "go"})).await;
    rpc.until("sub_agent_event").await;
    let ticking = AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            clock.tick();
            tokio::task::yield_now().await;
        }
    }));
    rpc.until_end(&session).await;
    drop(ticking);
    let events = events(&rpc.link.seen, &session);
    let error = results(&events)[0]["error"].as_str().unwrap();
    assert!(error.contains("has done nothing for 120 s"), "{error}");
}

#[tokio::test]
async fn sub_agent_with_a_running_command_is_active() {
    let clock = TickingClock::default();
    let waits = json!({"command": "touch begun; until test -e go; do sleep 0.01; done"});
    let (mut rpc, place) = delegating(&clock, json!({"blocks": [call("c", "shell", waits)]}));
    let session = rpc.start(json!({})).await;
    rpc.result("agent/prompt", json!({"session_id": session, "text": "go"})).await;
    let since = Instant::now();
    while !place.path().join("begun").exists() {
        assert!(since.elapsed() < LONG);
        tokio::task::yield_now().await;
    }
    // The inactivity timer does not run, so all remaining waits have other reasons.
    for _ in 0..20 {
        clock.tick();
        tokio::task::yield_now().await;
    }
    std::fs::write(place.path().join("go"), "").unwrap();
    rpc.until_end(&session).await;
    let events = events(&rpc.link.seen, &session);
    let output = results(&events)[0]["output"].as_str().unwrap();
    assert!(output.contains("child is done"), "{events:#?}");
}

#[tokio::test]
async fn a_skill_is_loaded_once() {
    let load = |id: &str, name: &str| call(id, "use_skill", json!({"skill_name": name}));
    let (mut rpc, place) = Rpc::scripted(json!({"responses": [
        {"blocks": [load("a", "greeter")]},
        {"blocks": [load("b", "greeter"), load("c", "nope")]},
        {"blocks": [{"text": ["Ahoy."]}]},
    ]}));
    let folder = place.path().join(".claude/skills/greeter");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("SKILL.md"), "---\nname: greeter\ndescription: Greets\n---\nSay ahoy.\n")
        .unwrap();
    std::fs::write(place.path().join("OPAL.md"), "Be kind.").unwrap();
    let started = rpc.result("session/start", json!({})).await;
    assert_eq!(started["available_skills"], json!(["greeter"]));
    assert!(started["context_files"][0].as_str().unwrap().ends_with("/OPAL.md"), "{started}");
    let session = started["session_id"].as_str().unwrap().to_owned();
    let found = rpc.until("context_discovered").await;
    assert_eq!((&found["files"], &found["session_id"]), (&started["context_files"], &json!(session)));
    let events = rpc.run(&session, "go").await;
    let loaded: Vec<_> = events.iter().filter(|event| event["type"] == "skill_loaded").collect();
    assert_eq!(loaded.len(), 1);
    assert_eq!((&loaded[0]["name"], &loaded[0]["description"]), (&json!("greeter"), &json!("Greets")));
    let results = results(&events);
    assert_eq!(
        (&results[0]["ok"], &results[1]["ok"], &results[2]["ok"]),
        (&json!(true), &json!(true), &json!(false))
    );
}

#[tokio::test]
async fn tools_are_switched_at_the_start_and_later() {
    let (mut rpc, _place) = Rpc::scripted(json!({"responses": [
        {"blocks": [call("s", "shell", json!({"command": "true"}))]},
        {"blocks": [call("d", "debug_state", json!({}))]},
        {"blocks": [{"text": ["ok"]}]},
    ]}));
    let session = rpc.start(json!({"tools": ["read_file"], "features": {"debug": true}})).await;
    let config = rpc.result("opal/config/get", json!({"session_id": session})).await;
    assert_eq!(config["tools"]["enabled"], json!(["read_file"]));
    let config =
        rpc.result("opal/config/set", json!({"session_id": session, "tools": ["debug_state", "grep"]})).await;
    assert_eq!(config["tools"]["enabled"], json!(["grep", "debug_state"]));
    assert_eq!(config["tools"]["all"].as_array().unwrap().len(), 10);
    let events = rpc.run(&session, "go").await;
    let results = results(&events);
    assert_eq!((&results[0]["ok"], &results[1]["ok"]), (&json!(false), &json!(true)));
    assert_eq!(results[1]["output"]["session_id"], session.as_str());
    let error = rpc.error("opal/config/set", json!({"session_id": session, "tools": ["nope"]})).await;
    assert_eq!(error["data"], "unknown tools: nope");
}
