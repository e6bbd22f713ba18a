//! Tests of the client for any dialect with this program as the agent.

use std::sync::Arc;
use std::time::Duration;

use agentese::any::{Agent, Answer, Event, Fidelity, Intent, Options, Question, RowKind, Run, explain};
use agentese::view::{Conversation, MessageState, Role, RunState, ToolState};
use agentese::{ChildOptions, Error, ErrorKind};
use futures::FutureExt as _;
use serde_json::{Value, json};

use crate::support::LONG;
use crate::support::process::Place;

/// Each row: started dialect, detected dialect, and name of the shell tool.
const AGENTS: [(&str, &str, &str); 7] = [
    ("pi", "pi", "bash"),
    ("pi@1.5", "pi", "bash"),
    ("omp", "omp", "bash"),
    ("omp@13.19", "omp", "bash"),
    // From the frames of an idle agent, pisces cannot be distinguished from omp.
    ("pisces", "omp", "bash"),
    ("operator", "operator", "bash"),
    ("opal", "opal", "shell"),
];

fn child(place: &Place, dialect: &str, script: Value, more: &[&str]) -> ChildOptions {
    let script = place.script(script);
    let words = ["--mode", "rpc", "--dialect", dialect, "--script", &script];
    child_of(place, &[&words, more].concat())
}

/// Returns this program with these arguments, as a child for a client.
pub fn child_of(place: &Place, arguments: &[&str]) -> ChildOptions {
    let command = place.command(arguments);
    let mut child = ChildOptions::new(command.get_program()).args(command.get_args()).cwd(place.work());
    for (name, value) in command.get_envs() {
        child = match value {
            Some(value) => child.env(name, value),
            None => child.env_remove(name),
        };
    }
    child
}

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, future).await.unwrap_or_else(|_| panic!("{what} takes too long"))
}

async fn agent(place: &Place, dialect: &str, script: Value) -> Agent {
    within(dialect, Agent::spawn(child(place, dialect, script, &[]), Options::new())).await.unwrap()
}

/// Returns all events of a run, and its result.
async fn all(mut run: Run) -> (Vec<Event>, agentese::any::RunResult) {
    let mut events = Vec::new();
    while let Some(Ok(event)) = within("the run", run.next()).await {
        events.push(event);
    }
    (events, within("the result", run.result()).await.unwrap())
}

fn position_of(events: &[Event], is_it: impl Fn(&Event) -> bool) -> usize {
    events.iter().position(is_it).unwrap_or_else(|| panic!("not among {events:#?}"))
}

fn message_texts(conversation: &Conversation, role: Role) -> Vec<String> {
    let of = conversation.messages.iter().filter(|message| message.role == role);
    of.map(|message| message.text()).collect()
}

