//! Tests of limits that end a run: repeated failing calls, number of turns, cost and time.

use std::sync::Arc;

use agentese::omp::Omp;
use agentese::pi::Pi;
use agentese::pisces::Pisces;
use agentese::types::{Model, ModelScript};
use agentese_server::config::{RunLimits, Settings};
use agentese_server::providers::scripted::ScriptedProvider;
use agentese_server::providers::{Catalog, Provider, Request, StreamEvent, number};
use agentese_server::tools::{Tool, ToolContext, ToolOutput, ToolSet};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::{Value, json};

use crate::support::link::{Link, builder};
use crate::support::script;
use crate::support::trace::{check_history, results};

fn settings(limits: RunLimits) -> Settings {
    let mut settings = Settings { limits, ..Settings::default() };
    settings.retry.enabled = false;
    settings
}

fn linked(revision: &str, limits: RunLimits, script: Value) -> (Link, tempfile::TempDir) {
    let (builder, place) = builder(script);
    let builder = builder.settings(settings(limits));
    let link = match revision {
        "omp" => Link::for_dialect::<Omp>(builder),
        "pisces" => Link::for_dialect::<Pisces>(builder),
        pi => Link::for_revision::<Pi>(pi, builder),
    };
    (link, place)
}

/// Returns a model that gives the same answer until a prompt contains `again`.
fn always(blocks: Value) -> Value {
    json!({"responses": [{"when": {"user": "again"}, "keep": true, "text": "fine"}], "default": {"blocks": blocks}})
}

fn call(id: &str, name: &str, args: Value) -> Value {
    json!({"tool": {"id": id, "name": name, "args": args}})
}

async fn run(link: &mut Link, message: &str) -> Vec<Value> {
    link.send(json!({"type": "prompt", "message": message})).await;
    link.until_event("agent_end").await
}

/// Returns the messages of a run from its frames, without the system prompt.
fn messages(frames: &[Value]) -> Vec<Value> {
    frames.last().unwrap()["messages"].as_array().unwrap().clone()
}

fn last_error(frames: &[Value]) -> String {
    let last = messages(frames).pop().unwrap();
    assert_eq!((&last["role"], &last["stopReason"]), (&json!("assistant"), &json!("error")), "{last}");
    last["errorMessage"].as_str().unwrap().to_owned()
}

fn turns(frames: &[Value]) -> usize {
    frames.iter().filter(|frame| frame["type"] == "turn_end").count()
}

/// Checks that the history is valid for a model, and that a further prompt is answered.
async fn check_next_prompt(link: &mut Link) {
    let history: Vec<_> =
        link.messages().await.into_iter().filter(|message| message["role"] != "system").collect();
    check_history(&history);
    let frames = run(link, "again").await;
    let answer = messages(&frames).pop().unwrap();
    assert_eq!(answer["content"][0]["text"], "fine", "{answer}");
    assert_eq!(link.state().await["isStreaming"], false);
}

#[tokio::test]
async fn repeated_failing_call_warns_the_model_then_ends_the_run() {
    for revision in ["pi@0.55", "pi@1.5", "omp", "pisces"] {
        let script = always(json!([call("", "read", json!({"path": "nope"}))]));
        let (mut link, _place) = linked(revision, RunLimits::default(), script);
        let frames = run(&mut link, "go").await;
        let results = results(&frames);
        assert_eq!(results.len(), 8, "{revision}");
        assert_eq!(results[0], results[1], "{revision}");
        let notice = "[This call has failed 3 times with the same arguments and the same error. Do something else: after 8 such failures the run is ended.]";
        assert_eq!(results[2], format!("{}\n\n{notice}", results[0]), "{revision}");
        assert!(results[7].ends_with("The run was ended.]"), "{revision} {}", results[7]);
        let error = last_error(&frames);
        assert_eq!(
            error,
            "The run was ended: the same call of the tool read has failed 8 times with the same error (limits.maxEqualCalls, --max-equal-calls). Send another prompt to go on."
        );
        check_next_prompt(&mut link).await;
    }
}

#[tokio::test]
async fn two_calls_that_fail_in_turn_end_the_run_too() {
    for revision in ["pi@0.55", "omp"] {
        let turn = |path: &str, uses: usize| {
            let answer = json!({"blocks": [call("", "read", json!({"path": path}))]});
            vec![answer; uses]
        };
        let answers: Vec<_> =
            turn("a", 20).into_iter().zip(turn("b", 20)).flat_map(|(a, b)| [a, b]).collect();
        let script = json!({"responses": answers, "default": {"text": "never"}});
        let (mut link, _place) = linked(revision, RunLimits::default(), script);
        let frames = run(&mut link, "go").await;
        assert_eq!(results(&frames).len(), 15, "the eighth failure of the first one: {revision}");
        assert!(last_error(&frames).contains("has failed 8 times"));
    }
}

