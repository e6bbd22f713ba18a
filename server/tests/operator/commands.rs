//! Tests of commands that start no turn, and of their failures.

use serde_json::{Value, json};

use crate::scripted;

#[tokio::test]
async fn the_state_of_an_idle_agent() {
    let (mut link, _place) = scripted(json!({"responses": []}));
    let state = link.state().await;
    assert_eq!((&state["phase"], &state["is_streaming"]), (&json!("idle"), &json!(false)));
    assert_eq!((&state["context_tokens"], &state["message_count"]), (&json!(0), &json!(0)));
    assert!(state["context_window"].as_u64().unwrap() > 0);
    // The session is neither stored nor named.
    assert_eq!((&state["session_file"], &state["session_name"]), (&Value::Null, &Value::Null));
    assert!(state["session_id"].is_string());
}

#[tokio::test]
async fn failures_have_the_texts_of_the_document() {
    let (mut link, place) = scripted(json!({"responses": []}));
    let missing = place.path().join("missing.jsonl");
    let missing = missing.to_str().unwrap();
    for (command, error) in [
        (json!({"type": "fork", "entry_id": "nope"}), "\"Entry 'nope' not found in session.\"".to_owned()),
        (
            json!({"type": "switch_session", "session_file": missing}),
            format!("session file not found: {missing}"),
        ),
        (json!({"type": "teleport"}), "Unknown command: 'teleport'".to_owned()),
    ] {
        let answer = link.request(command).await;
        assert_eq!((&answer["success"], &answer["error"]), (&json!(false), &json!(error)));
    }
    for missing in [json!({"type": "prompt"}), json!({"type": "fork"}), json!({"type": "switch_session"})] {
        let answer = link.request(missing).await;
        assert_eq!(answer["success"], false);
        let field = match answer["command"].as_str().unwrap() {
            "prompt" => "text",
            "fork" => "entry_id",
            _ => "session_file",
        };
        assert!(answer["error"].as_str().unwrap().contains(field), "{answer}");
    }
}

#[tokio::test]
async fn short_commands_are_answered_with_empty_data() {
    let (mut link, _place) = scripted(json!({"responses": []}));
    for command in ["compact", "abort", "new_session"] {
        assert_eq!(link.data(json!({"type": command})).await, json!({}), "{command}");
    }
}

#[tokio::test]
async fn switched_session_is_continued() {
    let (mut link, place) = scripted(json!({"responses": []}));
    let file = place.path().join("old.jsonl");
    let lines = [
        json!({"type": "session", "version": 3, "id": "old", "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/"}),
        json!({"type": "message", "id": "aaaa1111", "parentId": null, "timestamp": "2026-01-02T03:04:06.000Z",
               "message": {"role": "user", "content": "hi", "timestamp": 1767322000000_i64}}),
    ];
    std::fs::write(&file, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    link.data(json!({"type": "switch_session", "session_file": file})).await;
    let state = link.state().await;
    assert_eq!((&state["session_id"], &state["message_count"]), (&json!("old"), &json!(1)));
    assert_eq!(state["session_file"], json!(file));
    link.data(json!({"type": "fork", "entry_id": "aaaa1111"})).await;
    assert_eq!(link.state().await["session_id"], "old", "a fork stays in the file");
}
