//! Event order of an agent that the tests play line by line.

use agentese::transport::memory_pair;
use agentese::types::StopReason;
use agentese_server_base::config::SettingsChange;
use agentese_server_base::ui::{self, Ui};
use agentese_server_engine::engine::{Delivery, RemoteAgent as _, RemoteEvent};
use agentese_server_models::StreamEvent;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::*;
use crate::fake_agent::{FakeAgent, soon};

impl FakeAgent {
    async fn send_result(&mut self, request: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).await;
    }

    /// Requests permission.
    async fn request_permission(&mut self, session: &str, id: u64) {
        let call = json!({"toolCallId": "c", "title": "Run it?"});
        let choices = json!([{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]);
        let params = json!({"sessionId": session, "toolCall": call, "options": choices});
        self.send(
            json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params}),
        )
        .await;
    }

    async fn send_update(&mut self, session: &str, update: Value) {
        let params = json!({"sessionId": session, "update": update});
        self.send(json!({"jsonrpc": "2.0", "method": "session/update", "params": params})).await;
    }
}

fn chunk(text: &str) -> Value {
    json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
}

fn ended(reason: &str) -> Value {
    json!({"stopReason": reason})
}

/// Returns the options of a session with that model.
fn options(model: &str) -> Value {
    json!([{"id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": model,
        "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}]}])
}

/// Returns an agent that has opened the session `one`.
fn started_agent() -> (Arc<AcpRemoteAgent>, FakeAgent) {
    let (near, far) = memory_pair(1 << 22);
    let (connection, events) = AcpConnection::from_transport(near, Arc::<FrameCounts>::default());
    let initialized = json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}});
    let opened = json!({"sessionId": "one", "configOptions": options("small")});
    let opened = (serde_json::from_value(initialized).unwrap(), serde_json::from_value(opened).unwrap());
    let agent = AcpRemoteAgent::new(connection, events, opened, ClientUi::new());
    (agent, FakeAgent::of(far))
}

/// A user interface that answers every question in the same way.
struct FakeUi;

impl Ui for FakeUi {
    fn wait_for_reader(&self) -> BoxFuture<'_, ()> {
        futures::future::ready(()).boxed()
    }

    fn show(&self, _: &ui::Notice) {}

    fn show_dialog(&self, dialog: &ui::Dialog) -> Option<BoxFuture<'static, Option<ui::Answer>>> {
        let answer = match dialog {
            ui::Dialog::Select(select, _) => ui::Answer::Value(select.options.last()?.clone()),
            ui::Dialog::Confirm(_) => ui::Answer::Confirmed(true),
            ui::Dialog::Input(_) => ui::Answer::Value("moss".to_owned()),
            ui::Dialog::Editor(editor) => ui::Answer::Value(format!("{}!", editor.prefill.as_deref()?)),
        };
        Some(futures::future::ready(Some(answer)).boxed())
    }
}

async fn send_prompt(agent: &AcpRemoteAgent, text: &str) {
    soon("the words", agent.submit(text, &[], Delivery::Prompt(None))).await.unwrap();
}

/// Collects deeds until the agent rests.
async fn events_until_idle(agent: &AcpRemoteAgent) -> Vec<RemoteEvent> {
    let mut events = Vec::new();
    while !matches!(events.last(), Some(RemoteEvent::Settled { .. })) {
        events.push(soon("a deed", agent.next_event()).await);
    }
    events
}