#[tokio::test]
async fn equal_calls_of_one_answer_are_counted_separately() {
    for (revision, started) in [("pi@0.55", 4), ("pi@1.5", 6), ("omp", 6), ("pisces", 6)] {
        let calls: Vec<_> =
            (0..6).map(|id| call(&format!("c{id}"), "read", json!({"path": "nope"}))).collect();
        let limits = RunLimits { max_equal_calls: 4, ..RunLimits::default() };
        let (mut link, _place) = linked(revision, limits, always(json!(calls)));
        let frames = run(&mut link, "go").await;
        let results = results(&frames);
        assert_eq!(results.len(), 6, "every call has a result: {revision}");
        let carried_out =
            results.iter().filter(|text| !text.starts_with("Not started: the run had reached a limit."));
        assert_eq!(carried_out.count(), started, "{revision} {results:?}");
        assert!(last_error(&frames).contains("has failed"), "{revision}");
        check_next_prompt(&mut link).await;
    }
}

#[tokio::test]
async fn varying_call_results_never_end_a_run() {
    let polls = ["cat state; echo x >> state", "echo $RANDOM$RANDOM$$; date +%N; false", "true"];
    for command in polls {
        let answer = json!({"blocks": [call("", "bash", json!({"command": command}))]});
        let script = json!({"responses": vec![answer; 20], "default": {"text": "done"}});
        let (mut link, place) = linked("pi@0.55", RunLimits::default(), script);
        std::fs::write(place.path().join("state"), "").unwrap();
        let frames = run(&mut link, "go").await;
        assert_eq!(messages(&frames).pop().unwrap()["content"][0]["text"], "done", "{command}");
        assert!(results(&frames).iter().all(|text| !text.contains("has failed")), "{command}");
    }
}

#[tokio::test]
async fn a_run_has_as_many_turns_as_its_limit_and_no_more() {
    for revision in ["pi@0.55", "pi@1.5", "omp", "pisces"] {
        let blocks = json!([call("", "bash", json!({"command": "echo hi"}))]);
        let limits = RunLimits { max_turns: 3, ..RunLimits::default() };
        let (mut link, _place) = linked(revision, limits, always(blocks));
        let frames = run(&mut link, "go").await;
        assert_eq!((results(&frames).len(), turns(&frames)), (3, 4), "{revision}");
        assert_eq!(
            last_error(&frames),
            "The run was ended: it has had 3 turns, which is its limit (limits.maxTurns, --max-turns). Send another prompt to go on."
        );
        check_next_prompt(&mut link).await;
        // A run within its limit ends as usual.
        let answers = vec![json!({"blocks": [call("", "bash", json!({"command": "true"}))]}); 2];
        let script = json!({"responses": answers, "default": {"text": "done"}});
        let (mut link, _place) = linked(revision, limits, script);
        let frames = run(&mut link, "go").await;
        assert_eq!(messages(&frames).pop().unwrap()["content"][0]["text"], "done", "{revision}");
    }
}

/// Returns settings with these limits and with compaction above 1,000 tokens. The summary covers all exchanges except
/// the last one.
fn compacting(limits: RunLimits) -> Settings {
    let window = agentese_server::providers::scripted::CONTEXT_WINDOW;
    let mut settings = settings(limits);
    settings.compaction.reserve_tokens = window - 1000;
    settings.compaction.keep_recent_tokens = 4;
    settings
}

#[tokio::test]
async fn a_run_that_ends_in_its_last_turn_is_not_limited_although_a_compaction_follows() {
    let long = json!({"text": "two", "usage": {"input": 2000, "output": 0}});
    let limits = RunLimits { max_turns: 1, ..RunLimits::default() };
    // An abort of the compaction is reported as an abort.
    let script = json!({"responses": [{"text": "one"}, long, {"hang_after": -1}]});
    let (builder, _place) = builder(script);
    let mut link = Link::for_revision::<Pi>("pi@1.5", builder.settings(compacting(limits)));
    run(&mut link, "first").await;
    let frames = run(&mut link, "second").await;
    assert_eq!(messages(&frames).pop().unwrap()["stopReason"], "stop");
    link.until_event("compaction_start").await;
    link.send(json!({"id": "a", "type": "abort"})).await;
    let end = link.until_event("compaction_end").await.pop().unwrap();
    assert_eq!((&end["aborted"], &end["errorMessage"]), (&json!(true), &Value::Null), "{end}");
    assert_eq!(link.until_event("agent_settled").await.pop().unwrap()["aborted"], true);
}

