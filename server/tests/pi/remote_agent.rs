//! Tests of remote agents: their events are reported and stored as if the agent itself had done the work.

use std::sync::{Arc, Mutex};

use agentese::types::{
    AgentMessage, AssistantBlock, AssistantMessage, AssistantMessageBuilder, ImageContent, InputContent,
    StopReason, TextContent, ToolCall, Usage, UserMessage,
};
use agentese_server::Server;
use agentese_server::engine::{
    Delivery, InputQueue, RemoteAgent, RemoteCompaction, RemoteError, RemoteEvent,
};
use agentese_server::providers::StreamEvent;
use agentese_server::server::Builder;
use agentese_server::tools::{ToolContent, ToolOutput, ToolUpdate};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::support::link::{Link, builder};

#[path = "remote_agent/early_calls.rs"]
mod early_calls;
#[path = "remote_agent/session_switches.rs"]
mod session_switches;

/// A remote agent that sends the events that a test plans, and records its requests.
struct FakeRemoteAgent {
    events: tokio::sync::Mutex<UnboundedReceiver<RemoteEvent>>,
    calls: Mutex<Vec<String>>,
    /// Events to send for user input, one list for each input.
    planned_events: Mutex<Vec<Vec<RemoteEvent>>>,
    /// Events to send for an abort.
    abort_events: Mutex<Vec<RemoteEvent>>,
    event_sender: UnboundedSender<RemoteEvent>,
    rejection: Mutex<Option<RemoteError>>,
    history: Mutex<Vec<AgentMessage>>,
}

impl FakeRemoteAgent {
    fn record(&self, line: impl Into<String>) {
        self.calls.lock().unwrap().push(line.into());
    }

    fn emit(&self, events: impl IntoIterator<Item = RemoteEvent>) {
        events.into_iter().for_each(|event| self.event_sender.send(event).unwrap());
    }

    fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }
}

impl RemoteAgent for FakeRemoteAgent {
    fn next_event(&self) -> BoxFuture<'_, RemoteEvent> {
        async move {
            match self.events.lock().await.recv().await {
                Some(event) => event,
                None => std::future::pending().await,
            }
        }
        .boxed()
    }

    fn submit<'a>(
        &'a self,
        text: &'a str,
        images: &'a [ImageContent],
        delivery: Delivery,
    ) -> BoxFuture<'a, Result<(), RemoteError>> {
        async move {
            self.record(format!("{text} {delivery:?} {}", images.len()));
            if let Some(reason) = self.rejection.lock().unwrap().clone() {
                return Err(reason);
            }
            let events = {
                let mut plan = self.planned_events.lock().unwrap();
                if plan.is_empty() { Vec::new() } else { plan.remove(0) }
            };
            self.emit(events);
            // Events that precede the client's response are sent after it.
            tokio::task::yield_now().await;
            Ok(())
        }
        .boxed()
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        async move {
            self.record("abort");
            let events = std::mem::take(&mut *self.abort_events.lock().unwrap());
            self.emit(events);
        }
        .boxed()
    }

    fn compact<'a>(&'a self, focus: Option<&'a str>) -> BoxFuture<'a, Result<RemoteCompaction, RemoteError>> {
        async move {
            self.record(format!("compact {focus:?}"));
            let result = agentese::types::CompactionResult::new("so far", "theirs", 12);
            Ok(RemoteCompaction { result, kept_messages: 1 })
        }
        .boxed()
    }

    fn new_session(&self) -> BoxFuture<'_, Result<bool, RemoteError>> {
        async move {
            self.record("new");
            Ok(true)
        }
        .boxed()
    }

    fn fork<'a>(&'a self, number: usize, text: &'a str) -> BoxFuture<'a, Result<bool, RemoteError>> {
        async move {
            self.record(format!("fork {number} {text}"));
            Ok(true)
        }
        .boxed()
    }

    fn history(&self) -> BoxFuture<'_, Result<Option<Vec<AgentMessage>>, RemoteError>> {
        async move { Ok(Some(self.history.lock().unwrap().clone())) }.boxed()
    }
}