/// Returns the text deltas of the deeds.
fn text_deltas(events: &[RemoteEvent]) -> String {
    let text = |deed: &RemoteEvent| match deed {
        RemoteEvent::AnswerUpdated(StreamEvent::TextDelta(text)) => Some(text.clone()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

#[tokio::test]
async fn a_new_session_during_a_turn_ends_that_turn_first() {
    let (agent, mut far) = started_agent();
    send_prompt(&agent, "hang").await;
    let prompt = far.receive("session/prompt").await;
    send_prompt(&agent, "later").await;
    let moving = tokio::spawn({
        let agent = agent.clone();
        async move { agent.new_session().await }
    });
    assert_eq!(far.receive("session/cancel").await["params"]["sessionId"], "one");
    far.send_update("one", chunk("so far")).await;
    far.send_result(&prompt, ended("cancelled")).await;
    let new = far.receive("session/new").await;
    far.send_update("one", chunk("late")).await;
    far.send_result(&new, json!({"sessionId": "two"})).await;
    assert_eq!(soon("the session", moving).await.unwrap(), Ok(true));
    let deeds = events_until_idle(&agent).await;
    assert_eq!(
        (text_deltas(&deeds), deeds.last()),
        ("so far".to_owned(), Some(&RemoteEvent::Settled { aborted: true }))
    );
    // The queued input belonged to the previous session.
    send_prompt(&agent, "next").await;
    let prompt = far.receive("session/prompt").await;
    assert_eq!(
        (&prompt["params"]["sessionId"], &prompt["params"]["prompt"][0]["text"]),
        (&json!("two"), &json!("next"))
    );
    far.send_update("one", chunk("later still")).await;
    far.send_update("two", chunk("hello")).await;
    far.send_result(&prompt, ended("end_turn")).await;
    assert_eq!(text_deltas(&events_until_idle(&agent).await), "hello");
    assert_eq!(agent.history().await.unwrap(), Some(Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_hanging_turn_does_not_block_another_session() {
    let (agent, mut far) = started_agent();
    send_prompt(&agent, "hang").await;
    let prompt = far.receive("session/prompt").await;
    let moving = tokio::spawn({
        let agent = agent.clone();
        async move { agent.switch_session("kept".as_ref()).await }
    });
    far.receive("session/cancel").await;
    let load = far.receive("session/load").await;
    far.send_update("one", chunk("late")).await;
    far.send_update(
        "kept",
        json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "before"}}),
    )
    .await;
    far.send_update("kept", chunk("said")).await;
    far.send_result(&load, json!({})).await;
    assert_eq!(soon("the session", moving).await.unwrap(), Ok(true));
    assert_eq!(agent.history().await.unwrap().unwrap().len(), 2);
    send_prompt(&agent, "next").await;
    let next = far.receive("session/prompt").await;
    assert_eq!(next["params"]["sessionId"], "kept");
    // The end of the abandoned turn must not end this turn.
    far.send_result(&prompt, ended("end_turn")).await;
    far.send_update("kept", chunk("hello")).await;
    far.send_result(&next, ended("end_turn")).await;
    assert_eq!(text_deltas(&events_until_idle(&agent).await), "");
    assert_eq!(text_deltas(&events_until_idle(&agent).await), "hello");
}

#[tokio::test]
async fn updates_and_questions_of_another_session_are_ignored() {
    let (agent, mut far) = started_agent();
    send_prompt(&agent, "go").await;
    let prompt = far.receive("session/prompt").await;
    far.send_update("other", chunk("not for you")).await;
    far.request_permission("other", 7).await;
    let answer = far.receive("").await;
    assert_eq!((&answer["id"], &answer["result"]["outcome"]["outcome"]), (&json!(7), &json!("cancelled")));
    far.send_update("one", chunk("for you")).await;
    far.send_result(&prompt, ended("end_turn")).await;
    let deeds = events_until_idle(&agent).await;
    assert_eq!(text_deltas(&deeds), "for you");
    assert_eq!(
        deeds.iter().filter(|deed| matches!(deed, RemoteEvent::AnswerEnded(_))).count(),
        1,
        "{deeds:#?}"
    );
}

#[tokio::test]
async fn updates_outside_a_turn_start_no_run() {
    let (agent, mut far) = started_agent();
    far.send_update("one", chunk("early")).await;
    far.request_permission("other", 1).await;
    far.receive("").await;
    for words in ["first", "second"] {
        send_prompt(&agent, words).await;
        let prompt = far.receive("session/prompt").await;
        far.send_update("one", chunk(words)).await;
        far.send_result(&prompt, ended("end_turn")).await;
        far.send_update("one", chunk("late")).await;
        far.request_permission("other", 1).await;
        far.receive("").await;
        let deeds = events_until_idle(&agent).await;
        assert_eq!((&deeds[0], text_deltas(&deeds)), (&RemoteEvent::RunStarted, words.to_owned()));
        let Some(RemoteEvent::AnswerEnded(answer)) = deeds.iter().rev().nth(2) else { panic!("{deeds:#?}") };
        assert_eq!(answer.stop_reason, StopReason::Stop);
    }
}

#[tokio::test]
async fn tool_updates_do_not_accumulate_for_a_slow_client() {
    let (agent, mut far) = started_agent();
    send_prompt(&agent, "go").await;
    let prompt = far.receive("session/prompt").await;
    let call = |kind: &str, shown: &str| {
        json!({"sessionUpdate": kind, "toolCallId": "c", "title": "c", "status": "in_progress",
            "content": [{"type": "content", "content": {"type": "text", "text": shown}}]})
    };
    far.send_update("one", call("tool_call", "")).await;
    for number in 0..2_000 {
        far.send_update("one", call("tool_call_update", &format!("{number} {}", "x".repeat(1_000)))).await;
        far.send_update("one", json!({"sessionUpdate": "usage_update", "used": number, "size": 9_000})).await;
    }
    far.send_result(&prompt, ended("end_turn")).await;
    // The answer to this request proves that the previous frames were processed.
    far.request_permission("other", 1).await;
    far.receive("").await;
    let deeds = events_until_idle(&agent).await;
    let showed: Vec<_> = deeds.iter().filter(|deed| matches!(deed, RemoteEvent::ToolUpdated(..))).collect();
    assert_eq!(showed.len(), 1, "{}", showed.len());
    assert!(format!("{showed:?}").contains("1999 "));
}

#[tokio::test]
async fn settings_reach_the_agent_before_the_next_prompt() {
    let (agent, mut far) = started_agent();
    let model = SettingsChange::DefaultModel { provider: "agent".to_owned(), id: "large".to_owned() };
    agent.persist().save(model);
    send_prompt(&agent, "go").await;
    let set = far.receive("session/set_config_option").await;
    assert_eq!((&set["params"]["configId"], &set["params"]["value"]), (&json!("model"), &json!("large")));
    far.receive("session/prompt").await;
}

/// Returns the first `count` models and levels among the deeds.
async fn models(agent: &AcpRemoteAgent, count: usize) -> Vec<String> {
    let mut reported = Vec::new();
    while reported.len() < count {
        if let RemoteEvent::ModelChanged(model) = soon("a model", agent.next_event()).await {
            reported.push(model.id);
        }
    }
    reported
}

#[tokio::test]
async fn the_current_model_of_the_agent_is_reported() {
    let (agent, mut far) = started_agent();
    let changed = json!({"sessionUpdate": "config_option_update", "configOptions": options("large")});
    far.send_update("one", changed).await;
    assert_eq!(models(&agent, 1).await, ["large"]);
    for model in ["small", "large"] {
        agent
            .persist()
            .save(SettingsChange::DefaultModel { provider: "agent".to_owned(), id: model.to_owned() });
    }
    let (first, second) =
        (far.receive("session/set_config_option").await, far.receive("session/set_config_option").await);
    // Its options in the response to the first request are outdated.
    far.send_result(&first, json!({"configOptions": options("small")})).await;
    let refusal = json!({"code": -32603, "message": "no"});
    far.send(json!({"jsonrpc": "2.0", "id": second["id"], "error": refusal})).await;
    assert_eq!(models(&agent, 1).await, ["small"]);
    let moving = tokio::spawn({
        let agent = agent.clone();
        async move { agent.new_session().await }
    });
    let new = far.receive("session/new").await;
    let commands = json!({"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "plan", "description": "Plans."}]});
    far.send_update("two", commands).await;
    far.send_result(&new, json!({"sessionId": "two", "configOptions": options("large")})).await;
    assert_eq!(soon("the session", moving).await.unwrap(), Ok(true));
    assert_eq!(models(&agent, 1).await, ["large"]);
    assert_eq!(agent.session().await.location.id.as_deref(), Some("two"));
    assert_eq!(agent.commands().await[0].name, "plan");
}

#[tokio::test]
async fn forms_are_shown_member_by_member() {
    let (agent, mut far) = started_agent();
    agent.connect(Arc::new(FakeUi));
    let fields = json!({"go": {"type": "boolean"}, "name": {"type": "string"},
        "text": {"type": "string", "default": "hi"}, "way": {"type": "string", "enum": ["left", "right"]}});
    let schema = json!({"type": "object", "properties": fields});
    for (session, mode, action) in
        [("one", "form", "accept"), ("other", "form", "cancel"), ("one", "url", "cancel")]
    {
        let params =
            json!({"sessionId": session, "mode": mode, "message": "Where?", "requestedSchema": schema});
        far.send(json!({"jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": params})).await;
        let answer = far.receive("").await;
        assert_eq!(answer["result"]["action"], action, "{answer}");
        if action == "accept" {
            let content = json!({"go": true, "name": "moss", "text": "hi!", "way": "right"});
            assert_eq!(answer["result"]["content"], content);
        }
    }
}

#[tokio::test]
async fn input_held_at_a_stop_waits_for_the_next_prompt() {
    let (agent, mut far) = started_agent();
    send_prompt(&agent, "hang").await;
    let prompt = far.receive("session/prompt").await;
    send_prompt(&agent, "waits").await;
    agent.abort().await;
    far.receive("session/cancel").await;
    far.send_result(&prompt, ended("cancelled")).await;
    events_until_idle(&agent).await;
    send_prompt(&agent, "next").await;
    for words in ["next", "waits"] {
        let prompt = far.receive("session/prompt").await;
        assert_eq!(prompt["params"]["prompt"][0]["text"], words);
        far.send_result(&prompt, ended("end_turn")).await;
    }
    let runs =
        events_until_idle(&agent).await.into_iter().filter(|deed| *deed == RemoteEvent::RunStarted).count();
    assert_eq!(runs, 2);
}

#[tokio::test]
async fn images_are_rejected_without_image_support() {
    let (agent, _far) = started_agent();
    let image = [agentese::types::ImageContent::new("aGk=", "image/png")];
    let refused = soon("the words", agent.submit("look", &image, Delivery::Prompt(None))).await;
    assert_eq!(refused, Err("the agent takes no images".to_owned()));
}

#[tokio::test]
async fn an_unreadable_request_is_answered_with_the_reason() {
    let (_agent, mut far) = started_agent();
    let params = json!({"sessionId": 3});
    far.send(json!({"jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": params}))
        .await;
    let answer = far.receive("").await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    far.send(json!({"jsonrpc": "2.0", "id": 8, "method": "no/such", "params": {}})).await;
    assert_eq!(far.receive("").await["error"]["code"], -32601);
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_request_is_cancelled() {
    let (agent, mut far) = started_agent();
    let moving = tokio::spawn({
        let agent = agent.clone();
        async move { agent.new_session().await }
    });
    let new = far.receive("session/new").await;
    assert_eq!(far.receive("$/cancel_request").await["params"]["requestId"], new["id"]);
    let trouble = soon("the trouble", moving).await.unwrap().unwrap_err();
    assert!(trouble.contains("did not answer `session/new`"), "{trouble}");
    // A late response changes nothing.
    far.send_result(&new, json!({"sessionId": "two"})).await;
    send_prompt(&agent, "go").await;
    assert_eq!(far.receive("session/prompt").await["params"]["sessionId"], "one");
}