#[tokio::test]
async fn a_message_that_waits_when_the_last_turn_ends_needs_another_turn() {
    let script = json!({"responses": [
        {"blocks": [call("", "bash", json!({"command": "until [ -e go ]; do sleep 0.01; done"}))]}, {"text": "done"},
    ], "default": {"text": "never"}});
    let limits = RunLimits { max_turns: 2, ..RunLimits::default() };
    let (mut link, place) = linked("pi@0.55", limits, script);
    link.send(json!({"type": "prompt", "message": "go"})).await;
    link.until_event("tool_execution_start").await;
    link.data(json!({"type": "follow_up", "message": "later"})).await;
    std::fs::write(place.path().join("go"), "").unwrap();
    let mut frames = link.until_event("agent_end").await;
    if messages(&frames).pop().unwrap()["stopReason"] == "stop" {
        frames = link.until_event("agent_end").await;
    }
    assert!(last_error(&frames).contains("2 turns"));
    assert_eq!(link.state().await["pendingMessageCount"], 1);
}

#[tokio::test]
async fn messages_that_wait_when_a_limit_is_reached_are_kept() {
    let script = json!({"responses": [{"blocks": [call("", "bash", json!({"command": "until [ -e go ]; do sleep 0.01; done"}))]}], "default": {"text": "fine"}});
    let limits = RunLimits { max_turns: 1, ..RunLimits::default() };
    let (mut link, place) = linked("pi@0.55", limits, script);
    link.send(json!({"type": "prompt", "message": "go"})).await;
    link.until_event("tool_execution_start").await;
    link.data(json!({"type": "follow_up", "message": "later"})).await;
    std::fs::write(place.path().join("go"), "").unwrap();
    let frames = link.until_event("agent_end").await;
    assert!(last_error(&frames).contains("1 turns"));
    assert_eq!(link.state().await["pendingMessageCount"], 1);
}

#[tokio::test]
async fn time_ends_a_run_in_the_middle_of_an_answer_and_of_a_call() {
    for revision in ["pi@0.55", "pi@1.5", "omp", "pisces"] {
        let sleeps = json!({"blocks": [call("a", "bash", json!({"command": "sleep 1000"})), call("b", "read", json!({"path": "nope"}))]});
        let hangs = json!({"blocks": [{"text": ["part", "ial", "never"]}], "hang_after": 2});
        for answer in [sleeps, hangs, json!({"hang_after": -1})] {
            let script = json!({"responses": [{"when": {"user": "again"}, "keep": true, "text": "fine"}], "default": answer});
            let limits = RunLimits { max_time_ms: 300, ..RunLimits::default() };
            let (mut link, _place) = linked(revision, limits, script);
            let frames = run(&mut link, "go").await;
            assert_eq!(
                last_error(&frames),
                "The run was ended: it has lasted 0.3 s, which is its limit (limits.maxTimeMs, --max-time). Send another prompt to go on.",
                "{revision} {answer}"
            );
            if revision == "pi@1.5" {
                let settled = link.until_event("agent_settled").await.pop().unwrap();
                assert_eq!(settled["aborted"], false);
            }
            check_next_prompt(&mut link).await;
        }
    }
}

#[tokio::test]
async fn an_abort_stays_an_abort_although_there_are_limits() {
    let limits =
        RunLimits { max_time_ms: 3_600_000, max_turns: 9, max_cost_usd: 9.0, ..RunLimits::default() };
    let (mut link, _place) =
        linked("pi@1.5", limits, json!({"responses": [{"hang_after": -1}], "default": {"text": "ok"}}));
    link.send(json!({"type": "prompt", "message": "go"})).await;
    link.until_event("turn_start").await;
    link.send(json!({"id": "a", "type": "abort"})).await;
    let frames = link.until_event("agent_end").await;
    let last = messages(&frames).pop().unwrap();
    assert_eq!(last["stopReason"], "aborted", "{last}");
    assert_eq!(link.until_event("agent_settled").await.pop().unwrap()["aborted"], true);
}

/// The scripted model, with a price of one dollar for each output token.
struct PricedProvider {
    scripted: ScriptedProvider,
    models: [Model; 1],
}

