//! Tests of input with which an agent starts a run by itself.

use serde_json::{Value, json};

use super::Pair;
use super::raw_client::RawClient;

/// Opal agent that runs the shell code `work` for each prompt.
const AGENT: &str = r#"
import json, sys

def say(frame):
    print(json.dumps({"jsonrpc": "2.0", **frame}), flush=True)

def tell(kind, **more):
    say({"method": "agent/event", "params": {"type": kind, "session_id": "s", **more}})

def begin(text):
    tell("agent_start")
    tell("message_start")
    tell("message_delta", delta=text)

RESULTS = {
    "session/start": {"session_id": "s"},
    "agent/state": {"session_id": "s", "status": "idle", "message_count": 0},
    "session/history": {"messages": []},
    "models/list": {"models": []},
    "agent/prompt": {"queued": False},
}
for line in sys.stdin:
    asked = json.loads(line)
    say({"id": asked["id"], "result": RESULTS.get(asked["method"], {})})
    if asked["method"] == "agent/prompt":
        work()
"#;

/// The agent answers, and then starts a run with queued input.
const STARTS_RUN: &str = r#"
def work():
    begin("first")
    tell("agent_end")
    tell("message_applied", text="later")
    begin("second")
    tell("agent_end")
"#;

/// The agent accepts input during an answer, and then continues the answer.
const CONTINUES_ANSWER: &str = r#"
def work():
    begin("one ")
    tell("message_applied", text="later")
    tell("message_delta", delta="two ")
    tell("message_delta", delta="three")
    tell("agent_end")
"#;

/// Connects a pi client to an Opal agent that runs `work` for each prompt.
pub fn client(pair: &Pair, work: &str) -> RawClient {
    let agent = format!("{work}{AGENT}");
    let input = ["bridge", "--to", "pi", "--from", "opal", "--", "python3", "-c", &agent];
    RawClient::of(pair.command_with(input.map(str::to_owned).into()))
}

/// Returns the texts of the messages of a run.
fn message_texts(end: &Value) -> Vec<String> {
    let messages = end["messages"].as_array().unwrap().iter();
    messages.map(|message| message["content"][0]["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn queued_input_that_starts_a_run_is_in_that_run() {
    let pair = Pair::new("pi", "opal");
    let mut client = client(&pair, STARTS_RUN);
    client.send(json!({"id": "1", "type": "prompt", "message": "go"})).await;
    let first = client.until("agent_end").await;
    assert_eq!(message_texts(&first), ["go", "first"]);
    let behind = client.seen.len();
    let second = client.until("agent_end").await;
    assert_eq!(message_texts(&second), ["later", "second"]);
    let kinds = client.seen[behind..].iter().filter_map(|frame| frame["type"].as_str());
    let kinds: Vec<&str> = kinds.filter(|kind| !kind.starts_with("message_update")).collect();
    assert_eq!(kinds[..3], ["agent_start", "turn_start", "message_start"], "{:?}", client.seen);
    client.disconnect().await;
}

#[tokio::test]
async fn an_answer_that_continues_after_input_is_complete() {
    let pair = Pair::new("pi", "opal");
    let mut client = client(&pair, CONTINUES_ANSWER);
    client.send(json!({"id": "1", "type": "prompt", "message": "go"})).await;
    let end = client.until("agent_end").await;
    assert_eq!(message_texts(&end), ["go", "one ", "later", "two three"]);
    let pieces = client.seen.iter().filter_map(|frame| frame["assistantMessageEvent"]["delta"].as_str());
    assert_eq!(pieces.collect::<String>(), "one two three", "{:?}", client.seen);
    client.disconnect().await;
}
