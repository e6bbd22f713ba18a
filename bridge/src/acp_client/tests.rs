//! Order of the events of an agent that the tests simulate line by line.

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

/// Returns the options of a session with that current model.
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

/// A user interface that sends each question to the test and chooses its last option.
struct QuestionRecorder(tokio::sync::mpsc::UnboundedSender<ui::Dialog>);

impl Ui for QuestionRecorder {
    fn wait_for_reader(&self) -> BoxFuture<'_, ()> {
        futures::future::ready(()).boxed()
    }

    fn show(&self, _: &ui::Notice) {}

    fn show_dialog(&self, dialog: &ui::Dialog) -> Option<BoxFuture<'static, Option<ui::Answer>>> {
        self.0.send(dialog.clone()).unwrap();
        FakeUi.show_dialog(dialog)
    }
}

async fn send_prompt(agent: &AcpRemoteAgent, text: &str) {
    soon("the input", agent.submit(text, &[], Delivery::Prompt(None))).await.unwrap();
}

/// Collects events until the agent is idle.
async fn events_until_idle(agent: &AcpRemoteAgent) -> Vec<RemoteEvent> {
    let mut events = Vec::new();
    while !matches!(events.last(), Some(RemoteEvent::Settled { .. })) {
        events.push(soon("an event", agent.next_event()).await);
    }
    events
}

