//! Tests of many sessions in one process.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::rpc::{Rpc, events};

const SESSIONS: usize = 50;

#[tokio::test]
async fn fifty_sessions_stream_at_once_and_one_abort_touches_one() {
    let hanging = json!({"blocks": [{"text": ["a", "b"]}], "hang_after": 1});
    let (mut rpc, _place) = Rpc::scripted(json!({"responses": vec![hanging; SESSIONS]}));
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(rpc.start(json!({})).await);
    }
    for session in &sessions {
        rpc.send("agent/prompt", json!({"session_id": session, "text": "go"})).await;
    }
    let mut deltas: HashMap<String, usize> = HashMap::new();
    rpc.link
        .until("a piece of each", |frame| {
            if frame["params"]["type"] == "message_delta" {
                *deltas.entry(frame["params"]["session_id"].as_str().unwrap().to_owned()).or_default() += 1;
            }
            deltas.len() == SESSIONS
        })
        .await;
    // All sessions hang during their answers, and each one accepts commands on its own.
    rpc.result("agent/abort", json!({"session_id": sessions[7]})).await;
    let aborted = rpc.until("agent_abort").await;
    assert_eq!(aborted["session_id"], sessions[7].as_str());
    for (at, session) in sessions.iter().enumerate() {
        let state = rpc.result("agent/state", json!({"session_id": session})).await;
        assert_eq!(state["status"], if at == 7 { "idle" } else { "streaming" }, "{at}");
    }
    let ends: Vec<&Value> =
        rpc.link.seen.iter().filter(|frame| frame["params"]["type"] == "agent_abort").collect();
    assert_eq!(ends.len(), 1);
}

#[tokio::test]
async fn question_or_tool_blocks_no_other_session() {
    let (mut rpc, _place) = Rpc::scripted(json!({"responses": [
        {"blocks": [{"tool": {"id": "q", "name": "ask_user", "args": {"question": "?"}}}]},
        {"blocks": [{"tool": {"id": "s", "name": "shell", "args": {"command": "sleep 600"}}}]},
        {"blocks": [{"text": ["quick"]}]},
    ]}));
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(rpc.start(json!({})).await);
    }
    rpc.result("agent/prompt", json!({"session_id": sessions[0], "text": "ask"})).await;
    rpc.link.until("the question", |frame| frame["method"] == "client/ask_user").await;
    rpc.result("agent/prompt", json!({"session_id": sessions[1], "text": "sleep"})).await;
    rpc.until("tool_execution_start").await;
    let events = rpc.run(&sessions[2], "be quick").await;
    assert_eq!(events.last().unwrap()["type"], "agent_end");
    rpc.result("agent/abort", json!({"session_id": sessions[1]})).await;
}

#[tokio::test]
async fn abort_does_not_stop_other_sessions() {
    let waits = json!({"blocks": [
        {"tool": {"id": "w", "name": "shell", "args": {"command": "until [ -e go ]; do sleep 0.05; done", "timeout": 60000}}},
    ]});
    let script = json!({"responses": vec![waits; SESSIONS], "default": {"text": "done"}});
    let (mut rpc, place) = Rpc::scripted(script);
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(rpc.start(json!({})).await);
    }
    for session in &sessions {
        rpc.send("agent/prompt", json!({"session_id": session, "text": "go"})).await;
    }
    let mut running = 0;
    rpc.link
        .until("every tool", |frame| {
            running += usize::from(frame["params"]["type"] == "tool_execution_start");
            running == SESSIONS
        })
        .await;
    rpc.result("agent/abort", json!({"session_id": sessions[0]})).await;
    rpc.until("agent_abort").await;
    std::fs::write(place.path().join("go"), "").unwrap();
    let mut ended = Vec::new();
    rpc.link
        .until("every end", |frame| {
            if frame["params"]["type"] == "agent_end" {
                ended.push(frame["params"]["session_id"].as_str().unwrap().to_owned());
            }
            ended.len() == SESSIONS - 1
        })
        .await;
    assert!(!ended.contains(&sessions[0]));
    for session in &sessions[1..] {
        let ok = |event: &Value| event["type"] == "tool_execution_end" && event["result"]["ok"] == true;
        assert_eq!(events(&rpc.link.seen, session).iter().filter(|event| ok(event)).count(), 1);
    }
}