/// Starts a pi agent in front of a remote agent with this plan.
fn served_pair(plan: Vec<Vec<RemoteEvent>>) -> (Link, Arc<FakeRemoteAgent>, tempfile::TempDir) {
    let (builder, other, place) = builder_with_remote(plan);
    let server: Server = builder.build();
    (Link::serving(server), other, place)
}

/// Returns a builder for an agent in front of a remote agent with this plan.
fn builder_with_remote(plan: Vec<Vec<RemoteEvent>>) -> (Builder, Arc<FakeRemoteAgent>, tempfile::TempDir) {
    let (event_sender, event_receiver) = unbounded_channel();
    let other = Arc::new(FakeRemoteAgent {
        events: tokio::sync::Mutex::new(event_receiver),
        calls: Mutex::default(),
        planned_events: Mutex::new(plan),
        abort_events: Mutex::default(),
        event_sender,
        rejection: Mutex::default(),
        history: Mutex::default(),
    });
    let (builder, place) = builder(json!({"responses": []}));
    (builder.remote_agent(other.clone()), other, place)
}

fn answer(blocks: Vec<AssistantBlock>, stop: StopReason) -> AssistantMessage {
    let usage: Usage =
        serde_json::from_value(json!({"input": 3, "output": 4, "cacheRead": 0, "cacheWrite": 0,
        "totalTokens": 7, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}))
        .unwrap();
    AssistantMessageBuilder {
        content: blocks,
        api: "far-away".to_owned(),
        provider: "them".to_owned(),
        model: "theirs".to_owned(),
        usage,
        stop_reason: stop,
        timestamp: 5,
    }
    .build()
}

fn answer_events(text: &str) -> Vec<RemoteEvent> {
    let block = TextContent::new(text).into();
    vec![
        RemoteEvent::AnswerUpdated(StreamEvent::Start),
        RemoteEvent::AnswerUpdated(StreamEvent::TextStart),
        RemoteEvent::AnswerUpdated(StreamEvent::TextDelta(text.to_owned())),
        RemoteEvent::AnswerUpdated(StreamEvent::TextEnd),
        RemoteEvent::AnswerEnded(Box::new(answer(vec![block], StopReason::Stop))),
    ]
}

fn user_event(text: &str) -> RemoteEvent {
    RemoteEvent::MessageAdded(Box::new(UserMessage::new(InputContent::Text(text.to_owned()), 0).into()))
}

fn run_events(events: impl IntoIterator<Item = RemoteEvent>) -> Vec<RemoteEvent> {
    let mut all = vec![RemoteEvent::RunStarted];
    all.extend(events);
    all.extend([RemoteEvent::RunEnded { will_retry: false }, RemoteEvent::Settled { aborted: false }]);
    all
}

fn call() -> ToolCall {
    ToolCall::new("c1", "their_tool", Map::new())
}

fn tool_call_events() -> Vec<RemoteEvent> {
    let mut events = vec![
        RemoteEvent::AnswerUpdated(StreamEvent::ToolCallStart {
            id: "c1".to_owned(),
            name: "their_tool".to_owned(),
        }),
        RemoteEvent::AnswerUpdated(StreamEvent::ToolCallDelta("{}".to_owned())),
        RemoteEvent::AnswerUpdated(StreamEvent::ToolCallEnd),
        RemoteEvent::AnswerEnded(Box::new(answer(vec![call().into()], StopReason::ToolUse))),
        RemoteEvent::ToolStarted(call()),
    ];
    let content = vec![ToolContent::Text("half".to_owned())];
    events.push(RemoteEvent::ToolUpdated("c1".to_owned(), ToolUpdate { content, details: None }));
    events
}

fn kinds(frames: &[Value]) -> Vec<&str> {
    frames.iter().map(|frame| frame["type"].as_str().unwrap_or_default()).collect()
}