/// Returns the text deltas of the events.
fn text_deltas(events: &[RemoteEvent]) -> String {
    let text = |event: &RemoteEvent| match event {
        RemoteEvent::AnswerUpdated(StreamEvent::TextDelta(text)) => Some(text.clone()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

#[tokio::test]
async fn a_new_session_during_a_turn_ends_that_turn_first() {
    let (agent, mut fake) = started_agent();
    send_prompt(&agent, "hang").await;
    let prompt = fake.receive("session/prompt").await;
    send_prompt(&agent, "later").await;
    let moving = tokio::spawn({
        let agent = agent.clone();
        async move { agent.new_session().await }
    });
    assert_eq!(fake.receive("session/cancel").await["params"]["sessionId"], "one");
    fake.send_update("one", chunk("so far")).await;
    fake.send_result(&prompt, ended("cancelled")).await;
    let new = fake.receive("session/new").await;
    fake.send_update("one", chunk("late")).await;
    fake.send_result(&new, json!({"sessionId": "two"})).await;
    assert_eq!(soon("the session", moving).await.unwrap(), Ok(true));
    let events = events_until_idle(&agent).await;
    assert_eq!(
        (text_deltas(&events), events.last()),
        ("so far".to_owned(), Some(&RemoteEvent::Settled { aborted: true }))
    );
    // The queued input belonged to the previous session.
    send_prompt(&agent, "next").await;
    let prompt = fake.receive("session/prompt").await;
    assert_eq!(
        (&prompt["params"]["sessionId"], &prompt["params"]["prompt"][0]["text"]),
        (&json!("two"), &json!("next"))
    );
    fake.send_update("one", chunk("later still")).await;
    fake.send_update("two", chunk("hello")).await;
    fake.send_result(&prompt, ended("end_turn")).await;
    assert_eq!(text_deltas(&events_until_idle(&agent).await), "hello");
    assert_eq!(agent.history().await.unwrap(), Some(Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_hanging_turn_does_not_block_another_session() {
    let (agent, mut fake) = started_agent();
    send_prompt(&agent, "hang").await;
    let prompt = fake.receive("session/prompt").await;
    let moving = tokio::spawn({
        let agent = agent.clone();
        async move { agent.switch_session("kept".as_ref()).await }
    });
    fake.receive("session/cancel").await;
    let load = fake.receive("session/load").await;
    fake.send_update("one", chunk("late")).await;
    fake.send_update(
        "kept",
        json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "before"}}),
    )
    .await;
    fake.send_update("kept", chunk("said")).await;
    fake.send_result(&load, json!({})).await;
    assert_eq!(soon("the session", moving).await.unwrap(), Ok(true));
    assert_eq!(agent.history().await.unwrap().unwrap().len(), 2);
    send_prompt(&agent, "next").await;
    let next = fake.receive("session/prompt").await;
    assert_eq!(next["params"]["sessionId"], "kept");
    // The end of the abandoned turn must not end this turn.
    fake.send_result(&prompt, ended("end_turn")).await;
    fake.send_update("kept", chunk("hello")).await;
    fake.send_result(&next, ended("end_turn")).await;
    assert_eq!(text_deltas(&events_until_idle(&agent).await), "");
    assert_eq!(text_deltas(&events_until_idle(&agent).await), "hello");
}

#[tokio::test]
async fn updates_and_questions_of_another_session_are_ignored() {
    let (agent, mut fake) = started_agent();
    send_prompt(&agent, "go").await;
    let prompt = fake.receive("session/prompt").await;
    fake.send_update("other", chunk("not for you")).await;
    fake.request_permission("other", 7).await;
    let answer = fake.receive("").await;
    assert_eq!((&answer["id"], &answer["result"]["outcome"]["outcome"]), (&json!(7), &json!("cancelled")));
    fake.send_update("one", chunk("for you")).await;
    fake.send_result(&prompt, ended("end_turn")).await;
    let events = events_until_idle(&agent).await;
    assert_eq!(text_deltas(&events), "for you");
    assert_eq!(
        events.iter().filter(|event| matches!(event, RemoteEvent::AnswerEnded(_))).count(),
        1,
        "{events:#?}"
    );
}

#[tokio::test]
async fn updates_outside_a_turn_start_no_run() {
    let (agent, mut fake) = started_agent();
    fake.send_update("one", chunk("early")).await;
    fake.request_permission("other", 1).await;
    fake.receive("").await;
    for text in ["first", "second"] {
        send_prompt(&agent, text).await;
        let prompt = fake.receive("session/prompt").await;
        fake.send_update("one", chunk(text)).await;
        fake.send_result(&prompt, ended("end_turn")).await;
        fake.send_update("one", chunk("late")).await;
        fake.request_permission("other", 1).await;
        fake.receive("").await;
        let events = events_until_idle(&agent).await;
        assert_eq!((&events[0], text_deltas(&events)), (&RemoteEvent::RunStarted, text.to_owned()));
        let Some(RemoteEvent::AnswerEnded(answer)) = events.iter().rev().nth(2) else {
            panic!("{events:#?}")
        };
        assert_eq!(answer.stop_reason, StopReason::Stop);
    }
}

#[tokio::test]
async fn tool_updates_do_not_accumulate_for_a_slow_client() {
    let (agent, mut fake) = started_agent();
    send_prompt(&agent, "go").await;
    let prompt = fake.receive("session/prompt").await;
    let call = |kind: &str, shown: &str| {
        json!({"sessionUpdate": kind, "toolCallId": "c", "title": "c", "status": "in_progress",
            "content": [{"type": "content", "content": {"type": "text", "text": shown}}]})
    };
    let usage = |used: u64| json!({"sessionUpdate": "usage_update", "used": used, "size": 9_000});
    fake.send_update("one", usage(0)).await;
    fake.send_update("one", call("tool_call", "")).await;
    for number in 0..2_000 {
        fake.send_update("one", call("tool_call_update", &format!("{number} {}", "x".repeat(1_000)))).await;
        fake.send_update("one", usage(number)).await;
    }
    fake.send_result(&prompt, ended("end_turn")).await;
    // The answer to this request proves that the previous frames were processed.
    fake.request_permission("other", 1).await;
    fake.receive("").await;
    let events = events_until_idle(&agent).await;
    let showed: Vec<_> =
        events.iter().filter(|event| matches!(event, RemoteEvent::ToolUpdated(..))).collect();
    assert_eq!(showed.len(), 1, "{}", showed.len());
    assert!(format!("{showed:?}").contains("1999 "));
}

#[tokio::test]
async fn settings_reach_the_agent_before_the_next_prompt() {
    let (agent, mut fake) = started_agent();
    let model = SettingsChange::DefaultModel { provider: "agent".to_owned(), id: "large".to_owned() };
    agent.persist().save(model);
    send_prompt(&agent, "go").await;
    let set = fake.receive("session/set_config_option").await;
    assert_eq!((&set["params"]["configId"], &set["params"]["value"]), (&json!("model"), &json!("large")));
    fake.receive("session/prompt").await;
}

/// Returns the first `count` changes of the model or the thinking level.
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
    let (agent, mut fake) = started_agent();
    let changed = json!({"sessionUpdate": "config_option_update", "configOptions": options("large")});
    fake.send_update("one", changed).await;
    assert_eq!(models(&agent, 1).await, ["large"]);
    for model in ["small", "large"] {
        agent
            .persist()
            .save(SettingsChange::DefaultModel { provider: "agent".to_owned(), id: model.to_owned() });
    }
    let (first, second) =
        (fake.receive("session/set_config_option").await, fake.receive("session/set_config_option").await);
    // Its options in the response to the first request are outdated.
    fake.send_result(&first, json!({"configOptions": options("small")})).await;
    let rejection = json!({"code": -32603, "message": "no"});
    fake.send(json!({"jsonrpc": "2.0", "id": second["id"], "error": rejection})).await;
    assert_eq!(models(&agent, 1).await, ["small"]);
    let moving = tokio::spawn({
        let agent = agent.clone();
        async move { agent.new_session().await }
    });
    let new = fake.receive("session/new").await;
    let commands = json!({"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "plan", "description": "Plans."}]});
    fake.send_update("two", commands).await;
    fake.send_result(&new, json!({"sessionId": "two", "configOptions": options("large")})).await;
    assert_eq!(soon("the session", moving).await.unwrap(), Ok(true));
    assert_eq!(models(&agent, 1).await, ["large"]);
    assert_eq!(agent.session().await.location.id.as_deref(), Some("two"));
    assert_eq!(agent.commands().await[0].name, "plan");
}

#[tokio::test]
async fn forms_are_shown_member_by_member() {
    let (agent, mut fake) = started_agent();
    agent.connect(Arc::new(FakeUi));
    let fields = json!({"go": {"type": "boolean"}, "name": {"type": "string"},
        "text": {"type": "string", "default": "hi"}, "way": {"type": "string", "enum": ["left", "right"]}});
    let schema = json!({"type": "object", "properties": fields});
    for (session, mode, action) in
        [("one", "form", "accept"), ("other", "form", "cancel"), ("one", "url", "cancel")]
    {
        let params =
            json!({"sessionId": session, "mode": mode, "message": "Where?", "requestedSchema": schema});
        fake.send(json!({"jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": params})).await;
        let answer = fake.receive("").await;
        assert_eq!(answer["result"]["action"], action, "{answer}");
        if action == "accept" {
            let content = json!({"go": true, "name": "moss", "text": "hi!", "way": "right"});
            assert_eq!(answer["result"]["content"], content);
        }
    }
}

#[tokio::test]
async fn input_held_at_a_stop_waits_for_the_next_prompt() {
    let (agent, mut fake) = started_agent();
    send_prompt(&agent, "hang").await;
    let prompt = fake.receive("session/prompt").await;
    send_prompt(&agent, "waits").await;
    agent.abort().await;
    fake.receive("session/cancel").await;
    fake.send_result(&prompt, ended("cancelled")).await;
    events_until_idle(&agent).await;
    send_prompt(&agent, "next").await;
    for text in ["next", "waits"] {
        let prompt = fake.receive("session/prompt").await;
        assert_eq!(prompt["params"]["prompt"][0]["text"], text);
        fake.send_result(&prompt, ended("end_turn")).await;
    }
    let runs =
        events_until_idle(&agent).await.into_iter().filter(|event| *event == RemoteEvent::RunStarted).count();
    assert_eq!(runs, 2);
}

#[tokio::test]
async fn images_are_rejected_without_image_support() {
    let (agent, _far) = started_agent();
    let image = [agentese::types::ImageContent::new("aGk=", "image/png")];
    let rejected = soon("the input", agent.submit("look", &image, Delivery::Prompt(None))).await;
    assert_eq!(rejected, Err("the agent does not accept images".to_owned()));
}

#[tokio::test]
async fn an_unreadable_request_is_answered_with_the_reason() {
    let (_agent, mut fake) = started_agent();
    let params = json!({"sessionId": 3});
    fake.send(json!({"jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": params}))
        .await;
    let answer = fake.receive("").await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    fake.send(json!({"jsonrpc": "2.0", "id": 8, "method": "no/such", "params": {}})).await;
    assert_eq!(fake.receive("").await["error"]["code"], -32601);
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_request_is_cancelled() {
    let (agent, mut fake) = started_agent();
    let moving = tokio::spawn({
        let agent = agent.clone();
        async move { agent.new_session().await }
    });
    let new = fake.receive("session/new").await;
    assert_eq!(fake.receive("$/cancel_request").await["params"]["requestId"], new["id"]);
    let trouble = soon("the trouble", moving).await.unwrap().unwrap_err();
    assert!(trouble.contains("no response to `session/new`"), "{trouble}");
    // A late response changes nothing.
    fake.send_result(&new, json!({"sessionId": "two"})).await;
    send_prompt(&agent, "go").await;
    assert_eq!(fake.receive("session/prompt").await["params"]["sessionId"], "one");
}

/// Sends a request for permission in a turn, after some updates. Returns the events before the question, and the
/// question's text.
async fn ask(updates: &[Value], call: Value) -> (Vec<RemoteEvent>, String) {
    let (agent, mut fake) = started_agent();
    let (asked, mut questions) = tokio::sync::mpsc::unbounded_channel();
    agent.connect(Arc::new(QuestionRecorder(asked)));
    send_prompt(&agent, "go").await;
    fake.receive("session/prompt").await;
    for update in updates {
        fake.send_update("one", update.clone()).await;
    }
    let choices = json!([{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]);
    let params = json!({"sessionId": "one", "toolCall": call, "options": choices});
    fake.send(json!({"jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": params}))
        .await;
    let mut events = Vec::new();
    let question = loop {
        tokio::select! {
            biased;
            event = soon("an event", agent.next_event()) => events.push(event),
            question = questions.recv() => break question.unwrap(),
        }
    };
    let answer = fake.receive("").await;
    assert_eq!(answer["result"]["outcome"]["optionId"], "yes", "{answer}");
    let ui::Dialog::Select(select, _) = question else { panic!("{question:?}") };
    (events, select.title)
}

/// Returns the arguments with which a call starts, from its events.
fn started_with(events: &[RemoteEvent]) -> Value {
    let start = events.iter().find_map(|event| match event {
        RemoteEvent::ToolStarted(call) => Some(Value::from(call.arguments.clone())),
        _ => None,
    });
    start.unwrap_or_else(|| panic!("no call started: {events:#?}"))
}

/// Returns the details of the last update of a call.
fn last_details(events: &[RemoteEvent]) -> Value {
    let update = events.iter().rev().find_map(|event| match event {
        RemoteEvent::ToolUpdated(_, update) => update.details.clone(),
        _ => None,
    });
    update.unwrap_or_else(|| panic!("no update of a call: {events:#?}"))
}

#[tokio::test(start_paused = true)]
async fn a_permission_shows_the_command_before_the_question() {
    let call = json!({"toolCallId": "c", "title": "Cleans up", "kind": "execute", "status": "pending",
        "rawInput": {"command": "rm -rf ~"}});
    // No update announces the call.
    let (events, question) = ask(&[], call).await;
    assert_eq!(started_with(&events), json!({"command": "rm -rf ~", "title": "Cleans up"}));
    let expected = "Allow execute?\nArguments:\n  command: rm -rf ~\nTitle from the agent: Cleans up";
    assert_eq!(question, expected);
}

#[tokio::test(start_paused = true)]
async fn a_permission_adds_the_members_that_the_call_lacked() {
    let announced = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Edit", "name": "Edit",
        "kind": "edit", "status": "pending", "rawInput": {}});
    let call = json!({"toolCallId": "c", "rawInput": {"file_path": "/w/a.rs"},
        "content": [{"type": "diff", "path": "/w/a.rs", "oldText": "a\nb\n", "newText": "a\nc\n"}]});
    let (events, question) = ask(std::slice::from_ref(&announced), call.clone()).await;
    assert_eq!(started_with(&events), json!({"file_path": "/w/a.rs", "title": "Edit"}));
    assert_eq!(last_details(&events)["changes"][0]["newText"], "a\nc\n");
    let expected = "Allow Edit (edit)?\nArguments:\n  file_path: /w/a.rs\n\
        Change of /w/a.rs: 1 line removed, 1 line added\n    a\n  - b\n  + c\n\
        Title from the agent: Edit";
    assert_eq!(question, expected);

    // The call has started, so its start cannot show them.
    let mut started = announced;
    started["status"] = "in_progress".into();
    let (events, question) = ask(&[started], call).await;
    assert_eq!(started_with(&events), json!({"title": "Edit"}));
    let details = last_details(&events);
    assert_eq!(
        (&details["arguments"]["file_path"], &details["changes"][0]["path"]),
        (&json!("/w/a.rs"), &json!("/w/a.rs"))
    );
    assert_eq!(question, expected);
}

#[tokio::test(start_paused = true)]
async fn a_permission_of_an_announced_call_repeats_its_arguments() {
    let announced = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "shell", "kind": "execute",
        "status": "pending", "rawInput": {"command": "ls"}});
    let (events, question) = ask(&[announced], json!({"toolCallId": "c", "title": "May it?"})).await;
    assert_eq!(started_with(&events), json!({"command": "ls", "title": "May it?"}));
    assert!(question.contains("\n  command: ls\n"), "{question}");
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_in_a_permission_removes_no_change() {
    let announced = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Edit", "kind": "edit",
        "content": [{"type": "diff", "path": "/w/a.rs", "oldText": "a\n", "newText": "b\n"}]});
    let call = json!({"toolCallId": "c", "content": [], "locations": []});
    let (events, question) = ask(&[announced], call).await;
    assert!(question.contains("\n  - a\n  + b"), "{question}");
    assert_eq!(last_details(&events)["changes"][0]["newText"], "b\n");
}

#[tokio::test(start_paused = true)]
async fn a_permission_with_the_id_of_an_ended_call_shows_a_call_of_its_own() {
    let ended = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "List", "kind": "execute",
        "status": "completed", "rawInput": {"command": "ls"}});
    let (events, question) = ask(&[ended], json!({"toolCallId": "1", "title": "List"})).await;
    assert!(question.contains("did not say") && !question.contains("command"), "{question}");
    let starts = events.iter().filter(|event| matches!(event, RemoteEvent::ToolStarted(_))).count();
    assert_eq!(starts, 2, "{events:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_permission_without_data_says_so() {
    let (events, question) = ask(&[], json!({"toolCallId": "c", "title": "Cleans up"})).await;
    started_with(&events);
    let expected = "Allow a call of an unnamed tool?\nThe agent did not say what the call does.\n\
        Title from the agent: Cleans up";
    assert_eq!(question, expected);
}

