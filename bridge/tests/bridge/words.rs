//! Input with which an agent starts a run by itself.

use serde_json::{Value, json};

use super::Pair;
use super::raw::Raw;

/// Opal agent that processes each prompt with `work`.
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
const BEGINS: &str = r#"
def work():
    begin("first")
    tell("agent_end")
    tell("message_applied", text="later")
    begin("second")
    tell("agent_end")
"#;

/// The agent accepts input during an answer, which continues.
const GOES_ON: &str = r#"
def work():
    begin("one ")
    tell("message_applied", text="later")
    tell("message_delta", delta="two ")
    tell("message_delta", delta="three")
    tell("agent_end")
"#;

/// Returns a pi client of an agent with that behaviour.
pub fn client(pair: &Pair, work: &str) -> Raw {
    let agent = format!("{work}{AGENT}");
    let words = ["bridge", "--to", "pi", "--from", "opal", "--", "python3", "-c", &agent];
    Raw::of(pair.command_by(words.map(str::to_owned).into()))
}

/// Returns the texts of the messages of a run.
fn said(end: &Value) -> Vec<String> {
    let messages = end["messages"].as_array().unwrap().iter();
    messages.map(|message| message["content"][0]["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn words_that_an_agent_begins_with_stand_in_its_run() {
    let pair = Pair::new("pi", "opal");
    let mut client = client(&pair, BEGINS);
    client.says(json!({"id": "1", "type": "prompt", "message": "go"})).await;
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

#[tokio::test]
async fn an_answer_that_goes_on_behind_words_reaches_the_client_whole() {
    let pair = Pair::new("pi", "opal");
    let mut client = client(&pair, GOES_ON);
    client.says(json!({"id": "1", "type": "prompt", "message": "go"})).await;
    let end = client.until("agent_end").await;
    assert_eq!(said(&end), ["go", "one ", "later", "two three"]);
    let pieces = client.seen.iter().filter_map(|frame| frame["assistantMessageEvent"]["delta"].as_str());
    assert_eq!(pieces.collect::<String>(), "one two three", "{:?}", client.seen);
    client.leaves().await;
}
