//! Tests of a client that supports all revisions of a dialect.

use agentese::operator::Operator;
use agentese::pi::{Event, Pi};
use agentese::tap::Diagnostic;
use agentese::{Builder, EndedBy, Error, ErrorKind, omp};

use crate::peer::{failure, pair, state, within};

fn revision(client: &agentese::pi::Client) -> Option<&'static str> {
    client.revision().map(|spec| spec.revision)
}

const STARTED: &str = r#"{"disposition":"started"}"#;

#[tokio::test]
async fn the_revision_is_read_from_the_first_telling_answer_and_no_call_waits_for_it() {
    for (data, wanted) in [(STARTED, "1.5"), ("", "0.55")] {
        let (client, mut peer, _) = pair(Builder::<Pi>::default());
        let call = tokio::spawn({
            let client = client.clone();
            async move { client.get_state().await }
        });
        peer.answer("get_state", &state(false)).await;
        within("the state", call).await.unwrap().unwrap();
        assert_eq!(revision(&client), None);
        let prompt = tokio::spawn({
            let client = client.clone();
            async move { client.prompt("go").await }
        });
        peer.answer("prompt", data).await;
        within("the acceptance", prompt).await.unwrap().unwrap();
        assert_eq!(revision(&client), Some(wanted));
    }
}

/// End of a run in pi 1.5: the client does not query the state. An event that may end the run in 0.55 does not
/// end it.
#[tokio::test]
async fn a_run_of_pi_1_5_ends_when_it_has_settled() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let prompt = tokio::spawn(async move { client.prompt("go").await });
    peer.answer("prompt", STARTED).await;
    let mut run = within("the acceptance", prompt).await.unwrap().unwrap();
    peer.send(r#"{"type":"agent_start"}"#).await;
    peer.send(r#"{"type":"agent_end","messages":[],"willRetry":true}"#).await;
    peer.send(r#"{"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":1,"errorMessage":"busy"}"#)
        .await;
    peer.send(r#"{"type":"auto_retry_end","success":true,"attempt":1}"#).await;
    peer.send(r#"{"type":"agent_end","messages":[],"willRetry":false}"#).await;
    peer.send(r#"{"type":"agent_settled","aborted":false}"#).await;
    let mut seen = Vec::new();
    while let Some(event) = within("an event", run.next()).await {
        seen.push(event.unwrap());
    }
    assert!(matches!(seen.last(), Some(Event::AgentSettled(_))), "{seen:?}");
    assert_eq!(seen.len(), 6);
    assert_eq!(within("the end", run.result()).await.unwrap().ended_by, EndedBy::Event);
}

#[tokio::test]
async fn a_command_that_the_named_revision_lacks_is_not_sent() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default().revision("0.55").unwrap());
    let error = within("the failure", client.get_tree()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotInRevision);
    assert_eq!(
        error.to_string(),
        "`get_tree` is not in pi@0.55, which the agent speaks; it is in pi@1.5, pi@1.6"
    );
    let call = tokio::spawn(async move { client.get_state().await });
    peer.answer("get_state", &state(false)).await;
    within("the state", call).await.unwrap().unwrap();
}

#[tokio::test]
async fn an_unknown_command_of_another_revision_is_the_same_failure_with_the_revision() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.clear_queue().await }
    });
    let id = peer.receive_command("clear_queue").await;
    peer.send(&failure(&id, "clear_queue", "Unknown command: clear_queue")).await;
    let error = within("the failure", call).await.unwrap().unwrap_err();
    match &error {
        Error::NotInRevision { command, revision, known } => {
            assert_eq!((&**command, &**revision, &**known), ("clear_queue", "pi@0.55", "pi@1.5, pi@1.6"));
        }
        other => panic!("{other}"),
    }
    assert_eq!(revision(&client), Some("0.55"));
    // The revision is known now, so the command is no longer sent.
    assert_eq!(client.get_entries().await.unwrap_err().kind(), ErrorKind::NotInRevision);
    // Other failures, and failures of commands in every revision, keep their kind.
    let call = tokio::spawn(async move { client.get_state().await });
    let id = peer.receive_command("get_state").await;
    peer.send(&failure(&id, "get_state", "Unknown command: get_state")).await;
    assert_eq!(within("the failure", call).await.unwrap().unwrap_err().kind(), ErrorKind::Refused);
}

