//! Tests of the events of a run.

use serde_json::json;

use crate::rpc::{Rpc, events, types};

#[tokio::test]
async fn text_thinking_tags_and_usage_have_their_events() {
    let (mut rpc, _place) = Rpc::scripted(json!({"responses": [{
        "blocks": [
            {"thinking": ["Two plus", " two."]},
            {"text": ["<title>Sums</title><sta", "tus>Adding</status>It is ", "4."]},
        ],
        "usage": {"input": 120, "output": 8},
    }]}));
    let session = rpc.start(json!({})).await;
    let events = rpc.run(&session, "go").await;
    assert_eq!(
        types(&events),
        [
            "agent_start",
            "message_start",
            "thinking_start",
            "thinking_delta",
            "thinking_delta",
            "status_update",
            "message_delta",
            "message_delta",
            "usage_update",
            "agent_end",
        ]
    );
    assert_eq!(events[5]["message"], "Adding");
    let usage = &events[9]["usage"];
    assert_eq!((&usage["prompt_tokens"], &usage["completion_tokens"]), (&json!(120), &json!(8)));
    assert_eq!(usage["total_tokens"], 128);
    let history = rpc.result("session/history", json!({"session_id": session})).await;
    assert_eq!(history["messages"][1]["content"], "It is 4.");
    assert_eq!(history["messages"][1]["thinking"], "Two plus two.");
    let state = rpc.result("agent/state", json!({"session_id": session})).await;
    assert_eq!((&state["status"], &state["message_count"]), (&json!("idle"), &json!(2)));
    assert_eq!(state["token_usage"], *usage);
}

#[tokio::test]
async fn prompts_wait_while_the_agent_is_busy_and_are_applied_together() {
    let (mut rpc, _place) = Rpc::scripted(json!({"responses": [
        {"blocks": [{"tool": {"id": "c", "name": "ask_user", "args": {"question": "Go on?"}}}]},
        {"blocks": [{"text": ["one"]}]},
        {"blocks": [{"text": ["two"]}]},
    ]}));
    let session = rpc.start(json!({})).await;
    let begin = rpc.link.seen.len();
    rpc.result("agent/prompt", json!({"session_id": session, "text": "First"})).await;
    let question = rpc.link.until("the question", |frame| frame["method"] == "client/ask_user").await;
    for text in ["Second", "Third"] {
        let answer = rpc.result("agent/prompt", json!({"session_id": session, "text": text})).await;
        assert_eq!(answer, json!({"queued": true}));
    }
    let id = &question.last().unwrap()["id"];
    rpc.link.send(json!({"jsonrpc": "2.0", "id": id, "result": {"answer": "yes"}})).await;
    rpc.until_end(&session).await;
    let events = events(&rpc.link.seen[begin..], &session);
    let shown: Vec<&str> = types(&events).into_iter().filter(|kind| *kind != "usage_update").collect();
    assert_eq!(
        shown,
        [
            "agent_start",
            "message_start",
            "turn_end",
            "tool_execution_start",
            "message_queued",
            "message_queued",
            "tool_execution_end",
            "message_start",
            "message_delta",
            "message_applied",
            "message_applied",
            "turn_end",
            "message_start",
            "message_delta",
            "agent_end",
        ]
    );
}

#[tokio::test]
async fn abort_is_the_only_event_and_the_run_is_not_stored() {
    let (mut rpc, _place) = Rpc::scripted(json!({"responses": [
        {"blocks": [{"text": ["a ", "b "]}], "hang_after": 1},
        {"blocks": [{"text": ["fine"]}]},
    ]}));
    let session = rpc.start(json!({})).await;
    rpc.result("agent/prompt", json!({"session_id": session, "text": "Long"})).await;
    rpc.until("message_delta").await;
    for _ in 0..2 {
        let id = rpc.send("agent/abort", json!({"session_id": session})).await;
        assert_eq!(rpc.answer(id).await["result"], json!({}));
        // The response precedes the event, even if the agent is idle.
        let next = rpc.link.next().await.unwrap();
        assert_eq!(next["params"]["type"], "agent_abort");
    }
    let events = rpc.run(&session, "Again").await;
    assert_eq!(events.last().unwrap()["type"], "agent_end");
    let history = rpc.result("session/history", json!({"session_id": session})).await;
    let texts: Vec<_> =
        history["messages"].as_array().unwrap().iter().map(|message| &message["content"]).collect();
    assert_eq!(texts, ["Long", "Again", "fine"]);
}

#[tokio::test]
async fn a_failure_is_one_event_with_its_reason() {
    let (mut rpc, _place) =
        Rpc::scripted(json!({"responses": [{"error": {"status": 503, "message": "too busy"}}]}));
    let session = rpc.start(json!({})).await;
    let events = rpc.run(&session, "go").await;
    assert_eq!(types(&events).iter().filter(|kind| **kind == "agent_end").count(), 0);
    assert!(events.last().unwrap()["reason"].as_str().unwrap().contains("too busy"), "{events:?}");
    let state = rpc.result("agent/state", json!({"session_id": session})).await;
    assert_eq!((&state["status"], &state["message_count"]), (&json!("idle"), &json!(1)));
}

#[tokio::test]
async fn a_model_without_a_key_fails_its_run_and_not_the_prompt() {
    use crate::login::catalog;
    let place = tempfile::tempdir().unwrap();
    let builder = agentese_server::Server::builder().cwd(place.path()).catalog(catalog(place.path(), None));
    let mut rpc = Rpc::serving(builder);
    let session = rpc.start(json!({})).await;
    let state = rpc.result("agent/state", json!({"session_id": session})).await;
    assert_eq!(
        state["model"],
        json!({"provider": "copilot", "id": "claude-sonnet-4", "thinking_level": "off"})
    );
    let events = rpc.run(&session, "go").await;
    assert_eq!(types(&events), ["agent_start", "error"]);
    assert!(events[1]["reason"].as_str().unwrap().contains("copilot"), "{events:?}");
}
