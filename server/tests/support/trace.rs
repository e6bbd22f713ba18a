//! Checks of the frames and runs of an agent.

use agentese::frame::ServerFrame;
use agentese::framing::FrameText;
use agentese::pi::{Event, Pi};
use agentese::spec::Dialect;
use serde_json::{Value, json};

/// Checks that the dialect declares a frame and all its members.
#[track_caller]
pub fn check_frame(line: &str) {
    let frame: Value = serde_json::from_str(line).unwrap();
    // A response to an unknown command names that command.
    if frame["type"] == "response" && frame["success"] == false {
        assert!(frame["error"].is_string(), "{line}");
        return;
    }
    let typed = ServerFrame::<Pi>::decode(&FrameText::from(line), |_| None)
        .unwrap_or_else(|error| panic!("{error}: {line}"));
    if let ServerFrame::Event(Event::Unknown(_)) = typed {
        panic!("an unknown event: {line}");
    }
    assert_eq!(serde_json::from_str::<Value>(&typed.encode().unwrap()).unwrap(), frame);
}

/// Does the same as [`check_frame`] for a dialect whose frames have separate tests.
#[track_caller]
pub fn check_frame_of<D: Dialect>(line: &str) {
    let frame: Value = serde_json::from_str(line).unwrap();
    // A JSON-RPC response does not name its command, so the sender checks it.
    if frame.get("jsonrpc").is_some() && frame.get("method").is_none() {
        return;
    }
    let typed = ServerFrame::<D>::decode(&FrameText::from(line), |_| None)
        .unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!(serde_json::from_str::<Value>(&typed.encode().unwrap()).unwrap(), frame);
}

/// Checks that the events of one run follow this grammar and are consistent:
///
/// ```text
/// run       = agent_start turn+ agent_end
/// turn      = turn_start (message of the user)* answer toolwork* turn_end
/// answer    = message_start message_update* message_end
/// toolwork  = tool_execution_start tool_execution_update* tool_execution_end (message of the tool)
/// ```
///
/// Other frames may appear between them.
#[track_caller]
pub fn check_run(frames: &[Value]) {
    let events: Vec<Value> = frames.iter().filter(|frame| frame["type"] != "response").cloned().collect();
    let mut run = Cursor { events: &events, at: 0 };
    run.take("agent_start");
    let mut messages = Vec::new();
    loop {
        check_turn(&mut run, &mut messages);
        if run.kind() == "agent_end" {
            break;
        }
    }
    let end = run.take("agent_end");
    assert_eq!(end["messages"], json!(messages), "agent_end has all messages of the run");
    assert_eq!(run.at, events.len(), "nothing comes after agent_end: {:#?}", &events[run.at..]);
}

struct Cursor<'a> {
    events: &'a [Value],
    at: usize,
}

impl<'a> Cursor<'a> {
    #[track_caller]
    fn event(&self) -> &'a Value {
        self.events.get(self.at).unwrap_or_else(|| panic!("the run stops after {:#?}", self.events.last()))
    }

    #[track_caller]
    fn kind(&self) -> &'a str {
        self.event()["type"].as_str().unwrap()
    }

    fn role(&self) -> &'a str {
        self.event()["message"]["role"].as_str().unwrap_or_default()
    }

    #[track_caller]
    fn take(&mut self, kind: &str) -> &'a Value {
        let event = self.event();
        assert_eq!(self.kind(), kind, "event {}: {event:#}", self.at);
        self.at += 1;
        event
    }

    /// Checks that a message does not change between its start and its end. Returns the message.
    #[track_caller]
    fn message(&mut self) -> &'a Value {
        let start = &self.take("message_start")["message"];
        assert_eq!(start, &self.take("message_end")["message"]);
        start
    }
}

#[track_caller]
fn check_turn(run: &mut Cursor<'_>, messages: &mut Vec<Value>) {
    run.take("turn_start");
    while run.role() == "user" {
        messages.push(run.message().clone());
    }
    let answer = check_answer(run);
    messages.push(answer.clone());
    let mut results = Vec::new();
    let failed = matches!(answer["stopReason"].as_str(), Some("error" | "aborted"));
    assert_eq!(failed, answer.get("errorMessage").is_some(), "{answer:#}");
    let blocks = answer["content"].as_array().unwrap();
    for call in blocks.iter().filter(|block| block["type"] == "toolCall" && !failed) {
        results.push(check_call(run, call));
    }
    messages.extend(results.iter().cloned());
    let end = run.take("turn_end");
    assert_eq!(end["message"], answer);
    assert_eq!(end["toolResults"], json!(results));
}

