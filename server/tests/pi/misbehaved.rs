//! Tests of components that violate their contracts. Other components of the agent must not be affected.

use std::sync::Arc;
use std::time::Duration;

use agentese::types::Model;
use agentese_server::providers::scripted::ScriptedProvider;
use agentese_server::providers::{Provider, Request, StreamEvent};
use agentese_server::runtime::{Clock, SystemClock};
use agentese_server::tools::{Tool, ToolContext, ToolOutput, ToolSet};
use agentese_server::{Builder, Server};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use serde_json::{Value, json};

use crate::support::link::{Link, builder};
use crate::support::trace::{check_history, check_run, results};

/// A tool whose calls panic or never end.
struct MisbehavingTool(&'static str);

impl Tool for MisbehavingTool {
    fn name(&self) -> &str {
        self.0
    }
    fn description(&self) -> &str {
        "wild"
    }
    fn parameters(&self) -> Value {
        json!({"type": "object"})
    }
    fn read_only(&self) -> bool {
        true
    }
    fn execute<'a>(&'a self, _: &'a ToolContext, _: Value) -> BoxFuture<'a, ToolOutput> {
        match self.0 {
            "panics" => async { panic!("as it does") }.boxed(),
            _ => futures::future::pending().boxed(),
        }
    }
}

/// A clock whose pauses end at once and whose time does not advance.
struct InstantClock;

impl Clock for InstantClock {
    fn now_ms(&self) -> i64 {
        SystemClock.now_ms()
    }
    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        tokio::task::yield_now().boxed()
    }
}

fn builder_with_misbehaving_tools(script: Value) -> (Builder, tempfile::TempDir) {
    let (builder, place) = builder(script);
    let mut tools = ToolSet::builtin();
    tools.add(Arc::new(MisbehavingTool("panics")));
    tools.add(Arc::new(MisbehavingTool("hangs")));
    (builder.tools(tools), place)
}

fn call(tool: &str) -> Value {
    json!({"blocks": [{"tool": {"name": tool}}]})
}

#[tokio::test]
async fn fm_f55_a_tool_that_panics_is_an_error_result() {
    let (builder, _place) =
        builder_with_misbehaving_tools(json!({"responses": [call("panics")], "default": {"text": "ok"}}));
    let mut link = Link::serving(builder.build());
    let frames = link.run("go").await;
    assert_eq!(results(&frames), ["The tool failed inside the agent."]);
    assert_eq!(frames.last().unwrap()["messages"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn tool_that_ignores_an_abort_is_abandoned() {
    let (builder, _place) =
        builder_with_misbehaving_tools(json!({"responses": [call("hangs")], "default": {"text": "ok"}}));
    let mut link = Link::serving(builder.clock(Arc::new(InstantClock)).build());
    link.send(json!({"type": "prompt", "message": "go"})).await;
    let mut frames = link.until_event("tool_execution_start").await;
    link.send(json!({"id": "a", "type": "abort"})).await;
    frames.extend(link.until("the answer", |frame| frame["id"] == "a").await);
    check_run(&frames);
    assert_eq!(results(&frames), ["Operation aborted"]);
    check_history(&link.messages().await);
    link.run("again").await;
}

/// A provider that panics during an answer, or ends its stream early.
struct BrokenProvider(ScriptedProvider, bool);

impl Provider for BrokenProvider {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn models(&self) -> &[Model] {
        self.0.models()
    }
    fn stream(&self, _: Request) -> BoxStream<'static, StreamEvent> {
        let panics = self.1;
        let events = [StreamEvent::TextStart, StreamEvent::TextDelta("half".to_owned())];
        let rest = futures::stream::iter(panics.then_some(())).map(|()| panic!("as it does"));
        futures::stream::iter(events).chain(rest).boxed()
    }
}

#[tokio::test]
async fn a_provider_that_panics_or_stops_is_a_failed_answer() {
    for (panics, reason) in [
        (true, "The provider failed inside the agent."),
        (false, "The stream ended before the answer was complete."),
    ] {
        let place = tempfile::tempdir().unwrap();
        let provider = Arc::new(BrokenProvider(ScriptedProvider::built_in(), panics));
        let mut link = Link::serving(Server::builder().cwd(place.path()).with_provider(provider).build());
        let frames = link.run("go").await;
        let answer = &frames.last().unwrap()["messages"][1];
        assert_eq!((&answer["stopReason"], &answer["errorMessage"]), (&json!("error"), &json!(reason)));
        assert_eq!(answer["content"], json!([{"type": "text", "text": "half"}]));
        assert_eq!(link.state().await["isStreaming"], false);
    }
}

#[tokio::test]
async fn fm_f58_a_storm_of_commands_is_answered_and_an_abort_gets_through() {
    const STORM: usize = 100_000;
    let (builder, _place) =
        builder(json!({"responses": [{"blocks": [{"text": ["a", "b"]}], "hang_after": 1}]}));
    let mut link = Link::serving_with(builder.build(), agentese::serve::Options::default(), 1 << 16);
    link.send(json!({"type": "prompt", "message": "go"})).await;
    link.until("text", |frame| frame["assistantMessageEvent"]["delta"] == "a").await;
    // Written and read concurrently, as by a client, because the pipe holds only a few hundred lines.
    let (answered, aborted) = link.storm(STORM, r#"{"id":"s","type":"get_last_assistant_text"}"#).await;
    assert_eq!(answered, STORM);
    // Half of the responses precede the abort, plus the capacity of the pipe and the outbox.
    assert!(aborted <= STORM * 6 / 10, "the abort waited for {aborted} of {STORM} answers");
    assert_eq!(link.state().await["isStreaming"], false);
}
