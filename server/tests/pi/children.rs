//! Tests of agents that a tool starts, and of runs without a prompt.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agentese::types::{
    AgentMessage, AssistantMessage, InputContent, StopReason, StreamRule, ToolCall, UserMessage,
};
use agentese_server::config::{BudgetLimits, RunLimits};
use agentese_server::engine::{
    ChildEvent, Engine, Event, EventSink, FollowUpRun, Hooks, Options, PostRunPolicy, PromptError,
    RunSummary, SubagentLimits, UsageTracker, UserInput,
};
use agentese_server::providers::Update;
use agentese_server::tools::{
    ChildAnswer, SpawnRequest, SubagentError, Tool, ToolContext, ToolOutput, ToolSet,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::support::link::builder;
use crate::support::soon;

/// A tool that starts a child agent and returns the answer of the child.
#[derive(Clone, Default)]
struct DelegateTool {
    tools: Option<ToolSet>,
    history: Option<std::path::PathBuf>,
    answers: Arc<Mutex<Vec<Result<ChildAnswer, SubagentError>>>>,
}

impl Tool for DelegateTool {
    fn name(&self) -> &str {
        "delegate"
    }
    fn description(&self) -> &str {
        "asks another agent"
    }
    fn parameters(&self) -> Value {
        json!({"type": "object"})
    }
    fn read_only(&self) -> bool {
        true
    }
    fn execute<'a>(&'a self, context: &'a ToolContext, _: Value) -> BoxFuture<'a, ToolOutput> {
        async move {
            let order = SpawnRequest {
                id: "0-First".to_owned(),
                agent: "helper".to_owned(),
                instructions: "Help.".to_owned(),
                tools: self.tools.clone(),
                model: None,
                thinking: None,
                cwd: None,
                history: self.history.clone(),
                isolated: false,
                resumes: false,
                on_step: None,
            };
            let answer = match context.subagents.as_ref().unwrap().start(order).await {
                Ok(child) => child.prompt("do it").await,
                Err(error) => Err(error),
            };
            self.answers.lock().unwrap().push(answer.clone());
            match answer {
                Ok(answer) => ToolOutput::text(answer.text),
                Err(error) => ToolOutput::error(error.to_string()),
            }
        }
        .boxed()
    }
}

#[derive(Default)]
struct EventLog(Mutex<Vec<String>>);

impl EventLog {
    fn read(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl EventSink for EventLog {
    fn wait_for_capacity(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }

    fn push(&self, event: Event<'_>) {
        let line = match event {
            Event::RunStarted => "run".to_owned(),
            Event::RunEnded { .. } => "/run".to_owned(),
            Event::Child { id, agent, event: ChildEvent::Started { .. } } => format!("{id} {agent}"),
            Event::Child { event: ChildEvent::Event(Event::RunStarted), .. } => "child".to_owned(),
            Event::Child { event: ChildEvent::Event(Event::RunEnded { .. }), .. } => "/child".to_owned(),
            Event::TodoReminder { attempt, .. } => format!("reminder {attempt}"),
            _ => return,
        };
        self.0.lock().unwrap().push(line);
    }
}

fn options(script: Value, tool: &DelegateTool) -> (Options, tempfile::TempDir) {
    let (builder, place) = builder(script);
    let mut tools = ToolSet::none();
    tools.add(Arc::new(tool.clone()));
    (builder.tools(tools).build_engine_options().0, place)
}

fn delegation() -> Value {
    json!({"blocks": [{"tool": {"id": "x", "name": "delegate", "args": {}}}]})
}

async fn run(engine: &Engine) {
    engine.accept_prompt(UserInput::text("go"), None).unwrap().start();
    soon("the run", engine.wait_until_idle()).await;
}

#[tokio::test]
async fn a_child_has_its_own_conversation_and_its_use_counts() {
    let mut tool = DelegateTool { tools: Some(ToolSet::none()), ..DelegateTool::default() };
    let script = json!({"responses": [delegation(), {"text": "child's answer"}, {"text": "done"}]});
    let place = tempfile::tempdir().unwrap();
    tool.history = Some(place.path().join("0-First.jsonl"));
    let (options, _place) = options(script, &tool);
    let (log, usage_tracker) = (Arc::new(EventLog::default()), options.usage_tracker.clone());
    let engine = Engine::new(options, log.clone());
    run(&engine).await;
    assert_eq!(log.read(), ["run", "0-First helper", "child", "/child", "/run"]);
    let answers = tool.answers.lock().unwrap().clone();
    let answer = answers[0].as_ref().unwrap();
    assert_eq!(
        (answer.text.as_str(), answer.stop, answer.messages.len()),
        ("child's answer", StopReason::Stop, 2)
    );
    assert_eq!(engine.messages().len(), 4, "prompt, call, result, answer");
    let history = std::fs::read_to_string(place.path().join("0-First.jsonl")).unwrap();
    assert!(history.contains("child's answer") && history.contains("do it"));
    let spent = usage_tracker.usage();
    assert_eq!((spent.requests, spent.tool_calls, spent.children), (3, 1, 1));
    assert!(spent.tokens > 0);
}

#[tokio::test]
async fn fm_f93_depth_and_number_of_the_agents_own_children_are_bounded() {
    // The child has the tool too, but may not use it.
    let tool = DelegateTool::default();
    let script = json!({"responses": [delegation(), delegation()], "default": {"text": "ok"}});
    let (mut options, _place) = options(script, &tool);
    options.subagent_limits = SubagentLimits::new(1, 64);
    run(&Engine::new(options, Arc::new(EventLog::default()))).await;
    let answers = tool.answers.lock().unwrap().clone();
    assert_eq!(answers[0], Err(SubagentError::TooDeep(1)));
    assert_eq!(answers[1].as_ref().unwrap().text, "ok");

    let tool = DelegateTool::default();
    let (mut options, _place) =
        self::options(json!({"responses": [delegation()], "default": {"text": "ok"}}), &tool);
    options.subagent_limits = SubagentLimits::new(1, 0);
    run(&Engine::new(options, Arc::new(EventLog::default()))).await;
    assert_eq!(*tool.answers.lock().unwrap(), [Err(SubagentError::TooMany(0))]);
}

#[tokio::test]
async fn fm_f45_fm_f93_an_abort_reaches_a_child() {
    let tool = DelegateTool { tools: Some(ToolSet::none()), ..DelegateTool::default() };
    let script = json!({"responses": [delegation(), {"hang_after": 0}], "default": {"text": "ok"}});
    let (options, _place) = options(script, &tool);
    let log = Arc::new(EventLog::default());
    let engine = Engine::new(options, log.clone());
    engine.accept_prompt(UserInput::text("go"), None).unwrap().start();
    let started = async {
        while !log.read().contains(&"child".to_owned()) {
            tokio::task::yield_now().await;
        }
    };
    soon("the child to begin", started).await;
    soon("the abort", engine.abort()).await;
    assert_eq!(log.read(), ["run", "0-First helper", "child", "/child", "/run"]);
    assert_eq!(tool.answers.lock().unwrap()[0].as_ref().unwrap().stop, StopReason::Aborted);
}

/// A guard that permits the first call only.
struct FirstCallGuard(AtomicUsize);

impl Hooks for FirstCallGuard {
    fn tool_call<'a>(&'a self, _: &'a ToolCall) -> BoxFuture<'a, Result<(), String>> {
        let first = self.0.fetch_add(1, Ordering::SeqCst) == 0;
        async move { if first { Ok(()) } else { Err("guarded".to_owned()) } }.boxed()
    }
}

#[tokio::test]
async fn guards_of_the_parent_check_calls_of_a_child() {
    let inner = DelegateTool::default();
    let mut tools = ToolSet::none();
    tools.add(Arc::new(inner.clone()));
    let tool = DelegateTool { tools: Some(tools), ..DelegateTool::default() };
    let script = json!({"responses": [delegation(), delegation()], "default": {"text": "ok"}});
    let (mut options, _place) = options(script, &tool);
    options.hooks.push(Arc::new(FirstCallGuard(AtomicUsize::new(0))));
    run(&Engine::new(options, Arc::new(EventLog::default()))).await;
    assert!(inner.answers.lock().unwrap().is_empty(), "the child's call did not run");
    assert_eq!(tool.answers.lock().unwrap().len(), 1);
}

/// A policy that sends two reminders. If an answer was stopped, it removes that answer from the conversation.
struct ReminderPolicy(AtomicUsize);

impl PostRunPolicy for ReminderPolicy {
    fn after_run(&self, run: &RunSummary<'_>, sink: &dyn EventSink) -> Option<FollowUpRun> {
        let attempt = self.0.fetch_add(1, Ordering::SeqCst) as u64 + 1;
        if attempt > 2 {
            return None;
        }
        sink.push(Event::TodoReminder { todos: &[], attempt, limit: 2 });
        let words = UserMessage::new(InputContent::Text(format!("reminder {attempt}")), 0);
        Some(FollowUpRun {
            messages: vec![AgentMessage::from(words)],
            drops_answer: run.stopped,
            ..FollowUpRun::default()
        })
    }
}

#[tokio::test]
async fn policy_continues_runs_until_its_limit() {
    let (builder, _place) = builder(json!({"responses": [], "default": {"text": "ok"}}));
    let mut options = builder.build_engine_options().0;
    options.post_run_policies.push(Arc::new(ReminderPolicy(AtomicUsize::new(0))));
    let log = Arc::new(EventLog::default());
    let engine = Engine::new(options, log.clone());
    run(&engine).await;
    assert_eq!(log.read(), ["run", "/run", "reminder 1", "run", "/run", "reminder 2", "run", "/run"]);
    assert_eq!(engine.messages().len(), 6);
    assert!(engine.is_idle());
}

struct StopHook;

impl Hooks for StopHook {
    fn should_stop(&self, message: &AssistantMessage, _: &Update) -> Option<Vec<StreamRule>> {
        serde_json::to_string(message).unwrap().contains("forbidden").then(Vec::new)
    }
}

#[tokio::test]
async fn hook_stops_an_answer_and_policy_repeats_the_request() {
    let script = json!({"responses": [{"blocks": [{"text": ["this is ", "forbidden", " and never said"]}]}],
                        "default": {"text": "ok"}});
    let (builder, _place) = builder(script);
    let mut options = builder.build_engine_options().0;
    options.hooks.push(Arc::new(StopHook));
    options.post_run_policies.push(Arc::new(ReminderPolicy(AtomicUsize::new(1))));
    let log = Arc::new(EventLog::default());
    let engine = Engine::new(options, log.clone());
    run(&engine).await;
    assert_eq!(log.read(), ["run", "/run", "reminder 2", "run", "/run"]);
    let messages: Vec<Value> =
        engine.messages().iter().map(|message| serde_json::to_value(&**message).unwrap()).collect();
    let text = Value::from(messages.clone()).to_string();
    assert!(!text.contains("forbidden"), "the answer left the context: {text}");
    assert_eq!(messages.last().unwrap()["content"][0]["text"], "ok");
}

/// A hook that adds a tool if the tool's name is not taken, as extensions and MCP servers do.
struct ToolHook(DelegateTool);

impl Hooks for ToolHook {
    fn tools(&self, own: &ToolSet) -> ToolSet {
        let mut tools = own.clone();
        if own.get("delegate").is_none() {
            tools.add(Arc::new(self.0.clone()));
        }
        tools
    }
}

#[tokio::test]
async fn fm_f93_a_child_with_tools_of_its_own_is_given_none_by_hooks() {
    let brought = DelegateTool::default();
    let tool = DelegateTool { tools: Some(ToolSet::none()), ..DelegateTool::default() };
    let script = json!({"responses": [delegation(), delegation()], "default": {"text": "ok"}});
    let (mut options, _place) = options(script, &tool);
    options.hooks.push(Arc::new(ToolHook(brought.clone())));
    run(&Engine::new(options, Arc::new(EventLog::default()))).await;
    assert!(brought.answers.lock().unwrap().is_empty(), "the child did not receive the tool");
    assert_eq!(tool.answers.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn limits_apply_to_children_of_a_tool() {
    let fails = json!({"blocks": [{"tool": {"name": "nobody", "args": {}}}]});
    for (limits, reason) in [
        (RunLimits::default(), "has failed 8 times with the same error"),
        (RunLimits { max_turns: 3, ..RunLimits::default() }, "it has had 3 turns"),
    ] {
        let tool = DelegateTool { tools: Some(ToolSet::none()), ..DelegateTool::default() };
        let script = json!({"responses": [
            {"when": {"user": "go", "tool_results": false}, "blocks": [{"tool": {"id": "x", "name": "delegate", "args": {}}}]},
            {"when": {"user": "go", "tool_results": true}, "text": "over"},
        ], "default": fails});
        let (mut options, _place) = options(script, &tool);
        options.usage_tracker = Arc::new(UsageTracker::with_limits(BudgetLimits::default(), limits));
        let engine = Engine::new(options, Arc::new(EventLog::default()));
        run(&engine).await;
        let answers = tool.answers.lock().unwrap().clone();
        let answer = answers[0].as_ref().unwrap();
        assert_eq!(answer.stop, StopReason::Error);
        assert!(answer.error.as_ref().unwrap().contains(reason), "{answer:?}");
        // The run that started the child continues.
        assert_eq!(engine.last_assistant_text().as_deref(), Some("over"));
    }
}

#[tokio::test]
async fn the_time_of_a_run_is_that_of_the_agents_in_it() {
    let tool = DelegateTool { tools: Some(ToolSet::none()), ..DelegateTool::default() };
    let script = json!({"responses": [delegation()], "default": {"hang_after": -1}});
    let (mut options, _place) = options(script, &tool);
    let limits = RunLimits { max_time_ms: 200, ..RunLimits::default() };
    options.usage_tracker = Arc::new(UsageTracker::with_limits(BudgetLimits::default(), limits));
    let engine = Engine::new(options, Arc::new(EventLog::default()));
    run(&engine).await;
    let last = engine.messages().pop().unwrap();
    let AgentMessage::Assistant(last) = &*last else { panic!("{last:?}") };
    assert_eq!(last.stop_reason, StopReason::Error);
    assert!(last.error_message.as_ref().unwrap().contains("it has lasted 0.2 s"), "{last:?}");
}

#[tokio::test]
async fn a_blank_task_is_refused() {
    let tool = DelegateTool { tools: Some(ToolSet::none()), ..DelegateTool::default() };
    let (options, _place) = options(json!({"responses": [], "default": {"text": "ok"}}), &tool);
    let engine = Engine::new(options, Arc::new(EventLog::default()));
    assert_eq!(engine.accept_prompt(UserInput::text(" \n"), None).unwrap_err(), PromptError::Blank);
    assert!(engine.is_idle() && engine.messages().is_empty());
}
