//! Remote agent: its events are reported and stored as if the agent itself had done the work.

use std::sync::{Arc, Mutex};

use agentese::types::{
    AgentMessage, AssistantBlock, AssistantMessage, AssistantMessageBuilder, ImageContent, InputContent,
    StopReason, TextContent, ToolCall, Usage, UserMessage,
};
use agentese_server::Server;
use agentese_server::engine::{Compacted, Deed, Lead, Manner, StreamingBehavior, Unwilling};
use agentese_server::providers::StreamEvent;
use agentese_server::server::Builder;
use agentese_server::tools::{ToolContent, ToolOutput, ToolUpdate};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::support::link::{Link, builder};

#[path = "led/calls.rs"]
mod early;
#[path = "led/moves.rs"]
mod moves;

/// A remote agent that executes the plan of the test, and records its requests.
struct Other {
    deeds: tokio::sync::Mutex<UnboundedReceiver<Deed>>,
    asked: Mutex<Vec<String>>,
    /// Events after user input.
    plan: Mutex<Vec<Vec<Deed>>>,
    /// Events after an abort.
    when_stopped: Mutex<Vec<Deed>>,
    doing: UnboundedSender<Deed>,
    refuses: Mutex<Option<Unwilling>>,
    history: Mutex<Vec<AgentMessage>>,
}

impl Other {
    fn write(&self, line: impl Into<String>) {
        self.asked.lock().unwrap().push(line.into());
    }

    fn does(&self, deeds: impl IntoIterator<Item = Deed>) {
        deeds.into_iter().for_each(|deed| self.doing.send(deed).unwrap());
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Lead for Other {
    fn next(&self) -> BoxFuture<'_, Deed> {
        async move {
            match self.deeds.lock().await.recv().await {
                Some(deed) => deed,
                None => std::future::pending().await,
            }
        }
        .boxed()
    }

    fn say<'a>(
        &'a self,
        text: &'a str,
        images: &'a [ImageContent],
        manner: Manner,
    ) -> BoxFuture<'a, Result<(), Unwilling>> {
        async move {
            self.write(format!("{text} {manner:?} {}", images.len()));
            if let Some(reason) = self.refuses.lock().unwrap().clone() {
                return Err(reason);
            }
            let deeds = {
                let mut plan = self.plan.lock().unwrap();
                if plan.is_empty() { Vec::new() } else { plan.remove(0) }
            };
            self.does(deeds);
            // Events that precede the client's response are sent after it.
            tokio::task::yield_now().await;
            Ok(())
        }
        .boxed()
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        async move {
            self.write("abort");
            let deeds = std::mem::take(&mut *self.when_stopped.lock().unwrap());
            self.does(deeds);
        }
        .boxed()
    }

    fn compact<'a>(&'a self, focus: Option<&'a str>) -> BoxFuture<'a, Result<Compacted, Unwilling>> {
        async move {
            self.write(format!("compact {focus:?}"));
            let result = agentese::types::CompactionResult::new("so far", "theirs", 12);
            Ok(Compacted { result, kept: 1 })
        }
        .boxed()
    }

    fn new_session(&self) -> BoxFuture<'_, Result<bool, Unwilling>> {
        async move {
            self.write("new");
            Ok(true)
        }
        .boxed()
    }

    fn fork<'a>(&'a self, number: usize, text: &'a str) -> BoxFuture<'a, Result<bool, Unwilling>> {
        async move {
            self.write(format!("fork {number} {text}"));
            Ok(true)
        }
        .boxed()
    }

    fn history(&self) -> BoxFuture<'_, Result<Option<Vec<AgentMessage>>, Unwilling>> {
        async move { Ok(Some(self.history.lock().unwrap().clone())) }.boxed()
    }
}

/// Starts a pi agent with the remote agent behind it.
fn pair(plan: Vec<Vec<Deed>>) -> (Link, Arc<Other>, tempfile::TempDir) {
    let (builder, other, place) = led(plan);
    let server: Server = builder.build();
    (Link::to(server), other, place)
}