#[tokio::test]
async fn the_reason_of_an_exit_contains_the_last_lines_of_stderr() {
    let script = "echo first >&2; echo >&2; echo 'no longer maintained' >&2; printf 'use \\033[1mthat\\n' >&2; echo \"key sk-ant-api03-$(printf a%.0s $(seq 90))\" >&2";
    let child = agentese::transport::ChildOptions::new("sh").args(["-c", script]);
    let transport = Transport::from_child(child).unwrap();
    let (connection, _events) = AcpConnection::from_transport(transport, Arc::<FrameCounts>::default());
    let reason = soon("the reason", connect(&connection)).await.unwrap_err();
    let expected = "exited with code 0, last on stderr: no longer maintained / use \\u{1b}[1mthat / key ";
    assert!(reason.starts_with(expected) && !reason.contains("aaaa"), "{reason}");
}

/// Plays a turn with an answer and a report of usage, and returns the usage of the answer.
async fn turn_usage(agent: &AcpRemoteAgent, fake: &mut FakeAgent, session: &str, cost: f64) -> Value {
    send_prompt(agent, "go").await;
    let prompt = fake.receive("session/prompt").await;
    fake.send_update(session, chunk("done")).await;
    let cost = json!({"amount": cost, "currency": "USD"});
    fake.send_update(
        session,
        json!({"sessionUpdate": "usage_update", "used": 1_500, "size": 1_000_000, "cost": cost}),
    )
    .await;
    let usage =
        json!({"totalTokens": 1_320, "inputTokens": 300, "outputTokens": 20, "cachedReadTokens": 1_000});
    fake.send_result(&prompt, json!({"stopReason": "end_turn", "usage": usage})).await;
    let events = events_until_idle(agent).await;
    let usage = events.iter().find_map(|event| match event {
        RemoteEvent::AnswerEnded(answer) => Some(serde_json::to_value(&answer.usage).unwrap()),
        _ => None,
    });
    usage.unwrap_or_else(|| panic!("no answer: {events:#?}"))
}

