//! Tools of an agent of Opal, which tells calls behind the answer that makes them, behind a front of pi.

use serde_json::{Value, json};

use super::raw::Raw;
use super::{Pair, shell};

/// A client whose agent's model calls that tool, then says `Done.`
fn calling(name: &str, arguments: Value) -> (Raw, Pair) {
    let pair = Pair::new("pi", "opal");
    let call = json!({"tool": {"id": "c1", "name": name, "args": arguments}});
    let script =
        json!({"responses": [{"blocks": [{"text": "I do it."}, call]}], "default": {"text": "Done."}});
    std::fs::write(pair.place.path().join("script.json"), script.to_string()).unwrap();
    (Raw::of(pair.command(false)), pair)
}

/// Where the answer that makes the call, and the beginning of the call, stand in what came.
fn answer_and_call(seen: &[Value]) -> Vec<usize> {
    let makes = |frame: &Value| {
        frame["type"] == "message_end" && frame["message"]["content"].to_string().contains("toolCall")
    };
    let stands = |frame: &Value| makes(frame) || frame["type"] == "tool_execution_start";
    let places = seen.iter().enumerate().filter(|(_, frame)| stands(frame));
    places.map(|(place, _)| place).collect()
}

#[tokio::test]
async fn a_tool_that_is_silent_for_long_is_told_when_it_begins() {
    let command = "until [ -e go ]; do sleep 0.02; done; echo out";
    let (mut client, pair) = calling(shell("opal"), json!({"command": command}));
    client.says(json!({"id": "1", "type": "prompt", "message": "work"})).await;
    let began = client.until("tool_execution_start").await;
    assert_eq!(began["args"]["command"], command);
    assert_eq!(answer_and_call(&client.seen).len(), 2, "{:?}", client.seen);
    std::fs::write(pair.place.path().join("work/go"), "").unwrap();
    let ended = client.until("tool_execution_end").await;
    assert!(ended["isError"] == false && ended["result"].to_string().contains("out"), "{ended}");
    client.until("agent_end").await;
    assert!(client.leaves().await.contains("Done."));
}

#[tokio::test]
async fn a_question_comes_behind_the_call_that_asks_it() {
    let asks = json!({"question": "Which colour?", "choices": ["red", "blue"]});
    let (mut client, _pair) = calling("ask_user", asks);
    client.says(json!({"id": "1", "type": "prompt", "message": "ask"})).await;
    let asked = client.until("extension_ui_request").await;
    assert_eq!(answer_and_call(&client.seen).len(), 2, "{:?}", client.seen);
    client.says(json!({"type": "extension_ui_response", "id": asked["id"], "value": "blue"})).await;
    let ended = client.until("tool_execution_end").await;
    assert!(ended["result"].to_string().contains("blue"), "{ended}");
    client.until("agent_end").await;
    client.leaves().await;
}
