//! Tests of turns: their events, and the time at which their responses arrive.

use serde_json::{Value, json};

use crate::support::link::Link;
use crate::{events, scripted, types};

/// Sends a prompt. Returns the events of its turn, and the response to the prompt, which arrives last.
async fn turn(link: &mut Link, text: &str) -> (Vec<Value>, Value) {
    link.send(json!({"type": "prompt", "id": "p", "text": text})).await;
    let mut frames = link.until("the answer", |frame| frame["type"] == "response").await;
    let answer = frames.pop().unwrap();
    assert_eq!(answer["id"], "p");
    (events(&frames), answer)
}

#[tokio::test]
async fn turn_events_have_an_envelope_and_the_response_follows_the_end() {
    let (mut link, _place) = scripted(json!({"responses": [{"blocks": [{"text": ["Hel", "lo"]}]}]}));
    let (events, answer) = turn(&mut link, "hi").await;
    let expected = json!({"type": "response", "command": "prompt", "id": "p", "success": true, "data": {}});
    assert_eq!(answer, expected);
    let order = [
        "agent_start",
        "turn_start",
        "message_start",
        "message_update",
        "message_update",
        "message_end",
        "turn_end",
        "agent_end",
    ];
    assert_eq!(types(&events), order);
    let pieces: Vec<_> = events[3..5].iter().map(|event| event["message"]["contents"].clone()).collect();
    let text = |text: &str| json!([{"type": "text", "content": text}]);
    assert_eq!(pieces, [text("Hel"), text("lo")], "an update carries the new piece only");
    assert_eq!(events[2]["message"]["contents"], json!([]));
    assert_eq!(events[5]["message"]["contents"], text("Hello"));
    assert_eq!(events[5]["message"]["stop_reason"], "stop");
    assert_eq!(events[7]["messages"], json!([events[5]["message"]]));
    assert!(events[5]["message"]["timestamp"].as_f64().unwrap() > 1e9, "seconds, as a number");
}

#[tokio::test]
async fn storage_failure_fails_its_prompt() {
    let (builder, place) =
        crate::support::link::builder(json!({"responses": [], "default": {"text": "Hello"}}));
    // A file in place of a directory, which also stops root.
    std::fs::write(place.path().join("sessions"), "").unwrap();
    let store = agentese_server::session::Store::at(&place.path().join("sessions"), place.path());
    let mut link = Link::for_dialect::<agentese::operator::Operator>(builder.store(store));
    let (events, answer) = turn(&mut link, "hi").await;
    assert_eq!(types(&events).last(), Some(&"agent_end"));
    assert_eq!(answer["success"], false, "{answer}");
    assert!(answer.to_string().contains("the session is not saved: "), "{answer}");
    // The failure is reported once.
    assert_eq!(turn(&mut link, "more").await.1["success"], true);
}

#[tokio::test]
async fn the_id_of_a_message_is_that_of_its_entry() {
    let (mut link, _place) = scripted(json!({"responses": [{"text": "one"}, {"text": "two"}]}));
    let (first, _) = turn(&mut link, "a").await;
    let id = first.last().unwrap()["messages"][0]["id"].clone();
    let ids: Vec<_> = first.iter().map(|event| &event["message"]["id"]).filter(|id| !id.is_null()).collect();
    assert!(ids.len() >= 4 && ids.iter().all(|other| **other == id), "{ids:?}");
    turn(&mut link, "b").await;
    assert_eq!(link.state().await["message_count"], 4);
    // A fork accepts this entry, and drops the later ones.
    assert_eq!(link.data(json!({"type": "fork", "entry_id": id})).await, json!({}));
    assert_eq!(link.state().await["message_count"], 2);
}