#[tokio::test]
async fn events_of_a_prompt_are_in_order_in_every_dialect() {
    for (started, seen, tool) in AGENTS {
        let place = Place::new();
        let call = json!({"id": "call-1", "name": tool, "args": {"command": "echo hi"}});
        let script = json!({"responses": [
            {"blocks": [{"thinking": ["Hm. ", "Yes."]}, {"text": ["One. ", "Two."]}, {"tool": call}]},
            {"blocks": [{"text": ["Done."]}], "usage": {"input": 50, "output": 5}},
        ]});
        let agent = agent(&place, started, script).await;
        assert_eq!(agent.dialect(), seen, "{started}");
        let (events, result) = all(agent.prompt("Hello").await.unwrap()).await;
        assert_eq!(result.text(), "Done.", "{started}");
        let grown = |wanted: fn(&Event) -> Option<&str>| events.iter().filter_map(wanted).collect::<String>();
        let text = grown(|event| match event {
            Event::TextGrew { text, .. } => Some(text),
            _ => None,
        });
        assert_eq!(text, "One. Two.Done.", "{started}");
        let thought = grown(|event| match event {
            Event::ThinkingGrew { text, .. } => Some(text),
            _ => None,
        });
        assert_eq!(thought, "Hm. Yes.", "{started}");
        let said = position_of(
            &events,
            |event| matches!(event, Event::MessageEnded { message } if message.role == Role::User && message.text() == "Hello"),
        );
        let began = position_of(&events, |event| {
            matches!(event, Event::MessageStarted { role: Role::Assistant, .. })
        });
        let grew = position_of(&events, |event| matches!(event, Event::TextGrew { .. }));
        let ran = position_of(
            &events,
            |event| matches!(event, Event::ToolStarted { name, call_id, .. } if name == tool && !call_id.is_empty()),
        );
        let done = position_of(
            &events,
            |event| matches!(event, Event::ToolEnded { state: ToolState::Done, result, .. } if format!("{result:?}").contains("hi")),
        );
        let ended = position_of(
            &events,
            |event| matches!(event, Event::MessageEnded { message } if message.text() == "Done." && message.state == MessageState::Done),
        );
        let idle = events
            .iter()
            .rposition(|event| matches!(event, Event::StateChanged { state: RunState::Idle, .. }));
        let order = [said, began, grew, ran, done, ended, idle.unwrap()];
        assert!(order.is_sorted(), "{started}: {order:?} {events:#?}");
        let conversation = agent.conversation();
        assert_eq!(message_texts(&conversation, Role::User), ["Hello"], "{started}");
        assert_eq!(message_texts(&conversation, Role::Assistant).last().unwrap(), "Done.", "{started}");
        if agent.supports(Intent::Messages) {
            let told = agent.messages().await.unwrap();
            let told: Vec<String> =
                told.iter().filter(|message| message.role == Role::Assistant).map(|one| one.text()).collect();
            assert_eq!(told, message_texts(&conversation, Role::Assistant), "{started}");
        }
        let state = agent.state().await.unwrap();
        assert_eq!(state.working, Some(false), "{started}");
        if agent.supports(Intent::Stats) {
            // Operator reports the number of entries, not of messages.
            let counted = agent.stats().await.unwrap().messages;
            assert_eq!(counted, state.messages.filter(|_| seen != "operator"), "{started}");
            assert_eq!(counted.is_some(), seen != "operator", "{started}");
        }
        within("the end", agent.close()).await;
    }
}

/// Returns a script with a text that is streamed slowly, so that a test can send input during
/// the run.
fn slow() -> Value {
    json!({"when": {"user": "Go on"}, "blocks": [{"text": vec!["a "; 400]}], "delay_ms": 25})
}

async fn until_text(run: &mut Run) {
    while !matches!(within("text", run.next()).await.expect("the run is over"), Ok(Event::TextGrew { .. })) {}
}

#[tokio::test]
async fn a_run_is_steered_and_stopped() {
    for (started, _, tool) in AGENTS {
        let place = Place::new();
        let call = json!({"id": "call-1", "name": tool, "args": {"command": "until [ -e go ]; do sleep 0.01; done"}});
        let script = json!({"responses": [
            {"blocks": [{"text": ["First."]}, {"tool": call}]},
            {"when": {"user": "other way"}, "text": "Changed."},
            slow(),
        ], "default": {"text": "Then."}});
        let agent = agent(&place, started, script).await;
        // The client detects the revision from the events.
        let mut run = agent.prompt("Hello").await.unwrap();
        until_text(&mut run).await;
        if agent.supports(Intent::Steer) {
            let outcome = within("steering", agent.steer("other way")).await.unwrap();
            assert!(outcome.is_none_or(|outcome| outcome == "queued"), "{started}");
            place.file("work/go", "");
            let (events, result) = all(run).await;
            assert_eq!(result.text(), "Changed.", "{started}: {events:#?}");
            assert_eq!(message_texts(&agent.conversation(), Role::User), ["Hello", "other way"], "{started}");
            assert!(events.iter().any(|event| matches!(event, Event::QueueChanged { .. })), "{started}");
        } else {
            place.file("work/go", "");
            all(run).await;
        }
        let mut run = agent.prompt("Go on").await.unwrap();
        until_text(&mut run).await;
        within("the abort", agent.abort()).await.unwrap();
        within("the stopped run", run.result()).await.unwrap();
        let state = agent.state().await.unwrap();
        assert_eq!(state.working, Some(false), "{started}");
        assert_eq!(agent.conversation().run.state, RunState::Idle, "{started}");
        within("the end", agent.close()).await;
    }
}

