//! Tests of tool calls of an Opal agent with a pi client. Opal announces calls after the answer that contains
//! them.

use serde_json::{Value, json};

use super::raw_client::RawClient;
use super::{Pair, agent_input, shell};

/// Opal agent with two calls. The second call starts long after the first one and ends before it.
const OVERLAPPING_CALLS: &str = r#"
import os, time

def work():
    begin("I do both.")
    tell("turn_end")
    tell("tool_execution_start", call_id="c1", tool="one", args={})
    while not os.path.exists("go"):
        time.sleep(0.02)
    tell("tool_execution_start", call_id="c2", tool="two", args={})
    for call in ["c2", "c1"]:
        tell("tool_execution_end", call_id=call, tool="any", result={"ok": True, "output": "of " + call})
    begin("Done.")
    tell("agent_end")
"#;

/// Opal agent with two calls. The second call starts long after the first one and opens a question.
const CALL_WITH_QUESTION: &str = r#"
import os, time

def work():
    begin("I do both.")
    tell("turn_end")
    tell("tool_execution_start", call_id="c1", tool="one", args={})
    while not os.path.exists("go"):
        time.sleep(0.02)
    tell("tool_execution_start", call_id="c2", tool="two", args={})
    say({"id": "q1", "method": "client/ask_user", "params": {"session_id": "s", "question": "Which colour?"}})
    answer = json.loads(sys.stdin.readline())["result"]["answer"]
    for call in ["c1", "c2"]:
        tell("tool_execution_end", call_id=call, tool="any", result={"ok": True, "output": answer + call})
    begin("Done.")
    tell("agent_end")
"#;

/// Connects a client to an agent whose scripted model calls the tool `name` and then answers `Done.`
fn client_with_call(name: &str, arguments: Value) -> (RawClient, Pair) {
    let pair = Pair::new("pi", "opal");
    let call = json!({"tool": {"id": "c1", "name": name, "args": arguments}});
    let script =
        json!({"responses": [{"blocks": [{"text": "I do it."}, call]}], "default": {"text": "Done."}});
    std::fs::write(pair.place.path().join("script.json"), script.to_string()).unwrap();
    (RawClient::of(pair.command(false)), pair)
}

/// Returns the positions of the answer that contains the call, and of the start of the call.
fn answer_and_call(seen: &[Value]) -> Vec<usize> {
    let makes = |frame: &Value| {
        frame["type"] == "message_end" && frame["message"]["content"].to_string().contains("toolCall")
    };
    let stands = |frame: &Value| makes(frame) || frame["type"] == "tool_execution_start";
    let places = seen.iter().enumerate().filter(|(_, frame)| stands(frame));
    places.map(|(place, _)| place).collect()
}

#[tokio::test]
async fn a_silent_tool_is_reported_when_it_starts() {
    let command = "until [ -e go ]; do sleep 0.02; done; echo out";
    let (mut client, pair) = client_with_call(shell("opal"), json!({"command": command}));
    client.send(json!({"id": "1", "type": "prompt", "message": "work"})).await;
    let began = client.until("tool_execution_start").await;
    assert_eq!(began["args"]["command"], command);
    assert_eq!(answer_and_call(&client.seen).len(), 2, "{:?}", client.seen);
    std::fs::write(pair.place.path().join("work/go"), "").unwrap();
    let ended = client.until("tool_execution_end").await;
    assert!(ended["isError"] == false && ended["result"].to_string().contains("out"), "{ended}");
    client.until("agent_end").await;
    assert!(client.disconnect().await.contains("Done."));
}

#[tokio::test]
async fn a_question_follows_the_call_that_asks_it() {
    let asks = json!({"question": "Which colour?", "choices": ["red", "blue"]});
    let (mut client, _pair) = client_with_call("ask_user", asks);
    client.send(json!({"id": "1", "type": "prompt", "message": "ask"})).await;
    let asked = client.until("extension_ui_request").await;
    assert_eq!(answer_and_call(&client.seen).len(), 2, "{:?}", client.seen);
    client.send(json!({"type": "extension_ui_response", "id": asked["id"], "value": "blue"})).await;
    let ended = client.until("tool_execution_end").await;
    assert!(ended["result"].to_string().contains("blue"), "{ended}");
    client.until("agent_end").await;
    client.disconnect().await;
}

#[tokio::test]
async fn a_later_tool_takes_no_result_from_an_earlier_one() {
    let pair = Pair::new("pi", "opal");
    let mut client = agent_input::client(&pair, OVERLAPPING_CALLS);
    client.send(json!({"id": "1", "type": "prompt", "message": "work"})).await;
    assert_eq!(client.until("tool_execution_start").await["toolCallId"], "c1");
    std::fs::write(pair.place.path().join("work/go"), "").unwrap();
    let end = client.until("agent_end").await;
    let told = end["messages"].as_array().unwrap().iter().map(|message| match &message["toolCallId"] {
        Value::String(call) => format!("{call} gave {}", message["content"][0]["text"]),
        _ => message["role"].as_str().unwrap().to_owned(),
    });
    let expected = ["user", "assistant", "c1 gave \"of c1\"", "assistant", "c2 gave \"of c2\"", "assistant"];
    assert_eq!(told.collect::<Vec<_>>(), expected, "{:?}", client.seen);
    client.disconnect().await;
}

#[tokio::test]
async fn a_question_follows_the_start_of_a_waiting_call() {
    let pair = Pair::new("pi", "opal");
    let mut client = agent_input::client(&pair, CALL_WITH_QUESTION);
    client.send(json!({"id": "1", "type": "prompt", "message": "work"})).await;
    assert_eq!(client.until("tool_execution_start").await["toolCallId"], "c1");
    std::fs::write(pair.place.path().join("work/go"), "").unwrap();
    let asked = client.until("extension_ui_request").await;
    let began = client.seen.iter().filter(|frame| frame["type"] == "tool_execution_start");
    let began: Vec<_> = began.map(|frame| &frame["toolCallId"]).collect();
    assert_eq!(began, ["c1", "c2"], "{:?}", client.seen);
    client.send(json!({"type": "extension_ui_response", "id": asked["id"], "value": "blue"})).await;
    let end = client.until("agent_end").await;
    let told = end["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap());
    let expected = ["user", "assistant", "toolResult", "assistant", "toolResult", "assistant"];
    assert_eq!(told.collect::<Vec<_>>(), expected, "{:?}", client.seen);
    let began = client.seen.iter().filter(|frame| frame["type"] == "tool_execution_start");
    assert_eq!(began.count(), 2, "each call starts once");
    let second = &end["messages"][3]["content"];
    assert!(second.to_string().contains("\"c2\""), "{end}");
    client.disconnect().await;
}