#[tokio::test]
async fn tool_events_have_calls_and_results() {
    let call = json!({"tool": {"id": "c", "name": "bash", "args": {"command": "echo found; exit 3"}}});
    let (mut link, _place) = scripted(json!({"responses": [{"blocks": [call]}, {"text": "done"}]}));
    let (events, answer) = turn(&mut link, "go").await;
    assert_eq!(answer["success"], true);
    let of = |kind: &str| events.iter().find(|event| event["type"] == kind).unwrap();
    assert_eq!(
        of("tool_execution_start")["tool_call"],
        json!({"type": "tool_call", "id": "c", "name": "bash", "args": {"command": "echo found; exit 3"}})
    );
    let result = &of("tool_execution_end")["tool_result"];
    assert_eq!((&result["id"], &result["is_error"]), (&json!("c"), &json!(true)));
    assert!(result["content"].as_str().unwrap().contains("found"));
    assert_eq!(of("turn_end")["tool_results"], json!([result]));
    let roles: Vec<_> =
        events.last().unwrap()["messages"].as_array().unwrap().iter().map(|m| &m["role"]).collect();
    assert_eq!(roles, ["assistant", "tool", "assistant"]);
}

#[tokio::test]
async fn a_turn_that_failed_is_answered_with_its_reason() {
    let (mut link, _place) =
        scripted(json!({"responses": [{"error": {"status": 400, "message": "too bad"}}]}));
    let (events, answer) = turn(&mut link, "go").await;
    assert_eq!(answer["success"], false);
    assert!(answer["error"].as_str().unwrap().contains("too bad"), "{answer}");
    assert_eq!(events.last().unwrap()["reason"], "error");
    let turn_end = events.iter().find(|event| event["type"] == "turn_end").unwrap();
    assert_eq!(turn_end["message"], Value::Null);
    assert_eq!(link.state().await["phase"], "idle");
}

#[tokio::test]
async fn turn_accepts_only_state_and_abort() {
    let (mut link, _place) = scripted(json!({"responses": [
        {"blocks": [{"text": ["Hel", "lo"]}], "hang_after": 1},
    ], "default": {"text": "again"}}));
    link.send(json!({"type": "prompt", "id": "p", "text": "long"})).await;
    link.until("a piece", |frame| frame["event"]["type"] == "message_update").await;
    let state = link.state().await;
    assert_eq!((&state["phase"], &state["is_streaming"]), (&json!("turn"), &json!(true)));
    for command in [
        json!({"type": "prompt", "text": "x"}),
        json!({"type": "compact"}),
        json!({"type": "new_session"}),
        json!({"type": "fork", "entry_id": "x"}),
        json!({"type": "switch_session", "session_file": "/x"}),
    ] {
        let answer = link.request(command).await;
        let busy = "Agent is busy (phase='turn'). Wait for the current operation to finish.";
        assert_eq!(answer["error"], busy, "{answer}");
    }
    link.data(json!({"type": "abort"})).await;
    let mut rest = link.until("the end", |frame| frame["id"] == "p").await;
    assert_eq!(rest.pop().unwrap()["success"], true);
    let rest = events(&rest);
    assert_eq!(types(&rest), ["message_end", "turn_end", "agent_end"], "they follow the answer to the abort");
    let end = &rest[2];
    assert_eq!(end["reason"], "aborted");
    assert_eq!(end["messages"][0]["contents"], json!([{"type": "text", "content": "Hel"}]));
    assert_eq!(link.state().await["phase"], "idle");
    let (_, answer) = turn(&mut link, "again").await;
    assert_eq!(answer["success"], true);
}

#[tokio::test]
async fn commands_that_are_sent_in_one_go_are_done_in_their_order() {
    let (mut link, _place) = scripted(json!({"responses": [{"text": "one"}]}));
    link.send_raw(
        b"{\"type\":\"new_session\",\"id\":1}\n{\"type\":\"prompt\",\"id\":2,\"text\":\"hi\"}\n{\"type\":\"get_state\",\"id\":3}\n",
    )
    .await;
    let frames = link.until("the turn", |frame| frame["id"] == 2).await;
    let answer = |id: u64| frames.iter().find(|frame| frame["id"] == id).unwrap();
    assert_eq!(answer(1)["success"], true);
    assert_eq!(answer(2)["success"], true, "a prompt waits for a short command before it");
    assert_eq!(answer(3)["success"], true);
}