impl PricedProvider {
    fn new(script: ModelScript) -> Self {
        let scripted = ScriptedProvider::from_script(script);
        let mut model = scripted.models()[0].clone();
        model.cost.output = number(1_000_000.0);
        Self { scripted, models: [model] }
    }
}

impl Provider for PricedProvider {
    fn name(&self) -> &str {
        self.scripted.name()
    }

    fn models(&self) -> &[Model] {
        &self.models
    }

    fn stream(&self, request: Request) -> BoxStream<'static, StreamEvent> {
        self.scripted.stream(request)
    }
}

#[tokio::test]
async fn cost_limit_ends_a_run_after_its_paid_calls() {
    for revision in ["pi@0.55", "pi@1.5", "omp", "pisces"] {
        let mut answer = json!({"blocks": [call("", "bash", json!({"command": "echo hi"}))]});
        answer["usage"] = json!({"input": 1, "output": 2});
        let (builder, _place) = builder(json!({"responses": []}));
        let text = json!({"responses": [{"when": {"user": "again"}, "keep": true, "text": "fine"}], "default": answer});
        let catalog = Catalog::new(vec![Arc::new(PricedProvider::new(script(text)))]);
        let limits = RunLimits { max_cost_usd: 5.0, ..RunLimits::default() };
        let builder = builder.catalog(catalog).settings(settings(limits));
        let mut link = match revision {
            "omp" => Link::for_dialect::<Omp>(builder),
            "pisces" => Link::for_dialect::<Pisces>(builder),
            pi => Link::for_revision::<Pi>(pi, builder),
        };
        for _ in 0..2 {
            // The cost of the earlier run is not included.
            let frames = run(&mut link, "go").await;
            assert_eq!(results(&frames), ["hi\n"; 3], "{revision}");
            assert_eq!(
                last_error(&frames),
                "The run was ended: it has cost 6.0000 US dollars, and its limit is 5 (limits.maxCostUsd, --max-cost). Send another prompt to go on."
            );
        }
        check_next_prompt(&mut link).await;
    }
}

/// A tool that fails with a different text at each call.
struct ChangingTool;

impl Tool for ChangingTool {
    fn name(&self) -> &str {
        "fickle"
    }
    fn description(&self) -> &str {
        "fails"
    }
    fn parameters(&self) -> Value {
        json!({"type": "object"})
    }
    fn read_only(&self) -> bool {
        true
    }
    fn execute<'a>(&'a self, _: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        async move { ToolOutput::error(arguments.to_string()) }.boxed()
    }
}

#[tokio::test]
async fn calls_that_differ_are_ended_by_other_limits_alone() {
    let answers: Vec<_> =
        (0..40).map(|number| json!({"blocks": [call("", "fickle", json!({"n": number}))]})).collect();
    let (builder, _place) = builder(json!({"responses": answers, "default": {"text": "done"}}));
    let mut tools = ToolSet::none();
    tools.add(Arc::new(ChangingTool));
    let mut link = Link::serving(builder.tools(tools).build());
    let frames = run(&mut link, "go").await;
    assert_eq!(results(&frames).len(), 40);
    assert_eq!(messages(&frames).pop().unwrap()["content"][0]["text"], "done");
}

#[tokio::test]
async fn summaries_count_toward_the_cost_of_a_run() {
    let overflow = json!({"error": {"status": 400, "type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"}});
    let summary = json!({"text": "the summary", "usage": {"input": 1, "output": 9}});
    let responses = json!([{"text": "one"}, {"text": "two"}, overflow, summary, {"text": "fine"}]);
    let (builder, _place) = builder(json!({"responses": []}));
    let catalog = Catalog::new(vec![Arc::new(PricedProvider::new(script(json!({"responses": responses}))))]);
    let limits = RunLimits { max_cost_usd: 5.0, ..RunLimits::default() };
    let mut link = Link::serving(builder.catalog(catalog).settings(compacting(limits)).build());
    run(&mut link, "first").await;
    run(&mut link, "second").await;
    link.send(json!({"type": "prompt", "message": "third"})).await;
    link.until_event("auto_compaction_end").await;
    let frames = link.until_event("agent_end").await;
    assert_eq!(
        last_error(&frames),
        "The run was ended: it has cost 9.0000 US dollars, and its limit is 5 (limits.maxCostUsd, --max-cost). Send another prompt to go on."
    );
    // The summary belongs to the earlier run.
    check_next_prompt(&mut link).await;
}
