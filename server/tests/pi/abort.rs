//! Tests of aborts after each event of a run.

use std::path::Path;
use std::sync::{Arc, Mutex};

use agentese::types::AgentMessage;
use agentese_server::engine::{Engine, Event, EventSink, UserInput};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::support::link::{Link, builder};
use crate::support::trace::{check_history, check_run, delivered, results};
use crate::support::{on_one_thread, soon};

/// A sink that blocks the run after a given number of events.
struct Steps {
    permits: Semaphore,
    kinds: Mutex<Vec<String>>,
}

impl EventSink for Steps {
    fn wait_for_capacity(&self) -> BoxFuture<'_, ()> {
        async {
            // The permit stays available, because the event itself consumes it.
            drop(self.permits.acquire().await.unwrap());
        }
        .boxed()
    }

    fn push(&self, event: Event<'_>) {
        let kind = match event {
            Event::RunStarted => "run".to_owned(),
            Event::TurnStarted => "turn".to_owned(),
            Event::MessageStarted { message, .. } => format!("+{}", message.tag()),
            Event::MessageUpdated { .. } => "update".to_owned(),
            Event::MessageEnded { message, .. } => format!("-{}", message.tag()),
            Event::ToolStarted(_) => "tool".to_owned(),
            Event::ToolUpdated(..) => "shown".to_owned(),
            Event::ToolEnded(..) => "/tool".to_owned(),
            Event::TurnEnded { .. } => "/turn".to_owned(),
            Event::RunEnded { .. } => "/run".to_owned(),
            Event::Settled { .. } => return,
            other => panic!("nothing fails here, and nothing is long: {other:?}"),
        };
        self.kinds.lock().unwrap().push(kind);
        self.permits.forget_permits(1);
    }
}

fn script() -> Value {
    json!({"responses": [
        {"blocks": [
            {"thinking": ["a", "b"]},
            {"text": ["c", "d"]},
            {"tool": {"id": "x", "name": "read", "args": ["{\"path\":", " \"none\"}"]}},
            {"tool": {"id": "y", "name": "write", "args": {"path": "y", "content": "y"}}},
        ]},
    ], "default": {"text": "ok"}})
}

/// Runs a prompt, and aborts it after `events` events. Returns all events, and the messages after the abort. Also
/// checks that a further prompt works.
async fn aborted_after(events: usize, place: &Path) -> (Vec<String>, Vec<Value>) {
    let sink = Arc::new(Steps { permits: Semaphore::new(events), kinds: Mutex::default() });
    let options = agentese_server::Server::builder()
        .cwd(place)
        .script(serde_json::from_value(script()).unwrap())
        .build_engine_options()
        .0;
    let engine = Engine::new(options, sink.clone());
    engine.accept_prompt(UserInput::text("go"), None).unwrap().start();
    let settled = async {
        // The run blocks once it has used its permits; yielding to the other tasks lets it reach that point.
        while sink.permits.available_permits() > 0 && engine.status().streaming {
            tokio::task::yield_now().await;
        }
    };
    soon("the run to get there", settled).await;
    soon("the abort", engine.abort()).await;
    assert!(!engine.status().streaming);
    let messages: Vec<Value> =
        engine.messages().iter().map(|message| serde_json::to_value(&**message).unwrap()).collect();
    // The next prompt works.
    sink.permits.add_permits(1000);
    let kinds = sink.kinds.lock().unwrap().clone();
    engine.accept_prompt(UserInput::text("again"), None).unwrap().start();
    soon("the next run", engine.wait_until_idle()).await;
    let last = engine.messages().last().cloned().unwrap();
    assert!(matches!(&*last, AgentMessage::Assistant(answer) if answer.stop_reason.as_str() != "aborted"));
    (kinds, messages)
}

#[test]
fn fm_f45_fm_f46_an_abort_after_any_event_ends_well() {
    let place = tempfile::tempdir().unwrap();
    let whole = on_one_thread(aborted_after(usize::MAX >> 4, place.path())).0;
    assert!(whole.len() > 30, "{whole:?}");
    for events in 0..whole.len() {
        let _ = std::fs::remove_file(place.path().join("y"));
        let (kinds, messages) = on_one_thread(aborted_after(events, place.path()));
        let at = format!("after {events}: {kinds:?}");
        assert_eq!(kinds[..events], whole[..events], "{at}");
        let count = |kind: &str| kinds.iter().filter(|known| *known == kind).count();
        assert_eq!((count("run"), count("/run")), (1, 1), "{at}");
        for kind in ["turn", "tool"] {
            assert_eq!(count(kind), count(&format!("/{kind}")), "{at}");
        }
        for role in ["user", "assistant", "toolResult"] {
            assert_eq!(count(&format!("+{role}")), count(&format!("-{role}")), "{at}");
        }
        assert_eq!(kinds.last().map(String::as_str), Some("/run"), "{at}");
        check_history(&messages);
        // No operation starts after the abort: at most one pending update arrives.
        assert!(kinds[events..].iter().filter(|kind| *kind == "update").count() <= 1, "{at}");
        // The last message belongs to the model: it was aborted, or had finished earlier.
        let last = messages.last().unwrap();
        assert_eq!(last["role"], "assistant", "{at}");
        if last["stopReason"] == "aborted" {
            assert_eq!(last["errorMessage"], "Request was aborted.");
        }
    }
}