const ASKING_EXTENSION: &str = "#!/usr/bin/env python3
from agentese_extension import Extension

extension = Extension()

@extension.command('ask', 'Asks')
def ask(args, context):
    colour = context.select('Which colour?', ['red', 'blue'])
    sure = context.confirm('Sure?', 'Really')
    context.notify(f'{colour} {sure}')

extension.run()
";

fn answer_for(question: &Question) -> Option<Answer> {
    match question.kind.as_str() {
        "select" => question.options.get(1).cloned().map(Answer::Text),
        "confirm" => Some(Answer::Confirmed(true)),
        _ => Some(Answer::Text("something".to_owned())),
    }
}

#[tokio::test]
async fn questions_have_one_form_in_every_dialect() {
    for (started, _, _) in AGENTS {
        if started == "operator" {
            continue;
        }
        let place = Place::new();
        let library = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let library = library.join("../extensions/python/agentese_extension.py");
        place.file("agentese_extension.py", std::fs::read(library).unwrap());
        let extension = place.file("asks.py", ASKING_EXTENSION);
        let call = json!({"id": "q", "name": "ask_user", "args": {"question": "Which colour?", "choices": ["red", "blue"]}});
        let script = json!({"responses": [{"blocks": [{"tool": call}]}, {"text": "Thanks."}]});
        let is_opal = started == "opal";
        let more: &[&str] = if is_opal { &[] } else { &["-e", &extension] };
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&extension, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = asked.clone();
        let options = Options::new().on_question(move |question: Question| {
            let answer = answer_for(&question);
            seen.lock().unwrap().push((question.kind, question.title));
            async move { answer }.boxed()
        });
        let agent =
            within(started, Agent::spawn(child(&place, started, script, more), options)).await.unwrap();
        let mut events = agent.events();
        let run = agent.prompt(if is_opal { "Ask" } else { "/ask" }).await.unwrap();
        all(run).await;
        let mut happened = Vec::new();
        let is_last = |event: &Event| match event {
            Event::NoticeAdded { notice } => notice.text == "blue True",
            Event::ToolEnded { result, .. } => format!("{result:?}").contains("blue"),
            _ => false,
        };
        while !happened.last().is_some_and(is_last) {
            happened.push(within("the answer", events.next()).await.unwrap().unwrap());
        }
        let question = position_of(
            &happened,
            |event| matches!(event, Event::QuestionOpened { question } if question.title.as_deref() == Some("Which colour?")),
        );
        let answer = position_of(&happened, |event| matches!(event, Event::QuestionClosed { .. }));
        assert!(question < answer, "{started}: {happened:#?}");
        let asked: Vec<(String, String)> = asked.lock().unwrap().clone();
        let wanted = [("select", "Which colour?"), ("confirm", "Sure?")];
        let wanted: Vec<(String, String)> = wanted[..if is_opal { 1 } else { 2 }]
            .iter()
            .map(|(kind, title)| ((*kind).to_owned(), (*title).to_owned()))
            .collect();
        assert_eq!(asked, wanted, "{started}");
        within("the end", agent.close()).await;
    }
}

#[tokio::test]
async fn a_missing_command_fails_before_anything_is_sent() {
    let place = Place::new();
    for (started, _, _) in AGENTS {
        let agent = agent(&place, started, json!({"responses": []})).await;
        let name = agent.dialect();
        if agent.supports(Intent::Models) {
            let models = agent.models().await.unwrap();
            assert!(models.iter().all(|model| !model.id.is_empty()), "{started}");
            assert!(models.iter().any(|model| model.id == "scripted"), "{started}: {models:?}");
        }
        for intent in Intent::ALL.iter().filter(|intent| !agent.supports(**intent)) {
            let error = agent.call(*intent, serde_json::Map::new()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotInDialect, "{started}");
            let text = error.to_string();
            assert!(text.contains(intent.name()) && text.contains(name), "{text}");
        }
        assert_eq!(agent.conversation().notices.len(), 0, "{started}: no command was rejected");
        let typed = [agent.as_pi().is_some(), agent.as_omp().is_some(), agent.as_opal().is_some()];
        assert_eq!(typed, ["pi", "omp", "opal"].map(|one| one == name), "{started}");
        if let Some(pi) = agent.as_pi() {
            assert_eq!(pi.get_state().await.unwrap().message_count, 0);
        }
        within("the end", agent.close()).await;
    }
}