#[tokio::test]
async fn a_frame_against_the_named_revision_is_reported_once() {
    let (client, mut peer, seen) = pair(Builder::<Pi>::default().revision("pi@0.55").unwrap());
    let mut events = client.events().unwrap();
    for _ in 0..2 {
        peer.send(r#"{"type":"agent_settled","aborted":false}"#).await;
        within("an event", events.next()).await.unwrap().unwrap();
    }
    let told: Vec<_> = seen.diagnostics.lock().unwrap().clone();
    assert_eq!(told, [Diagnostic::OtherRevision { named: "pi@0.55".into(), seen: "pi@1.5".into() }]);
    assert_eq!(revision(&client), Some("0.55"));
}

/// No frame distinguishes pi 1.6 from 1.5. The client assumes 1.5, unless the options name 1.6. The frames of
/// 1.5 do not contradict that.
#[tokio::test]
async fn of_revisions_with_the_same_frames_the_oldest_is_meant_unless_one_is_named() {
    for (named, wanted) in [(None, "1.5"), (Some("pi@1.5"), "1.5"), (Some("pi@1.6"), "1.6")] {
        let builder = Builder::<Pi>::default();
        let (client, mut peer, seen) = pair(match named {
            Some(named) => builder.revision(named).unwrap(),
            None => builder,
        });
        let mut events = client.events().unwrap();
        peer.send(r#"{"type":"agent_settled","aborted":false}"#).await;
        within("an event", events.next()).await.unwrap().unwrap();
        assert_eq!(revision(&client), Some(wanted));
        assert!(seen.diagnostics.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn the_newest_revision_is_named_by_latest() {
    let (client, _peer, _) = pair(Builder::<Pi>::default().revision("latest").unwrap());
    assert_eq!(revision(&client), Some("1.6"));
    let (client, mut peer, _) = pair(Builder::<omp::Omp>::default());
    let mut events = client.events().unwrap();
    peer.send(r#"{"type":"ready"}"#).await;
    within("an event", events.next()).await.unwrap().unwrap();
    assert_eq!(client.revision().map(|spec| spec.revision), Some("13.19"));
}

/// An agent of the revision `operator@live` ends if a line exceeds its limit, so the client does not send
/// such a line. This limit also applies to a line that contains a parameter under both names.
#[tokio::test]
async fn a_line_that_the_agent_would_not_read_is_not_sent() {
    let (client, mut peer, _) = pair(Builder::<Operator>::default());
    let half = "y".repeat(40_000);
    let run = client.prompt(half.as_str()).await.unwrap();
    let prompt = peer.receive().await;
    assert_eq!((prompt["text"] == half, prompt.get("message")), (true, None));
    peer.send(r#"{"type":"response","command":"prompt","success":true,"id":"req-1"}"#).await;
    peer.send(r#"{"type":"agent_start"}"#).await;
    peer.send(r#"{"type":"settled"}"#).await;
    within("the end", run.result()).await.unwrap();
    assert_eq!(client.revision().unwrap().id(), "operator@live");
    let error = client.steer("x".repeat(70_000)).await.unwrap_err();
    assert!(matches!(error, Error::TooLong { most: 65_536, .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Usage);
    // The rejected line was not sent, so this one is the next line.
    let steering = tokio::spawn(async move { client.steer(half).await });
    peer.answer("steer", "").await;
    within("the answer", steering).await.unwrap().unwrap();
}

struct LongInputHandler;

impl agentese::operator::Dialogs for LongInputHandler {
    async fn input(&self, _: agentese::operator::OperatorInputDialog) -> Option<String> {
        Some("x".repeat(70_000))
    }
}

#[tokio::test]
async fn an_answer_to_a_question_that_the_agent_would_not_read_is_not_sent() {
    let (_client, mut peer, seen) = pair(Builder::<Operator>::default().dialogs(LongInputHandler));
    peer.send(r#"{"type":"save_point"}"#).await;
    peer.send(r#"{"type":"extension_ui_request","id":"q1","method":"input","title":"Name?"}"#).await;
    let dismissed = serde_json::json!({"type": "extension_ui_response", "id": "q1", "cancelled": true});
    assert_eq!(peer.receive().await, dismissed);
    let told = |d: &Diagnostic| matches!(d, Diagnostic::DialogMalformed { reason, .. } if reason.contains("operator@live reads 65536 at most"));
    assert!(seen.has(told));
}

/// Since pi 1.5, an update contains only its own piece of text. Updates therefore do not replace each other.
#[tokio::test]
async fn updates_that_carry_pieces_alone_are_not_merged() {
    let builder = Builder::<Pi>::default().overflow(agentese::queue::Overflow::Coalesce).queue_bytes(600);
    let (client, mut peer, _) = pair(builder);
    let mut events = client.events().unwrap();
    let usage = r#"{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;
    for piece in ["a", "b", "c"] {
        let event = format!(r#"{{"type":"text_delta","contentIndex":0,"delta":"{piece}"}}"#);
        peer.send(&format!(r#"{{"type":"message_update","usage":{usage},"assistantMessageEvent":{event}}}"#))
            .await;
    }
    let mut text = String::new();
    for _ in 0..3 {
        match within("an event", events.next()).await.unwrap().unwrap() {
            Event::MessageUpdate(update) => {
                let update = serde_json::to_value(&update).unwrap();
                text.push_str(update["assistantMessageEvent"]["delta"].as_str().unwrap());
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(text, "abc");
}
