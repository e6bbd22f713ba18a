//! Tests of `agentese bridge --from acp`, with an ACP agent and clients of the dialects.

mod program;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};

use agentese::any::{Agent, Answer, Event, Intent, Options, Question, QuestionHandler};
use agentese::transport::ChildOptions;
use agentese::view::{Block, Role, ToolState};
use futures::FutureExt;
use futures::future::BoxFuture;
use program::{agentese, script, soon};
use serde_json::{Value, json};

/// Directory for the reference agent in ACP mode, with settings that require approval of commands.
struct AcpFixture(tempfile::TempDir);

impl AcpFixture {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let agent = place.path().join("home/.pi/agent");
        for folder in [place.path().join("work"), agent.clone()] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(agent.join("settings.json"), r#"{"approval": {"tools": ["bash"]}}"#).unwrap();
        std::fs::write(place.path().join("script.json"), script("bash").to_string()).unwrap();
        Self(place)
    }

    fn work(&self) -> PathBuf {
        self.0.path().join("work")
    }

    /// Connects a client of a dialect to the bridge, with the reference agent behind it.
    async fn connect(&self, front: &str, handler: impl QuestionHandler) -> Agent {
        let command = [agentese().into(), "--mode".into(), "acp".into(), "--script".into()];
        self.connect_to(front, &command, handler).await
    }

    /// Connects a client of a dialect to the bridge, with an agent behind it that plays scripted turns.
    async fn connect_scripted(&self, front: &str, turns: &Value, handler: impl QuestionHandler) -> Agent {
        std::fs::write(self.0.path().join("script.json"), turns.to_string()).unwrap();
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/scripted_acp_agent.py");
        self.connect_to(front, &["python3".into(), program.into()], handler).await
    }

    /// Connects a client of a dialect to the bridge. The command line of the agent ends with the script.
    async fn connect_to(&self, front: &str, command: &[OsString], handler: impl QuestionHandler) -> Agent {
        let words = ["bridge", "--to", front, "--from", "acp", "--report"].map(str::to_owned);
        let report = self.0.path().join("report.json");
        let child = ChildOptions::new(agentese())
            .args(words)
            .args([report.as_os_str(), "--".as_ref()])
            .args(command)
            .arg(self.0.path().join("script.json"))
            .cwd(self.work())
            .env("HOME", self.0.path().join("home"))
            .env("TMPDIR", self.0.path())
            .env_remove("PI_CODING_AGENT_DIR")
            .env_remove("AGENTESE_HOME");
        let options = Options::new().dialect(front).on_question(handler);
        soon("the bridge", Agent::spawn(child, options)).await.unwrap()
    }
}

/// Question handler that records each question, and chooses the option at a fixed index.
#[derive(Clone, Default)]
struct Chooser {
    option_index: usize,
    asked: Arc<Mutex<Vec<Question>>>,
}

impl QuestionHandler for Chooser {
    fn answer(&self, question: Question) -> BoxFuture<'static, Option<Answer>> {
        let option = question.options.get(self.option_index).cloned();
        self.asked.lock().unwrap().push(question);
        async move { option.map(Answer::Text) }.boxed()
    }
}

/// Runs a prompt. Returns the text of the answer, and the events of the run.
async fn run_prompt(agent: &Agent, text: &str) -> (String, Vec<Event>) {
    let mut run = soon("the prompt", agent.prompt(text)).await.unwrap();
    let mut events = Vec::new();
    while let Some(Ok(event)) = soon("an event", run.next()).await {
        events.push(event);
    }
    (soon("the end", run.result()).await.unwrap().text(), events)
}

