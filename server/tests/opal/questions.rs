//! What the server asks its client.

use serde_json::{Value, json};

use crate::rpc::{Rpc, events};

/// The result of the call of `ask_user` that a client answers like that.
async fn asked(answer: Value) -> (Value, Value) {
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
    let told = events(&rpc.link.seen, &session);
    let end = told.iter().find(|event| event["type"] == "tool_execution_end").unwrap();
    question["params"].as_object_mut().unwrap().remove("session_id");
    (question["params"].clone(), end["result"].clone())
}

#[tokio::test]
async fn the_answer_to_a_question_is_the_result_of_its_call() {
    let (question, result) = asked(json!({"result": {"answer": "blue"}})).await;
    assert_eq!(question, json!({"question": "Which?", "choices": ["red"]}));
    assert_eq!(result, json!({"ok": true, "output": "blue"}));
    let (_, result) = asked(json!({"result": "plain"})).await;
    assert_eq!(result, json!({"ok": true, "output": "\"plain\""}));
    let (_, result) = asked(json!({"error": {"code": -32601, "message": "no handler"}})).await;
    assert_eq!(result["ok"], false);
    assert!(result["error"].as_str().unwrap().contains("no handler"), "{result}");
}

#[tokio::test]
async fn an_abort_takes_a_question_back() {
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