/// Opens another session. `stored` is the id of a stored one; `None` creates the session `two`.
async fn change_session(agent: &Arc<AcpRemoteAgent>, fake: &mut FakeAgent, stored: Option<&'static str>) {
    let moving = tokio::spawn({
        let agent = agent.clone();
        async move {
            match stored {
                Some(id) => agent.switch_session(id.as_ref()).await,
                None => agent.new_session().await,
            }
        }
    });
    let method = if stored.is_some() { "session/load" } else { "session/new" };
    let request = fake.receive(method).await;
    fake.send_result(&request, json!({"sessionId": "two"})).await;
    assert_eq!(soon("the session", moving).await.unwrap(), Ok(true));
}

#[tokio::test]
async fn tokens_and_the_context_window_are_reported() {
    let (agent, mut fake) = started_agent();
    assert_eq!(agent.usage().await, None);
    let usage = turn_usage(&agent, &mut fake, "one", 0.01).await;
    assert_eq!(
        (&usage["input"], &usage["output"], &usage["cacheRead"]),
        (&json!(300), &json!(20), &json!(1_000))
    );
    assert_eq!(usage["totalTokens"], 1_500);
    turn_usage(&agent, &mut fake, "one", 0.02).await;
    let session = agent.usage().await.unwrap();
    assert_eq!((session.input, session.output, session.cache_read), (Some(600), Some(40), Some(2_000)));
    assert_eq!(session.cost, Some(0.02));

    // The window is a part of the model. A report of the same window changes nothing.
    send_prompt(&agent, "go").await;
    let prompt = fake.receive("session/prompt").await;
    for size in [1_000_000, 200_000, 200_000] {
        fake.send_update("one", json!({"sessionUpdate": "usage_update", "used": 0, "size": size})).await;
    }
    fake.send_result(&prompt, ended("end_turn")).await;
    let events = events_until_idle(&agent).await;
    let windows: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            RemoteEvent::ModelChanged(model) => Some(model.context_window),
            _ => None,
        })
        .collect();
    assert_eq!(windows, [200_000]);
    // The total is never missing.
    let Some(RemoteEvent::AnswerEnded(answer)) = events.iter().rev().nth(2) else { panic!("{events:#?}") };
    assert_eq!(answer.usage.total_tokens, Some(0));
}

#[tokio::test]
async fn the_cost_of_a_session_begins_at_its_own_cost() {
    let (agent, mut fake) = started_agent();
    let cost = |usage: Value| (usage["cost"]["total"].as_f64().unwrap() * 1e4).round();
    assert_eq!(cost(turn_usage(&agent, &mut fake, "one", 0.0056).await), 56.0);
    change_session(&agent, &mut fake, None).await;
    assert_eq!(cost(turn_usage(&agent, &mut fake, "two", 0.0008).await), 8.0);
    change_session(&agent, &mut fake, Some("one")).await;
    assert_eq!(cost(turn_usage(&agent, &mut fake, "one", 0.008).await), 24.0);
    // The cost of a session from before this connection is unknown until the agent reports it.
    change_session(&agent, &mut fake, Some("stored")).await;
    assert_eq!(cost(turn_usage(&agent, &mut fake, "stored", 2.5).await), 0.0);
    assert_eq!(cost(turn_usage(&agent, &mut fake, "stored", 2.6).await), 1_000.0);
}