/// Returns the text deltas of the answers in a list of events.
fn text_deltas(events: &[Event]) -> Vec<&str> {
    let text = |event: &'_ Event| matches!(event, Event::TextGrew { .. });
    events
        .iter()
        .filter(|event| text(event))
        .filter_map(|event| match event {
            Event::TextGrew { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn an_acp_agent_works_behind_a_front_of_each_dialect() {
    for front in ["pi", "omp", "pisces", "opal", "operator"] {
        let fixture = AcpFixture::new();
        let chooser = Chooser::default();
        let agent = fixture.connect(front, chooser.clone()).await;
        let (text, events) = run_prompt(&agent, "hello").await;
        assert_eq!(text, "Hello there", "{front}");
        assert!(text_deltas(&events).concat().ends_with("Hello there"), "{front}: {events:#?}");
        assert!(events.iter().any(|event| matches!(event, Event::ThinkingGrew { .. })), "{front}");

        let (text, events) = run_prompt(&agent, "tool").await;
        assert_eq!(text, "I see.", "{front}");
        let ended = events.iter().find_map(|event| match event {
            Event::ToolEnded { state, result, .. } => Some((*state, format!("{result:?}"))),
            _ => None,
        });
        let (state, result) = ended.unwrap_or_else(|| panic!("{front}: no tool ended: {events:#?}"));
        // Clients of Operator have no dialogs, so the call is rejected.
        if front == "operator" {
            assert_eq!(state, ToolState::Failed, "{result}");
            continue;
        }
        assert_eq!(state, ToolState::Done, "{front}: {result}");
        assert!(result.contains("out-of-it"), "{front}: {result}");
        let asked = chooser.asked.lock().unwrap().clone();
        assert_eq!(asked.len(), 1, "{front}: {asked:#?}");
        assert!(asked[0].title.contains("echo out-of-it"), "{front}: {asked:#?}");
        assert!(fixture.work().join("made").exists(), "{front}");

        let mut run = soon("the prompt", agent.prompt("hang")).await.unwrap();
        while !matches!(soon("some text", run.next()).await, Some(Ok(Event::TextGrew { .. }) | Err(_)) | None)
        {
        }
        soon("the abort", agent.abort()).await.unwrap_or_else(|error| panic!("{front}: {error}"));
        let _ = soon("the end of what was stopped", run.result()).await;
        assert_eq!(run_prompt(&agent, "hello").await.0, "Hello there", "{front}: after an abort");
        let ended = soon("the end", agent.close()).await;
        assert!(ended.exit().is_none_or(|exit| exit.success()), "{front}: {ended:?}");
    }
}

#[tokio::test]
async fn a_rejected_permission_fails_the_call_and_the_turn_continues() {
    let fixture = AcpFixture::new();
    let agent = fixture.connect("pi", Chooser { option_index: 1, ..Chooser::default() }).await;
    let (text, events) = run_prompt(&agent, "tool").await;
    assert_eq!(text, "I see.");
    let failed = |event: &Event| matches!(event, Event::ToolEnded { state: ToolState::Failed, .. });
    assert!(events.iter().any(failed), "{events:#?}");
    assert!(!fixture.work().join("made").exists());
    soon("the end", agent.close()).await;
}

#[tokio::test]
async fn held_input_is_sent_after_the_turn_and_messages_keep_their_order() {
    let fixture = AcpFixture::new();
    let agent = fixture.connect("pi", Chooser::default()).await;
    let mut run = soon("the prompt", agent.prompt("slow")).await.unwrap();
    while !matches!(soon("some text", run.next()).await, Some(Ok(Event::TextGrew { .. }) | Err(_)) | None) {}
    soon("the input", agent.steer("second")).await.unwrap();
    soon("the end", run.result()).await.unwrap();
    loop {
        let state = soon("the state", agent.state()).await.unwrap();
        if state.working == Some(false) && state.messages == Some(4) {
            break;
        }
        tokio::task::yield_now().await;
    }
    let messages = soon("the messages", agent.messages()).await.unwrap();
    let said: Vec<_> = messages.iter().map(|message| (message.role, message.text())).collect();
    let expected = [
        (Role::User, "slow"),
        (Role::Assistant, "abcdef"),
        (Role::User, "second"),
        (Role::Assistant, "To the second."),
    ];
    assert_eq!(said, expected.map(|(role, text)| (role, text.to_owned())));
    soon("the end", agent.close()).await;
}

#[tokio::test]
async fn a_failed_turn_reports_its_reason_and_unsupported_commands_are_rejected() {
    let fixture = AcpFixture::new();
    let agent = fixture.connect("pi", Chooser::default()).await;
    let run = soon("the prompt", agent.prompt("fail")).await.unwrap();
    let failed = soon("the end", run.wait()).await.unwrap().message.unwrap();
    assert!(format!("{:?}", failed.error).contains("no such thing"), "{failed:?}");
    let refused = soon("the answer", agent.set_auto_retry(false)).await.unwrap_err().to_string();
    assert!(refused.contains("not supported with an agent of acp"), "{refused}");
    let levels = soon("the answer", agent.set_thinking("high")).await;
    assert!(levels.is_ok(), "{levels:?}");
    assert_eq!(run_prompt(&agent, "hello").await.0, "Hello there");
    assert!(agent.supports(Intent::NewSession) && soon("a session", agent.new_session()).await.unwrap());
    assert_eq!(soon("the messages", agent.messages()).await.unwrap().len(), 0);
    assert_eq!(run_prompt(&agent, "hello").await.0, "Hello there");
    soon("the end", agent.close()).await;
    let report = std::fs::read_to_string(fixture.0.path().join("report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["front"], &report["agent"]), (&json!("pi@0.55"), &json!("acp@1")));
    let told = report["told"].as_array().unwrap().iter();
    let updates = told.filter(|row| row["count"].as_u64().unwrap() > 3).count();
    assert!(updates > 0, "{report:#}");
}

#[tokio::test]
async fn a_stored_session_is_opened_with_its_messages() {
    let fixture = AcpFixture::new();
    let agent = fixture.connect("pi", Chooser::default()).await;
    run_prompt(&agent, "tool").await;
    let id = soon("the state", agent.state()).await.unwrap().session.id.unwrap();
    assert!(soon("a session", agent.new_session()).await.unwrap());
    let fresh = soon("the state", agent.state()).await.unwrap().session.id.unwrap();
    assert_ne!(fresh, id);
    soon("the end", agent.close()).await;
    let agent = fixture.connect("pi", Chooser::default()).await;
    assert!(soon("the session", agent.open_session(&id)).await.unwrap());
    assert_eq!(soon("the state", agent.state()).await.unwrap().session.id, Some(id));
    let messages = soon("the messages", agent.messages()).await.unwrap();
    let roles: Vec<_> = messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Assistant]);
    assert_eq!((messages[0].text(), messages[3].text()), ("tool".to_owned(), "I see.".to_owned()));
    assert_eq!(run_prompt(&agent, "hello").await.0, "Hello there");
    assert!(soon("the rejection", agent.open_session("nobody")).await.is_err());
    soon("the end", agent.close()).await;
}

#[tokio::test]
async fn a_new_session_during_a_turn_is_ready_at_once() {
    let fixture = AcpFixture::new();
    let agent = fixture.connect("pi", Chooser::default()).await;
    let mut run = soon("the prompt", agent.prompt("hang")).await.unwrap();
    while !matches!(soon("some text", run.next()).await, Some(Ok(Event::TextGrew { .. }) | Err(_)) | None) {}
    assert!(soon("a session", agent.new_session()).await.unwrap());
    assert_eq!(soon("the messages", agent.messages()).await.unwrap().len(), 0);
    assert_eq!(run_prompt(&agent, "hello").await.0, "Hello there");
    assert_eq!(soon("the messages", agent.messages()).await.unwrap().len(), 2);
    soon("the end", agent.close()).await;
}

#[tokio::test]
async fn a_killed_agent_ends_the_bridge_and_a_program_that_is_no_agent_is_reported() {
    let fixture = AcpFixture::new();
    let agent = fixture.connect("pi", Chooser::default()).await;
    let mut run = soon("the prompt", agent.prompt("hang")).await.unwrap();
    while !matches!(soon("some text", run.next()).await, Some(Ok(Event::TextGrew { .. }) | Err(_)) | None) {}
    let bridge = agent.as_dynamic().process_id().unwrap();
    let children = std::fs::read_to_string(format!("/proc/{bridge}/task/{bridge}/children")).unwrap();
    for child in children.split_whitespace() {
        assert!(Command::new("kill").args(["-KILL", child]).status().unwrap().success());
    }
    let ended = soon("the end", agent.terminated()).await;
    assert_eq!(ended.exit().and_then(|exit| exit.code), Some(1), "{ended:?}");
    for (words, said) in [
        (&["bridge", "--to", "pi", "--from", "acp", "--", "true"][..], "exited with code 0"),
        (
            &["bridge", "--to", "acp", "--from", "acp", "--", "true"][..],
            "--to acp cannot be combined with --from acp",
        ),
    ] {
        let done = Command::new(agentese()).args(words).output().unwrap();
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success() && stderr.contains(said), "{stderr}");
    }
}

/// Fronts with tools and dialogs.
const FRONTS: [&str; 4] = ["pi", "omp", "pisces", "opal"];

/// A call as a client sees it.
#[derive(Debug, Default)]
struct SeenCall {
    name: String,
    arguments: Value,
    outputs: Vec<String>,
    state: Option<ToolState>,
    result: String,
    details: Value,
}

/// Returns the only call in a list of events.
fn seen_call(events: &[Event]) -> SeenCall {
    let text = |blocks: &[Block]| -> String {
        let texts = blocks.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    };
    let mut call = SeenCall::default();
    for event in events {
        match event {
            Event::ToolStarted { name, arguments, .. } => {
                (call.name, call.arguments) = (name.clone(), arguments.clone().unwrap_or_default());
            }
            Event::ToolUpdated { output, .. } => call.outputs.push(text(output)),
            Event::ToolEnded { state, result, details, .. } => {
                assert!(call.state.replace(*state).is_none(), "two calls ended: {events:#?}");
                (call.result, call.details) = (text(result), details.clone().unwrap_or_default());
            }
            _ => {}
        }
    }
    call
}

fn tool_call(members: Value) -> Value {
    let mut update =
        json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "", "status": "in_progress"});
    update.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    update
}

fn tool_update(members: Value) -> Value {
    let mut update = tool_call(members.clone());
    update["sessionUpdate"] = "tool_call_update".into();
    update.as_object_mut().unwrap().retain(|name, _| {
        matches!(name.as_str(), "sessionUpdate" | "toolCallId") || members.get(name).is_some()
    });
    update
}

#[tokio::test]
async fn the_calls_of_other_agents_have_names_titles_output_and_diffs_in_each_front() {
    let piece = |text: &str| json!({"_meta": {"terminal_output_delta": {"data": text, "terminal_id": "c"}}});
    let end = json!({"status": "failed", "_meta": {"terminal_exit": {"exit_code": 2, "signal": null, "terminal_id": "c"}}});
    let diff = json!({"type": "diff", "path": "/w/a.rs", "oldText": "a\n", "newText": "b\n"});
    let goose = json!({"goose": {"toolCall": {"toolName": "developer__shell"}}});
    let turns = json!({
        "codex": [
            tool_call(json!({"kind": "execute", "title": "make", "rawInput": {"command": "make"},
                "content": [{"type": "terminal", "terminalId": "c"}]})),
            tool_update(piece("one\n")),
            tool_update(piece("two\n")),
            tool_update(end),
        ],
        "goose": [
            tool_call(json!({"toolCallId": "g", "title": "shell · echo hi", "rawInput": {"command": "echo hi"}, "_meta": goose})),
            tool_update(json!({"toolCallId": "g", "status": "completed", "rawOutput": {"content": "hi"}})),
        ],
        "grok": [
            tool_call(json!({"toolCallId": "k", "title": "search_replace", "kind": "edit", "rawInput": {"file": "/w/a.rs"}})),
            tool_update(json!({"toolCallId": "k", "status": "completed", "content": [diff],
                "rawOutput": {"output_for_prompt": "Edited.", "newContent": "b\n"}})),
        ],
    });
    for front in FRONTS {
        let fixture = AcpFixture::new();
        let agent = fixture.connect_scripted(front, &turns, Chooser::default()).await;
        let call = seen_call(&run_prompt(&agent, "codex").await.1);
        assert_eq!(
            (call.name.as_str(), call.state),
            ("execute", Some(ToolState::Failed)),
            "{front}: {call:?}"
        );
        assert_eq!(call.result, "one\ntwo\n\nCommand exited with code 2", "{front}: {call:?}");
        assert!(call.outputs.iter().all(|output| "one\ntwo\n".starts_with(output)), "{front}: {call:?}");
        assert_eq!(call.arguments, json!({"command": "make"}), "{front}");

        let call = seen_call(&run_prompt(&agent, "goose").await.1);
        assert_eq!(
            (call.name.as_str(), call.result.as_str()),
            ("developer__shell", "hi"),
            "{front}: {call:?}"
        );
        assert_eq!(call.arguments["title"], "shell · echo hi", "{front}: {call:?}");

        let call = seen_call(&run_prompt(&agent, "grok").await.1);
        assert_eq!(
            (call.name.as_str(), call.state),
            ("search_replace", Some(ToolState::Done)),
            "{front}: {call:?}"
        );
        let shown = "Edited.\nChange of /w/a.rs: 1 line removed, 1 line added\n  - a\n  + b";
        assert_eq!(call.result, shown, "{front}: {call:?}");
        if front != "opal" {
            assert_eq!(call.details["changes"][0]["newText"], "b\n", "{front}: {call:?}");
        }
        soon("the end", agent.close()).await;
    }
}

/// Handler that answers questions with texts, and dismisses each question for which the text is absent.
#[derive(Clone)]
struct Answers(Arc<Mutex<Vec<Option<&'static str>>>>, Arc<Mutex<Vec<Question>>>);

impl QuestionHandler for Answers {
    fn answer(&self, question: Question) -> BoxFuture<'static, Option<Answer>> {
        self.1.lock().unwrap().push(question);
        let answer = self.0.lock().unwrap().remove(0);
        async move { answer.map(|text| Answer::Text(text.to_owned())) }.boxed()
    }
}

#[tokio::test]
async fn a_form_may_have_gaps_and_shows_descriptions() {
    let choices =
        json!([{"const": "r", "title": "Red", "description": "Warm"}, {"const": "b", "title": "Blue"}]);
    let form = |required: &[&str]| {
        json!([{"request": "elicitation/create", "params": {"mode": "form", "message": "Which colour?", "requestedSchema": {
            "type": "object", "required": required, "properties": {
                "colour": {"type": "string", "title": "Colour", "oneOf": choices},
                "other": {"type": "string", "title": "Other"},
            },
        }}}])
    };
    let turns = json!({"optional": form(&[]), "required": form(&["colour"])});
    for (prompt, answers, expected) in [
        ("optional", [Some("Blue"), None], json!({"action": "accept", "content": {"colour": "b"}})),
        ("optional", [None, Some("Green")], json!({"action": "accept", "content": {"other": "Green"}})),
        ("optional", [None, None], json!({"action": "cancel"})),
        ("required", [None, Some("not asked")], json!({"action": "cancel"})),
    ] {
        let fixture = AcpFixture::new();
        let handler = Answers(Arc::new(Mutex::new(answers.to_vec())), Arc::default());
        let agent = fixture.connect_scripted("pi", &turns, handler.clone()).await;
        let answer: Value = serde_json::from_str(&run_prompt(&agent, prompt).await.0).unwrap();
        assert_eq!(answer, expected, "{prompt} {answers:?}");
        let asked = handler.1.lock().unwrap().clone();
        assert_eq!(asked.len(), if prompt == "required" { 1 } else { 2 }, "{asked:#?}");
        assert!(asked[0].title.ends_with("\n  Red: Warm"), "{asked:#?}");
        soon("the end", agent.close()).await;
    }
}
