//! Words that an agent begins with by itself.

use serde_json::{Value, json};

use super::Pair;
use super::raw::Raw;

/// An agent of Opal that answers a prompt, and begins then with words that have waited.
const AGENT: &str = r#"
import json, sys

def say(frame):
    print(json.dumps({"jsonrpc": "2.0", **frame}), flush=True)

def tell(kind, **more):
    say({"method": "agent/event", "params": {"type": kind, "session_id": "s", **more}})

def run(text):
    tell("agent_start")
    tell("message_start")
    tell("message_delta", delta=text)
    tell("agent_end")

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
        run("first")
        tell("message_applied", text="later")
        run("second")
"#;

#[tokio::test]
async fn words_that_an_agent_begins_with_stand_in_its_run() {
    let pair = Pair::new("pi", "opal");
    let words = ["bridge", "--to", "pi", "--from", "opal", "--", "python3", "-c", AGENT];
    let mut client = Raw::of(pair.command_by(words.map(str::to_owned).into()));
    client.says(json!({"id": "1", "type": "prompt", "message": "go"})).await;
    let said = |end: &Value| {
        let messages = end["messages"].as_array().unwrap().iter();
        messages.map(|message| message["content"][0]["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let first = client.until("agent_end").await;
    assert_eq!(said(&first), ["go", "first"]);
    let behind = client.seen.len();
    let second = client.until("agent_end").await;
    assert_eq!(said(&second), ["later", "second"]);
    let kinds = client.seen[behind..].iter().filter_map(|frame| frame["type"].as_str());
    let kinds: Vec<&str> = kinds.filter(|kind| !kind.starts_with("message_update")).collect();
    assert_eq!(kinds[..3], ["agent_start", "turn_start", "message_start"], "{:?}", client.seen);
    client.leaves().await;
}