/// Builds an agent with the remote agent behind it.
fn led(plan: Vec<Vec<Deed>>) -> (Builder, Arc<Other>, tempfile::TempDir) {
    let (doing, deeds) = unbounded_channel();
    let other = Arc::new(Other {
        deeds: tokio::sync::Mutex::new(deeds),
        asked: Mutex::default(),
        plan: Mutex::new(plan),
        when_stopped: Mutex::default(),
        doing,
        refuses: Mutex::default(),
        history: Mutex::default(),
    });
    let (builder, place) = builder(json!({"responses": []}));
    (builder.lead(other.clone()), other, place)
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

fn says(text: &str) -> Vec<Deed> {
    let block = TextContent::new(text).into();
    vec![
        Deed::Grew(StreamEvent::Start),
        Deed::Grew(StreamEvent::TextStart),
        Deed::Grew(StreamEvent::TextDelta(text.to_owned())),
        Deed::Grew(StreamEvent::TextEnd),
        Deed::Answered(Box::new(answer(vec![block], StopReason::Stop))),
    ]
}

fn user(text: &str) -> Deed {
    Deed::Said(Box::new(UserMessage::new(InputContent::Text(text.to_owned()), 0).into()))
}

fn run(deeds: impl IntoIterator<Item = Deed>) -> Vec<Deed> {
    let mut all = vec![Deed::RunBegan];
    all.extend(deeds);
    all.extend([Deed::RunOver { will_retry: false }, Deed::Rested { aborted: false }]);
    all
}

fn call() -> ToolCall {
    ToolCall::new("c1", "their_tool", Map::new())
}

fn calls() -> Vec<Deed> {
    let mut deeds = vec![
        Deed::Grew(StreamEvent::ToolCallStart { id: "c1".to_owned(), name: "their_tool".to_owned() }),
        Deed::Grew(StreamEvent::ToolCallDelta("{}".to_owned())),
        Deed::Grew(StreamEvent::ToolCallEnd),
        Deed::Answered(Box::new(answer(vec![call().into()], StopReason::ToolUse))),
        Deed::ToolBegan(call()),
    ];
    let content = vec![ToolContent::Text("half".to_owned())];
    deeds.push(Deed::ToolShowed("c1".to_owned(), ToolUpdate { content, details: None }));
    deeds
}

fn kinds(frames: &[Value]) -> Vec<&str> {
    frames.iter().map(|frame| frame["type"].as_str().unwrap_or_default()).collect()
}

fn roles(messages: &Value) -> Vec<&str> {
    messages.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_run_of_the_other_agent_is_told_as_ones_own() {
    let mut deeds = vec![user("hello")];
    deeds.extend(calls());
    deeds.push(Deed::ToolEnded("c1".to_owned(), ToolOutput::text("whole")));
    deeds.extend(says("done"));
    let (mut link, other, _place) = pair(vec![run(deeds)]);
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
    assert_eq!(other.asked(), ["hello Prompt(None) 0"]);
    let messages = link.data(json!({"type": "get_messages"})).await;
    assert_eq!(roles(&messages["messages"]), ["user", "assistant", "toolResult", "assistant"]);
    assert_eq!(link.data(json!({"type": "get_last_assistant_text"})).await["text"], "done");
}

#[tokio::test]
async fn words_that_the_other_agent_does_not_repeat_stand_before_its_answer() {
    let (mut link, _, _place) = pair(vec![run(says("hi"))]);
    let events = link.run("hello").await;
    assert_eq!(kinds(&events)[..4], ["agent_start", "turn_start", "message_start", "message_end"]);
    assert_eq!(events[2]["message"]["content"][0]["text"], "hello");
}

#[tokio::test]
async fn what_the_other_agent_refuses_is_refused_and_begins_nothing() {
    let (mut link, other, _place) = pair(Vec::new());
    *other.refuses.lock().unwrap() = Some("no key".to_owned());
    let answer = link.ask(json!({"type": "prompt", "message": "hello"})).await;
    assert_eq!((&answer["success"], &answer["error"]), (&json!(false), &json!("no key")));
    assert_eq!(link.data(json!({"type": "get_state"})).await["isStreaming"], false);
}

#[tokio::test]
async fn steering_waits_here_until_the_other_agent_delivers_it() {
    let mut first = vec![Deed::RunBegan];
    first.extend(calls());
    let mut second = vec![Deed::ToolEnded("c1".to_owned(), ToolOutput::text("whole")), user("stop that")];
    second.extend(says("well"));
    second.extend([Deed::RunOver { will_retry: false }, Deed::Rested { aborted: false }]);
    let (mut link, other, _place) = pair(vec![first, second]);
    link.send(json!({"type": "prompt", "message": "hello"})).await;
    link.until_event("tool_execution_update").await;
    link.send(json!({"id": "s", "type": "steer", "message": "stop that"})).await;
    let events = link.until_event("agent_end").await;
    assert_eq!(events[0]["id"], "s");
    let said = events.iter().filter(|event| event["type"] == "message_start");
    let said: Vec<_> = said.map(|event| event["message"]["role"].as_str().unwrap()).collect();
    assert_eq!(said, ["toolResult", "user", "assistant"]);
    assert_eq!(link.data(json!({"type": "get_state"})).await["pendingMessageCount"], 0);
    assert_eq!(other.asked()[1], format!("stop that {:?} 0", Manner::Queue(StreamingBehavior::Steer)));
}

#[tokio::test]
async fn an_abort_goes_to_the_other_agent_and_waits_for_its_end() {
    let mut first = vec![Deed::RunBegan];
    first.extend(calls());
    let (mut link, other, _place) = pair(vec![first]);
    // The run ends without an event for the call.
    *other.when_stopped.lock().unwrap() =
        vec![Deed::RunOver { will_retry: false }, Deed::Rested { aborted: true }];
    link.send(json!({"type": "prompt", "message": "hello"})).await;
    link.until_event("tool_execution_update").await;
    link.send(json!({"id": "a", "type": "abort"})).await;
    let frames = link.answer("a").await;
    assert_eq!(frames["success"], true);
    let all = kinds(&link.seen);
    let end = all.iter().position(|kind| *kind == "agent_end").unwrap();
    assert_eq!(all[end - 4..end], ["tool_execution_end", "message_start", "message_end", "turn_end"]);
    assert_eq!(other.asked()[1..], ["abort"]);
}

#[tokio::test]
async fn an_answer_that_is_cut_by_an_abort_is_aborted() {
    let mut first = says("never");
    first.truncate(3);
    first.insert(0, Deed::RunBegan);
    let (mut link, other, _place) = pair(vec![first]);
    *other.when_stopped.lock().unwrap() = vec![Deed::Rested { aborted: true }];
    link.send(json!({"type": "prompt", "message": "hello"})).await;
    link.until("the text", |frame| frame["assistantMessageEvent"]["type"] == "text_delta").await;
    link.send(json!({"id": "a", "type": "abort"})).await;
    link.answer("a").await;
    let messages = link.data(json!({"type": "get_messages"})).await;
    assert_eq!(messages["messages"][1]["stopReason"], "aborted");
}

#[tokio::test]
async fn retries_and_compactions_of_the_other_agent_are_announced() {
    let failed = {
        let mut failed = answer(Vec::new(), StopReason::Error);
        failed.error_message = Some("overloaded".to_owned());
        failed
    };
    let mut deeds = vec![
        Deed::RunBegan,
        Deed::Answered(Box::new(failed)),
        Deed::RunOver { will_retry: true },
        Deed::RetryBegan {
            attempt: 1,
            limit: 3,
            pause: std::time::Duration::from_millis(5),
            error: "overloaded".to_owned(),
        },
        Deed::RunBegan,
    ];
    deeds.extend(says("at last"));
    deeds.push(Deed::RetryOver { success: true, attempt: 1, error: None });
    deeds.push(Deed::RunOver { will_retry: false });
    deeds.push(Deed::CompactionBegan(agentese::types::CompactionReason::Threshold));
    let result = agentese::types::CompactionResult::new("so far", "theirs", 12);
    deeds.push(Deed::CompactionOver {
        result: Some(Compacted { result, kept: 1 }),
        aborted: false,
        will_retry: false,
        error: None,
    });
    deeds.push(Deed::Rested { aborted: false });
    let (mut link, _, _place) = pair(vec![deeds]);
    link.send(json!({"type": "prompt", "message": "hello"})).await;
    let frames = link.until_event("auto_compaction_end").await;
    let told = kinds(&frames);
    for kind in ["auto_retry_start", "auto_retry_end", "auto_compaction_start"] {
        assert!(told.contains(&kind), "{told:?}");
    }
    let messages = link.data(json!({"type": "get_messages"})).await;
    assert_eq!(roles(&messages["messages"]), ["compactionSummary", "assistant"]);
}

#[tokio::test]
async fn when_the_other_agent_dies_what_is_open_fails_and_so_does_what_comes() {
    let mut first = says("never");
    first.truncate(3);
    first.insert(0, Deed::RunBegan);
    first.push(Deed::Gone("the agent exited with code 7".to_owned()));
    let (mut link, _, _place) = pair(vec![first]);
    let events = link.run("hello").await;
    let end = events.iter().rev().find(|event| event["type"] == "message_end").unwrap();
    assert_eq!(end["message"]["errorMessage"], "the agent exited with code 7");
    let answer = link.ask(json!({"type": "prompt", "message": "again"})).await;
    assert_eq!(answer["error"], "the agent exited with code 7");
    link.finish().await;
}

#[tokio::test]
async fn a_run_that_nobody_asked_for_is_told_too() {
    let (mut link, other, _place) = pair(Vec::new());
    other.does(run(says("by the way")));
    let events = link.until_event("agent_end").await;
    assert_eq!(kinds(&events)[..3], ["agent_start", "turn_start", "message_start"]);
    assert_eq!(link.data(json!({"type": "get_state"})).await["isStreaming"], false);
}
