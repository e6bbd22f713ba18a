//! Tests of stored sessions.

use agentese_server::session::Store;
use serde_json::{Value, json};

use crate::rpc::Rpc;
use crate::support::link::builder;

fn rpc_with_store(script: Value, place: &std::path::Path) -> Rpc {
    let (builder, _) = builder(script);
    Rpc::serving(builder.cwd(place).store(Store::at(&place.join("sessions"), place)))
}

fn texts(history: &Value) -> Vec<&str> {
    history["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_session_is_listed_branched_and_deleted() {
    let place = tempfile::tempdir().unwrap();
    let mut rpc = rpc_with_store(
        json!({"responses": [
            {"blocks": [{"text": ["<title>Counting</title>first"]}]},
            {"blocks": [{"text": ["second"]}]},
            {"blocks": [{"text": ["third"]}]},
        ]}),
        place.path(),
    );
    let session = rpc.start(json!({"session": true})).await;
    rpc.run(&session, "One").await;
    rpc.run(&session, "Two").await;
    let history = rpc.result("session/history", json!({"session_id": session})).await;
    assert_eq!(texts(&history), ["One", "first", "Two", "second"]);
    let listed = rpc.result("session/list", json!({})).await;
    assert_eq!(
        (&listed["sessions"][0]["id"], &listed["sessions"][0]["title"]),
        (&json!(session), &json!("Counting"))
    );
    let entry = &history["messages"][1]["id"];
    rpc.result("session/branch", json!({"session_id": session, "entry_id": entry})).await;
    let error = rpc.error("session/branch", json!({"session_id": session, "entry_id": "nope"})).await;
    assert_eq!((&error["code"], &error["message"]), (&json!(-32603), &json!("Branch failed")));
    rpc.run(&session, "Three").await;
    let history = rpc.result("session/history", json!({"session_id": session})).await;
    assert_eq!(texts(&history), ["One", "first", "Three", "third"]);
    std::fs::write(place.path().join("outside.jsonl"), "{}\n").unwrap();
    for wrong in ["../outside", "", &session[..8], "nope"] {
        let error = rpc.error("session/delete", json!({"session_id": wrong})).await;
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!(-32602), &json!("Session not found")),
            "{wrong}"
        );
    }
    assert!(place.path().join("outside.jsonl").exists());
    assert_eq!(rpc.result("session/delete", json!({"session_id": session})).await, json!({"ok": true}));
    assert_eq!(rpc.result("session/list", json!({})).await, json!({"sessions": []}));
    let error = rpc.error("agent/state", json!({"session_id": session})).await;
    assert_eq!(error["message"], "Session not found");
}

#[tokio::test]
async fn session_continues_in_another_process() {
    let place = tempfile::tempdir().unwrap();
    let answer = json!({"responses": [{"blocks": [{"text": ["ok, 7"]}]}]});
    let mut rpc = rpc_with_store(answer.clone(), place.path());
    let session = rpc.start(json!({"session_id": "my-own-id"})).await;
    assert_eq!(session, "my-own-id");
    rpc.run(&session, "Remember 7").await;
    let error = rpc.error("session/start", json!({"session_id": session})).await;
    assert_eq!((&error["code"], &error["message"]), (&json!(-32603), &json!("Failed to start session")));
    rpc.link.hang_up();
    while rpc.link.next().await.is_some() {}
    drop(rpc);
    let mut rpc = rpc_with_store(answer, place.path());
    assert_eq!(rpc.start(json!({"session_id": session})).await, "my-own-id");
    let history = rpc.result("session/history", json!({"session_id": session})).await;
    assert_eq!(texts(&history), ["Remember 7", "ok, 7"]);
}

#[tokio::test]
async fn tasks_are_there_after_a_resume_until_the_session_is_deleted() {
    let place = tempfile::tempdir().unwrap();
    let ops = json!([{"action": "insert", "label": "Tests"}, {"action": "insert", "label": "Parser", "blocked_by": "1"}]);
    let script = json!({"responses": [
        {"blocks": [{"tool": {"id": "t", "name": "tasks", "args": {"action": "batch", "ops": ops}}}]},
        {"blocks": [{"text": ["planned"]}]},
    ]});
    let mut rpc = rpc_with_store(script.clone(), place.path());
    let started = rpc.result("session/start", json!({"session": true})).await;
    let session = started["session_id"].as_str().unwrap().to_owned();
    let directory = place.path().join("sessions").join(&session);
    assert_eq!(started["session_dir"], directory.to_str().unwrap());
    rpc.run(&session, "plan").await;
    let listed = rpc.result("tasks/list", json!({"session_id": session})).await;
    assert_eq!(listed["tasks"][1]["status"], "blocked");
    rpc.link.hang_up();
    while rpc.link.next().await.is_some() {}
    drop(rpc);
    let mut rpc = rpc_with_store(script, place.path());
    rpc.start(json!({"session_id": session})).await;
    assert_eq!(rpc.result("tasks/list", json!({"session_id": session})).await, listed);
    assert_eq!(rpc.result("session/delete", json!({"session_id": session})).await, json!({"ok": true}));
    assert!(!directory.exists());
}

#[tokio::test]
async fn only_stored_sessions_are_compacted() {
    let place = tempfile::tempdir().unwrap();
    let long = "words that weigh something ".repeat(40);
    let mut rpc = rpc_with_store(
        json!({"responses": [
            {"blocks": [{"text": [long]}]},
            {"blocks": [{"text": [long]}]},
            {"blocks": [{"text": ["third."]}]},
        ], "default": {"text": "## Goal\nA talk."}}),
        place.path(),
    );
    let session = rpc.start(json!({"session": true})).await;
    for text in ["One", "Two", "Three"] {
        rpc.run(&session, text).await;
    }
    // No message is old enough.
    rpc.result("session/compact", json!({"session_id": session, "keep_recent": -1})).await;
    let history = rpc.result("session/history", json!({"session_id": session})).await;
    assert_eq!(history["messages"].as_array().unwrap().len(), 6);
    rpc.result("session/compact", json!({"session_id": session, "keep_recent": 20})).await;
    let history = rpc.result("session/history", json!({"session_id": session})).await;
    let texts = texts(&history);
    assert_eq!((texts.len(), &texts[1..]), (3, &["Three", "third."][..]));
    assert_eq!(history["messages"][0]["metadata"]["type"], "compaction_summary");
    let other = rpc.start(json!({})).await;
    let error = rpc.error("session/compact", json!({"session_id": other})).await;
    assert_eq!(error["code"], -32603);
    assert!(error["message"].as_str().unwrap().starts_with("Session persistence not enabled"));
}