#[tokio::test]
async fn another_session_of_the_same_connection_is_followed() {
    let place = Place::new();
    let script = json!({"responses": [{"text": "One."}, {"text": "Two."}]});
    let agent = agent(&place, "opal", script).await;
    all(agent.prompt("First").await.unwrap()).await;
    let first = agent.session().await.unwrap().unwrap();
    let mut events = agent.events();
    assert!(agent.new_session().await.unwrap());
    assert_ne!(agent.session().await.unwrap().unwrap(), first);
    all(agent.prompt("Second").await.unwrap()).await;
    assert_eq!(message_texts(&agent.conversation(), Role::User), ["Second"]);
    let told = within("the first event", events.next()).await.unwrap().unwrap();
    assert!(matches!(&told, Event::ConversationReplaced { messages } if messages.is_empty()), "{told:?}");
    let kept = agent.list_sessions().await.unwrap();
    assert!(kept.iter().any(|one| one.session == first), "{kept:?}");
    within("the end", agent.close()).await;
}

#[tokio::test]
async fn a_program_without_a_dialect_is_not_recognised() {
    let options = || {
        let mut options = Options::new();
        options.detect_within = Some(Duration::from_secs(2));
        options
    };
    for (program, words) in [("cat", vec![]), ("sh", vec!["-c", "echo '{\"hello\":1}'"]), ("true", vec![])] {
        let child = ChildOptions::new(program).args(words);
        let error = within(program, Agent::spawn(child, options())).await.unwrap_err();
        assert!(matches!(error, Error::NotRecognised { .. }), "{program}: {error}");
    }
    let place = Place::new();
    let named = Options::new().dialect("pi@1.5");
    let agent = Agent::spawn(child(&place, "pi@1.5", json!({"responses": []}), &[]), named).await.unwrap();
    assert_eq!(agent.spec().id(), "pi@1.5");
    assert!(agent.supports(Intent::Tree));
    within("the end", agent.close()).await;
}

#[test]
fn the_loss_between_two_dialects_is_computed() {
    let spec = |name: &str| agentese::dynamic::spec(name).unwrap();
    let fate = |front: &str, agent: &str, kind: RowKind, row: &str| {
        let rows = explain(spec(front), spec(agent)).unwrap();
        rows.into_iter().find(|one| one.kind == kind && one.row == row).unwrap().fidelity
    };
    use RowKind::{Command, Dialog};
    assert_eq!(fate("pi", "omp", Command, "fork"), Fidelity::Carried);
    assert_eq!(fate("pi", "opal", Command, "export_html"), Fidelity::Lost);
    assert_eq!(fate("pi", "opal", Command, "get_session_stats"), Fidelity::Approximated);
    assert_eq!(fate("opal", "pi", Command, "opal/version"), Fidelity::Approximated);
    assert_eq!(fate("opal", "pi", Command, "session/delete"), Fidelity::Lost);
    assert_eq!(fate("pi@0.55", "pi@1.5", Command, "prompt"), Fidelity::Carried);
    assert_eq!(fate("pi@1.5", "pi@0.55", Command, "get_tree"), Fidelity::Approximated);
    assert_eq!(fate("pi", "operator", Dialog, "select"), Fidelity::Lost);
    assert_eq!(fate("pi", "opal", Dialog, "select"), Fidelity::Carried);
    for front in agentese::dynamic::REVISIONS.iter().copied().flatten() {
        for agent in agentese::dynamic::REVISIONS.iter().copied().flatten() {
            let rows = explain(front, agent).unwrap();
            assert_eq!(rows.len(), front.commands.len() + front.events.len() + front.dialogs.len());
            let is_same = front.id() == agent.id();
            assert!(!is_same || rows.iter().all(|row| row.fidelity == Fidelity::Carried), "{}", front.id());
            for row in rows {
                assert_eq!(row.reason.is_empty(), row.fidelity == Fidelity::Carried, "{row:?}");
            }
        }
    }
}