#[tokio::test]
async fn the_answer_to_an_abort_comes_after_the_closing_events() {
    let (mut link, _place) = Link::scripted(
        json!({"responses": [{"blocks": [{"text": ["part", "ial", "never"]}], "hang_after": 2}], "default": {"text": "ok"}}),
    );
    link.send(json!({"type": "prompt", "message": "go"})).await;
    let mut frames = link.until("the text", |frame| frame["assistantMessageEvent"]["delta"] == "ial").await;
    link.send(json!({"id": "a", "type": "abort"})).await;
    let rest = link.until("the answer", |frame| frame["id"] == "a").await;
    assert_eq!(rest[rest.len() - 2]["type"], "agent_end");
    frames.extend(rest);
    check_run(&frames);
    let answer = link.messages().await.pop().unwrap();
    assert_eq!(answer["content"], json!([{"type": "text", "text": "partial"}]));
    assert_eq!(
        (&answer["stopReason"], &answer["errorMessage"]),
        (&json!("aborted"), &json!("Request was aborted."))
    );
    // In an idle agent, the abort is answered at once, and has no effect.
    link.data(json!({"type": "abort"})).await;
    assert_eq!(link.messages().await.len(), 2);
    assert_eq!(delivered(&link.run("again").await), ["again"]);
}

#[tokio::test]
async fn an_abort_in_the_same_write_as_the_prompt_stops_it() {
    let (mut link, _place) = Link::scripted(json!({"responses": [{"hang_after": -1}]}));
    link.send_raw(b"{\"type\":\"prompt\",\"message\":\"go\"}\n{\"id\":\"a\",\"type\":\"abort\"}\n").await;
    let frames = link.until("the answer", |frame| frame["id"] == "a").await;
    check_run(&frames);
    assert_eq!(link.state().await["isStreaming"], false);
}

#[tokio::test]
async fn an_abort_ends_the_tool_and_the_calls_that_wait() {
    let (mut link, place) = Link::scripted(json!({"responses": [
        {"blocks": [
            {"tool": {"id": "x1", "name": "bash", "args": {"command": "echo $$ > pid; echo started; sleep 1000 & wait"}}},
            {"tool": {"id": "x2", "name": "bash", "args": {"command": "touch second"}}},
            {"tool": {"id": "x3", "name": "write", "args": {"path": "third", "content": ""}}},
        ]},
    ], "default": {"text": "fresh"}}));
    link.send(json!({"type": "prompt", "message": "go"})).await;
    let mut frames = link.until_event("tool_execution_update").await;
    link.send(json!({"id": "a", "type": "abort"})).await;
    frames.extend(link.until("the answer", |frame| frame["id"] == "a").await);
    check_run(&frames);
    let never = "Not started: the run was aborted.";
    assert_eq!(results(&frames), ["started\n\n\nCommand aborted", never, never]);
    assert!(!place.path().join("second").exists() && !place.path().join("third").exists());
    let end = frames.iter().find(|frame| frame["type"] == "agent_end").unwrap();
    let last = end["messages"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["stopReason"], &last["content"]), (&json!("aborted"), &json!([])));
    let pid: i32 = std::fs::read_to_string(place.path().join("pid")).unwrap().trim().parse().unwrap();
    let group = rustix::process::Pid::from_raw(pid).unwrap();
    assert!(
        rustix::process::test_kill_process_group(group).is_err(),
        "the group has ended when the abort is answered"
    );
    check_history(&link.messages().await);
    assert_eq!(delivered(&link.run("again").await), ["again"]);
}

#[tokio::test]
async fn a_new_session_aborts_the_run_with_its_closing_events() {
    let (mut link, _place) =
        Link::scripted(json!({"responses": [{"hang_after": 0}], "default": {"text": "ok"}}));
    let first = link.state().await["sessionId"].clone();
    link.send(json!({"type": "prompt", "message": "go"})).await;
    let mut frames = link.until("the answer to begin", |frame| frame["message"]["role"] == "assistant").await;
    link.send(json!({"id": "n", "type": "new_session", "parentSession": "/some/where.jsonl"})).await;
    frames.extend(link.until("the answer", |frame| frame["id"] == "n").await);
    check_run(&frames);
    assert_eq!(frames.last().unwrap()["data"], json!({"cancelled": false}));
    let state = link.state().await;
    assert_eq!((&state["messageCount"], &state["isStreaming"]), (&json!(0), &json!(false)));
    assert_ne!(state["sessionId"], first);
    // A prompt in the same write as a new session belongs to the new one.
    link.send_raw(b"{\"type\":\"new_session\"}\n{\"type\":\"prompt\",\"message\":\"there\"}\n").await;
    link.until_event("agent_end").await;
    assert_eq!(link.messages().await.len(), 2);
}

#[tokio::test]
async fn fm_f26_an_abort_is_answered_while_the_client_does_not_read() {
    let (builder, _place) = builder(json!({"responses": [
        {"blocks": [{"text_repeat": {"chunk": "word ", "n": 4000}}]},
    ], "default": {"text": "ok"}}));
    let mut options = agentese::serve::Options::default();
    options.outbox_bytes = 1 << 16;
    let mut link = Link::serving_with(builder.build(), options, 1 << 10);
    link.send(json!({"type": "prompt", "message": "go"})).await;
    // The output exceeds the capacity of the pipe and the outbox, and is not read.
    for _ in 0..20_000 {
        tokio::task::yield_now().await;
    }
    link.send(json!({"id": "a", "type": "abort"})).await;
    let frames = link.until("the answer", |frame| frame["id"] == "a").await;
    check_run(&frames);
    assert!(frames.len() < 1000, "the run continued without a reader: {} frames", frames.len());
}