fn roles(messages: &Value) -> Vec<&str> {
    messages.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn remote_run_is_reported_like_a_local_run() {
    let mut events = vec![user_event("hello")];
    events.extend(tool_call_events());
    events.push(RemoteEvent::ToolEnded("c1".to_owned(), ToolOutput::text("whole")));
    events.extend(answer_events("done"));
    let (mut link, other, _place) = served_pair(vec![run_events(events)]);
    let events = link.run("hello").await;
    assert_eq!(
        kinds(&events),
        [
            "agent_start",
            "turn_start",
            "message_start",
            "message_end",
            "message_start",
            "message_update",
            "message_update",
            "message_update",
            "message_end",
            "tool_execution_start",
            "tool_execution_update",
            "tool_execution_end",
            "message_start",
            "message_end",
            "turn_end",
            "turn_start",
            "message_start",
            "message_update",
            "message_update",
            "message_update",
            "message_end",
            "turn_end",
            "agent_end",
        ]
    );
    let answer = &events[20]["message"];
    assert_eq!((&answer["model"], &answer["usage"]["totalTokens"]), (&json!("theirs"), &json!(7)));
    assert_eq!(other.calls(), ["hello Prompt(None) 0"]);
    let messages = link.data(json!({"type": "get_messages"})).await;
    assert_eq!(roles(&messages["messages"]), ["user", "assistant", "toolResult", "assistant"]);
    assert_eq!(link.data(json!({"type": "get_last_assistant_text"})).await["text"], "done");
}

#[tokio::test]
async fn input_that_the_remote_agent_does_not_echo_precedes_its_answer() {
    let (mut link, _, _place) = served_pair(vec![run_events(answer_events("hi"))]);
    let events = link.run("hello").await;
    assert_eq!(kinds(&events)[..4], ["agent_start", "turn_start", "message_start", "message_end"]);
    assert_eq!(events[2]["message"]["content"][0]["text"], "hello");
}

#[tokio::test]
async fn remote_rejection_is_returned_and_starts_nothing() {
    let (mut link, other, _place) = served_pair(Vec::new());
    *other.rejection.lock().unwrap() = Some("no key".to_owned());
    let answer = link.request(json!({"type": "prompt", "message": "hello"})).await;
    assert_eq!((&answer["success"], &answer["error"]), (&json!(false), &json!("no key")));
    assert_eq!(link.data(json!({"type": "get_state"})).await["isStreaming"], false);
}

#[tokio::test]
async fn steering_is_queued_until_the_remote_agent_delivers_it() {
    let mut first = vec![RemoteEvent::RunStarted];
    first.extend(tool_call_events());
    let mut second =
        vec![RemoteEvent::ToolEnded("c1".to_owned(), ToolOutput::text("whole")), user_event("stop that")];
    second.extend(answer_events("well"));
    second.extend([RemoteEvent::RunEnded { will_retry: false }, RemoteEvent::Settled { aborted: false }]);
    let (mut link, other, _place) = served_pair(vec![first, second]);
    link.send(json!({"type": "prompt", "message": "hello"})).await;
    link.until_event("tool_execution_update").await;
    link.send(json!({"id": "s", "type": "steer", "message": "stop that"})).await;
    let events = link.until_event("agent_end").await;
    assert_eq!(events[0]["id"], "s");
    let roles = events.iter().filter(|event| event["type"] == "message_start");
    let roles: Vec<_> = roles.map(|event| event["message"]["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["toolResult", "user", "assistant"]);
    assert_eq!(link.data(json!({"type": "get_state"})).await["pendingMessageCount"], 0);
    assert_eq!(other.calls()[1], format!("stop that {:?} 0", Delivery::Queue(InputQueue::Steer)));
}

#[tokio::test]
async fn abort_is_forwarded_and_waits_for_the_remote_end() {
    let mut first = vec![RemoteEvent::RunStarted];
    first.extend(tool_call_events());
    let (mut link, other, _place) = served_pair(vec![first]);
    // The run ends without an event for the call.
    *other.abort_events.lock().unwrap() =
        vec![RemoteEvent::RunEnded { will_retry: false }, RemoteEvent::Settled { aborted: true }];
    link.send(json!({"type": "prompt", "message": "hello"})).await;
    link.until_event("tool_execution_update").await;
    link.send(json!({"id": "a", "type": "abort"})).await;
    let frames = link.answer("a").await;
    assert_eq!(frames["success"], true);
    let all = kinds(&link.seen);
    let end = all.iter().position(|kind| *kind == "agent_end").unwrap();
    assert_eq!(all[end - 4..end], ["tool_execution_end", "message_start", "message_end", "turn_end"]);
    assert_eq!(other.calls()[1..], ["abort"]);
}

#[tokio::test]
async fn an_answer_that_is_cut_by_an_abort_is_aborted() {
    let mut first = answer_events("never");
    first.truncate(3);
    first.insert(0, RemoteEvent::RunStarted);
    let (mut link, other, _place) = served_pair(vec![first]);
    *other.abort_events.lock().unwrap() = vec![RemoteEvent::Settled { aborted: true }];
    link.send(json!({"type": "prompt", "message": "hello"})).await;
    link.until("the text", |frame| frame["assistantMessageEvent"]["type"] == "text_delta").await;
    link.send(json!({"id": "a", "type": "abort"})).await;
    link.answer("a").await;
    let messages = link.data(json!({"type": "get_messages"})).await;
    assert_eq!(messages["messages"][1]["stopReason"], "aborted");
}

#[tokio::test]
async fn remote_retries_and_compactions_are_reported() {
    let failed = {
        let mut failed = answer(Vec::new(), StopReason::Error);
        failed.error_message = Some("overloaded".to_owned());
        failed
    };
    let mut events = vec![
        RemoteEvent::RunStarted,
        RemoteEvent::AnswerEnded(Box::new(failed)),
        RemoteEvent::RunEnded { will_retry: true },
        RemoteEvent::RetryStarted {
            attempt: 1,
            limit: 3,
            pause: std::time::Duration::from_millis(5),
            error: "overloaded".to_owned(),
        },
        RemoteEvent::RunStarted,
    ];
    events.extend(answer_events("at last"));
    events.push(RemoteEvent::RetryEnded { success: true, attempt: 1, error: None });
    events.push(RemoteEvent::RunEnded { will_retry: false });
    events.push(RemoteEvent::CompactionStarted(agentese::types::CompactionReason::Threshold));
    let result = agentese::types::CompactionResult::new("so far", "theirs", 12);
    events.push(RemoteEvent::CompactionEnded {
        result: Some(RemoteCompaction { result, kept_messages: 1 }),
        aborted: false,
        will_retry: false,
        error: None,
    });
    events.push(RemoteEvent::Settled { aborted: false });
    let (mut link, _, _place) = served_pair(vec![events]);
    link.send(json!({"type": "prompt", "message": "hello"})).await;
    let frames = link.until_event("auto_compaction_end").await;
    let event_types = kinds(&frames);
    for kind in ["auto_retry_start", "auto_retry_end", "auto_compaction_start"] {
        assert!(event_types.contains(&kind), "{event_types:?}");
    }
    let messages = link.data(json!({"type": "get_messages"})).await;
    assert_eq!(roles(&messages["messages"]), ["compactionSummary", "assistant"]);
}

#[tokio::test]
async fn remote_disconnection_fails_open_and_later_work() {
    let mut first = answer_events("never");
    first.truncate(3);
    first.insert(0, RemoteEvent::RunStarted);
    first.push(RemoteEvent::Disconnected("the agent exited with code 7".to_owned()));
    let (mut link, _, _place) = served_pair(vec![first]);
    let events = link.run("hello").await;
    let end = events.iter().rev().find(|event| event["type"] == "message_end").unwrap();
    assert_eq!(end["message"]["errorMessage"], "the agent exited with code 7");
    let answer = link.request(json!({"type": "prompt", "message": "again"})).await;
    assert_eq!(answer["error"], "the agent exited with code 7");
    link.finish().await;
}

#[tokio::test]
async fn unrequested_remote_run_is_reported() {
    let (mut link, other, _place) = served_pair(Vec::new());
    other.emit(run_events(answer_events("by the way")));
    let events = link.until_event("agent_end").await;
    assert_eq!(kinds(&events)[..3], ["agent_start", "turn_start", "message_start"]);
    assert_eq!(link.data(json!({"type": "get_state"})).await["isStreaming"], false);
}
