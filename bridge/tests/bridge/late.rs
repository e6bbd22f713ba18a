//! Tools of an Opal agent, which announces calls after the answer that contains them, behind a front of pi.

use serde_json::{Value, json};

use super::raw::Raw;
use super::{Pair, shell, words};

/// Opal agent with two calls: the second one starts long after the first one, and ends before it.
const BESIDE: &str = r#"
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

/// Opal agent with two calls: the second one starts long after the first one, and opens a question.
const ASKS: &str = r#"
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

/// Connects a client to an agent whose model calls that tool, and then answers `Done.`
fn calling(name: &str, arguments: Value) -> (Raw, Pair) {
    let pair = Pair::new("pi", "opal");
    let call = json!({"tool": {"id": "c1", "name": name, "args": arguments}});
    let script =
        json!({"responses": [{"blocks": [{"text": "I do it."}, call]}], "default": {"text": "Done."}});
    std::fs::write(pair.place.path().join("script.json"), script.to_string()).unwrap();
    (Raw::of(pair.command(false)), pair)
}

/// Returns the positions of the answer with the call, and of the start of the call.
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

#[tokio::test]
async fn a_tool_that_begins_long_after_another_one_takes_no_result_from_it() {
    let pair = Pair::new("pi", "opal");
    let mut client = words::client(&pair, BESIDE);
    client.says(json!({"id": "1", "type": "prompt", "message": "work"})).await;
    assert_eq!(client.until("tool_execution_start").await["toolCallId"], "c1");
    std::fs::write(pair.place.path().join("work/go"), "").unwrap();
    let end = client.until("agent_end").await;
    let told = end["messages"].as_array().unwrap().iter().map(|message| match &message["toolCallId"] {
        Value::String(call) => format!("{call} gave {}", message["content"][0]["text"]),
        _ => message["role"].as_str().unwrap().to_owned(),
    });
    let expected = ["user", "assistant", "c1 gave \"of c1\"", "assistant", "c2 gave \"of c2\"", "assistant"];
    assert_eq!(told.collect::<Vec<_>>(), expected, "{:?}", client.seen);
    client.leaves().await;
}

#[tokio::test]
async fn a_question_comes_behind_a_call_that_waits_for_another_one() {
    let pair = Pair::new("pi", "opal");
    let mut client = words::client(&pair, ASKS);
    client.says(json!({"id": "1", "type": "prompt", "message": "work"})).await;
    assert_eq!(client.until("tool_execution_start").await["toolCallId"], "c1");
    std::fs::write(pair.place.path().join("work/go"), "").unwrap();
    let asked = client.until("extension_ui_request").await;
    let began = client.seen.iter().filter(|frame| frame["type"] == "tool_execution_start");
    let began: Vec<_> = began.map(|frame| &frame["toolCallId"]).collect();
    assert_eq!(began, ["c1", "c2"], "{:?}", client.seen);
    client.says(json!({"type": "extension_ui_response", "id": asked["id"], "value": "blue"})).await;
    let end = client.until("agent_end").await;
    let told = end["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap());
    let expected = ["user", "assistant", "toolResult", "assistant", "toolResult", "assistant"];
    assert_eq!(told.collect::<Vec<_>>(), expected, "{:?}", client.seen);
    let began = client.seen.iter().filter(|frame| frame["type"] == "tool_execution_start");
    assert_eq!(began.count(), 2, "each call begins once");
    let second = &end["messages"][3]["content"];
    assert!(second.to_string().contains("\"c2\""), "{end}");
    client.leaves().await;
}
