//! Tests of questions of the server to its client.

use agentese_server::config::{ApprovalSettings, Settings};
use serde_json::{Value, json};

use crate::rpc::{Rpc, events};
use crate::support::link::builder;

/// Runs a call of `ask_user` and answers its question. Returns the question and the result of the call.
async fn question_and_result(answer: Value) -> (Value, Value) {
    let (mut rpc, _place) = Rpc::scripted(json!({"responses": [
        {"blocks": [{"tool": {"id": "q", "name": "ask_user", "args": {"question": "Which?", "choices": ["red"]}}}]},
        {"blocks": [{"text": ["ok"]}]},
    ]}));
    let session = rpc.start(json!({})).await;
    rpc.result("agent/prompt", json!({"session_id": session, "text": "Ask"})).await;
    let mut question =
        rpc.link.until("the question", |frame| frame["method"] == "client/ask_user").await.pop().unwrap();
    let state = rpc.result("agent/state", json!({"session_id": session})).await;
    assert_eq!(state["status"], "executing_tools");
    let mut reply = json!({"jsonrpc": "2.0", "id": question["id"]});
    reply.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
    rpc.link.send(reply.clone()).await;
    // A second answer is ignored.
    rpc.link.send(reply).await;
    rpc.until_end(&session).await;
    let events = events(&rpc.link.seen, &session);
    let end = events.iter().find(|event| event["type"] == "tool_execution_end").unwrap();
    question["params"].as_object_mut().unwrap().remove("session_id");
    (question["params"].clone(), end["result"].clone())
}

#[tokio::test]
async fn the_answer_to_a_question_is_the_result_of_its_call() {
    let (question, result) = question_and_result(json!({"result": {"answer": "blue"}})).await;
    assert_eq!(question, json!({"question": "Which?", "choices": ["red"]}));
    assert_eq!(result, json!({"ok": true, "output": "blue"}));
    let (_, result) = question_and_result(json!({"result": "plain"})).await;
    assert_eq!(result, json!({"ok": true, "output": "\"plain\""}));
    let (_, result) = question_and_result(json!({"error": {"code": -32601, "message": "no handler"}})).await;
    assert_eq!(result["ok"], false);
    assert!(result["error"].as_str().unwrap().contains("no handler"), "{result}");
}

#[tokio::test]
async fn abort_withdraws_a_question() {
    let (mut rpc, _place) = Rpc::scripted(json!({"responses": [
        {"blocks": [{"tool": {"id": "q", "name": "ask_user", "args": {"question": "Which?"}}}]},
    ]}));
    let session = rpc.start(json!({})).await;
    rpc.result("agent/prompt", json!({"session_id": session, "text": "Ask"})).await;
    let question =
        rpc.link.until("the question", |frame| frame["method"] == "client/ask_user").await.pop().unwrap();
    rpc.result("agent/abort", json!({"session_id": session})).await;
    rpc.until("agent_abort").await;
    rpc.link.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": {"answer": "late"}})).await;
    let state = rpc.result("agent/state", json!({"session_id": session})).await;
    assert_eq!((&state["status"], &state["message_count"]), (&json!("idle"), &json!(3)));
}

/// Runs a command that needs approval and answers the question. Returns the question and the result of the call.
async fn approval_and_result(answer: Value) -> (Value, Value) {
    let call = json!({"tool": {"id": "s", "name": "shell", "args": {"command": "echo ran"}}});
    let (builder, _place) = builder(json!({"responses": [{"blocks": [call]}, {"text": "ok"}]}));
    let approval = ApprovalSettings { tools: vec!["shell".to_owned()], timeout_ms: 60_000 };
    let mut rpc = Rpc::serving(builder.settings(Settings { approval, ..Settings::default() }));
    let session = rpc.start(json!({})).await;
    rpc.result("agent/prompt", json!({"session_id": session, "text": "go"})).await;
    let question =
        rpc.link.until("the question", |frame| frame["method"] == "client/confirm").await.pop().unwrap();
    assert_eq!(question["params"]["session_id"], session.as_str());
    let mut reply = json!({"jsonrpc": "2.0", "id": question["id"]});
    reply.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
    rpc.link.send(reply).await;
    rpc.until_end(&session).await;
    let events = events(&rpc.link.seen, &session);
    let end = events.iter().find(|event| event["type"] == "tool_execution_end").unwrap();
    (question["params"].clone(), end["result"].clone())
}

#[tokio::test]
async fn approval_is_requested_with_a_confirmation() {
    let (question, result) = approval_and_result(json!({"result": {"action": "allow"}})).await;
    assert_eq!(question["actions"], json!(["allow", "deny"]));
    assert_eq!(question["title"], "Allow shell?");
    assert!(question["message"].as_str().unwrap().contains("echo ran"), "{question}");
    assert_eq!((&result["ok"], result["output"].as_str().unwrap().contains("ran")), (&json!(true), true));
    for refusal in [
        json!({"result": {"action": "deny"}}),
        json!({"result": {"action": "whatever"}}),
        json!({"result": {}}),
        json!({"error": {"code": -32601, "message": "no handler"}}),
    ] {
        let (_, result) = approval_and_result(refusal.clone()).await;
        assert_eq!(result["ok"], false, "{refusal}: {result}");
    }
}