/// Checks that the updates of an answer result in its final message.
#[track_caller]
fn check_answer(run: &mut Cursor<'_>) -> Value {
    let start = &run.take("message_start")["message"];
    assert_eq!((&start["role"], &start["content"]), (&json!("assistant"), &json!([])));
    let mut grown: Vec<String> = Vec::new();
    let mut open = false;
    while run.kind() == "message_update" {
        let update = run.take("message_update");
        let event = &update["assistantMessageEvent"];
        let (kind, index) =
            (event["type"].as_str().unwrap(), event["contentIndex"].as_u64().unwrap() as usize);
        assert_eq!(event["partial"], update["message"]);
        let (_, step) = kind.rsplit_once('_').unwrap();
        match step {
            "start" => {
                assert_eq!((index, open), (grown.len(), false), "{event:#}");
                grown.push(String::new());
                open = true;
            }
            "delta" => {
                assert!(open && index + 1 == grown.len(), "{event:#}");
                grown[index].push_str(event["delta"].as_str().unwrap());
            }
            "end" => {
                assert!(open && index + 1 == grown.len(), "{event:#}");
                open = false;
            }
            other => panic!("{other}: {event:#}"),
        }
        let block = &update["message"]["content"][index];
        match block["type"].as_str().unwrap() {
            "toolCall" => {
                if step == "end" {
                    assert_eq!(&event["toolCall"], block);
                }
            }
            kind => {
                assert_eq!(block[kind], json!(grown[index]), "the snapshot is the sum of the deltas");
                if step == "end" {
                    assert_eq!(event["content"], block[kind]);
                }
            }
        }
    }
    let end = run.take("message_end")["message"].clone();
    let blocks = end["content"].as_array().unwrap();
    assert_eq!(blocks.len(), grown.len());
    for (block, text) in blocks.iter().zip(&grown) {
        match block["type"].as_str().unwrap() {
            "toolCall" => {
                // Arguments that are not an object are treated as absent.
                if let Ok(arguments @ Value::Object(_)) = serde_json::from_str::<Value>(text) {
                    assert_eq!(block["arguments"], arguments);
                }
            }
            kind => assert_eq!(block[kind], json!(text)),
        }
    }
    end
}

#[track_caller]
fn check_call(run: &mut Cursor<'_>, call: &Value) -> Value {
    let start = run.take("tool_execution_start");
    let same_call = |event: &Value| {
        assert_eq!((&event["toolCallId"], &event["toolName"]), (&call["id"], &call["name"]));
    };
    same_call(start);
    assert_eq!(start["args"], call["arguments"]);
    while run.kind() == "tool_execution_update" {
        let update = run.take("tool_execution_update");
        same_call(update);
        assert_eq!(update["args"], call["arguments"]);
    }
    let end = run.take("tool_execution_end");
    same_call(end);
    let message = run.message().clone();
    same_call(&message);
    assert_eq!(message["role"], "toolResult");
    assert_eq!(
        (&message["content"], message.get("details"), &message["isError"]),
        (&end["result"]["content"], end["result"].get("details"), &end["isError"])
    );
    message
}

/// Checks that every call in a conversation has exactly one result, directly after the answer. Failed answers are
/// excluded, because models do not receive them.
#[track_caller]
pub fn check_history(messages: &[Value]) {
    let mut open: Vec<&Value> = Vec::new();
    for message in messages {
        match message["role"].as_str().unwrap() {
            "assistant" => {
                assert!(open.is_empty(), "calls without a result: {open:?}");
                if !matches!(message["stopReason"].as_str(), Some("error" | "aborted")) {
                    let blocks = message["content"].as_array().unwrap().iter();
                    open =
                        blocks.filter(|block| block["type"] == "toolCall").map(|call| &call["id"]).collect();
                }
            }
            "toolResult" => {
                assert!(!open.is_empty() && *open.remove(0) == message["toolCallId"], "{message:#}");
            }
            _ => assert!(open.is_empty(), "calls without a result: {open:?}"),
        }
    }
    assert!(open.is_empty(), "calls without a result: {open:?}");
}

/// Returns the types of events in a short form. Updates are left out.
pub fn outline(frames: &[Value]) -> Vec<String> {
    let line = |frame: &Value| {
        let kind = frame["type"].as_str().unwrap_or_default();
        match kind {
            "response" => format!("response {}", frame["command"].as_str().unwrap_or_default()),
            "message_start" => format!("start {}", frame["message"]["role"].as_str().unwrap_or_default()),
            "message_end" => format!("end {}", frame["message"]["role"].as_str().unwrap_or_default()),
            other => other.to_owned(),
        }
    };
    let wanted =
        |frame: &&Value| frame["type"] != "message_update" && frame["type"] != "tool_execution_update";
    frames.iter().filter(wanted).map(line).collect()
}

/// Returns the texts of the user messages that entered the conversation.
pub fn delivered(frames: &[Value]) -> Vec<String> {
    let users =
        frames.iter().filter(|frame| frame["type"] == "message_end" && frame["message"]["role"] == "user");
    users.map(|frame| frame["message"]["content"][0]["text"].as_str().unwrap().to_owned()).collect()
}

/// Returns the text of each tool result.
pub fn results(frames: &[Value]) -> Vec<String> {
    let ends = frames.iter().filter(|frame| frame["type"] == "tool_execution_end");
    ends.map(|frame| frame["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()).collect()
}
