//! Tests of commands that pi does not have, and of failures in omp's format.

use serde_json::{Value, json};

use crate::scripted;

#[tokio::test]
async fn the_state_has_the_members_of_the_document() {
    let (mut link, _place) = scripted(json!({"responses": []}));
    let state = link.state().await;
    assert_eq!(state["interruptMode"], "immediate");
    assert_eq!(state["queuedMessageCount"], 0);
    assert!(state["sessionId"].is_string());
    let members: Vec<_> = state.as_object().unwrap().keys().map(String::as_str).collect();
    assert!(!members.contains(&"pendingMessageCount") && !members.contains(&"sessionFile"), "{members:?}");
    link.data(json!({"type": "steer", "message": "s"})).await;
    link.data(json!({"type": "set_interrupt_mode", "mode": "wait"})).await;
    let state = link.state().await;
    assert_eq!((&state["interruptMode"], &state["queuedMessageCount"]), (&json!("wait"), &json!(1)));
}

#[tokio::test]
async fn a_branch_ends_before_a_message_of_the_user() {
    let (mut link, _place) = scripted(json!({"responses": [], "default": {"text": "ok"}}));
    for text in ["first", "second"] {
        link.send(json!({"type": "prompt", "message": text})).await;
        link.until_event("agent_end").await;
    }
    let points = link.data(json!({"type": "get_branch_messages"})).await["messages"].clone();
    let texts: Vec<_> = points.as_array().unwrap().iter().map(|point| &point["text"]).collect();
    assert_eq!(texts, ["first", "second"]);
    let branched = link.data(json!({"type": "branch", "entryId": points[1]["entryId"]})).await;
    assert_eq!(branched, json!({"text": "second", "cancelled": false}));
    assert_eq!(link.messages().await.len(), 2);
}

#[tokio::test]
async fn failures_of_handlers_have_no_id_and_commands_that_are_unknown_have_none_either() {
    let (mut link, _place) = scripted(json!({"responses": []}));
    link.send(json!({"type": "branch", "id": "b", "entryId": "nope"})).await;
    let refused = link.next().await.unwrap();
    let expected = json!({
        "type": "response", "command": "parse", "success": false,
        "error": "Failed to parse command: Invalid entry ID for branching",
    });
    assert_eq!(refused, expected);
    link.send(json!({"type": "fork", "id": "f", "entryId": "x"})).await;
    let unknown = link.next().await.unwrap();
    assert_eq!((&unknown["command"], &unknown["id"]), (&json!("fork"), &Value::Null));
    assert_eq!(unknown["error"], "Unknown command: fork");
    link.send_raw(b"this is no JSON\n").await;
    let parse = link.next().await.unwrap();
    assert!(parse["error"].as_str().unwrap().starts_with("Failed to parse command: "), "{parse}");
    link.state().await;
}
