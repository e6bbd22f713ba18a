//! Tests of faults of agents, by their numbers in the table of faults.

use std::time::Duration;

use agentese::framing::FramingError;
use agentese::pi::{self, Event, Pi, StopReason};
use agentese::tap::{Diagnostic, Direction, Tap};
use agentese::transport::memory_pair;
use agentese::{Builder, Error};
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::peer::{Peer, failure, pair, state, success, within};

/// F20: unknown kinds, members and values arrive with their raw JSON, without a failure.
#[tokio::test]
async fn fm_f20_unknown_events_members_and_values_are_delivered() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let mut events = client.events().unwrap();
    let lines = [
        r#"{"type":"hologram","depth":3}"#,
        r#"{"type":"agent_start","runId":7}"#,
        r#"{"type":"auto_compaction_start","reason":"idle"}"#,
        r#"{"type":"message_start","message":{"role":"oracle","words":["x"]}}"#,
        r#"{"type":"message_update","assistantMessageEvent":{"type":"video_delta","contentIndex":0}}"#,
    ];
    for line in lines {
        peer.send(line).await;
        let raw = within("an event", events.next_raw()).await.unwrap().unwrap();
        assert_eq!(raw.frame().as_str(), line);
        let event = raw.decode().unwrap();
        assert_eq!(
            serde_json::to_value(&event).unwrap(),
            serde_json::from_str::<serde_json::Value>(line).unwrap()
        );
    }
    // A set that controls the client is closed: a value outside of it is an error, not a guess.
    peer.send(&message_end("stop").replace("\"stop\"", "\"paused\"")).await;
    assert!(within("an event", events.next()).await.unwrap().is_err());
    peer.send(&message_end("stop")).await;
    match within("an event", events.next()).await.unwrap().unwrap() {
        Event::MessageEnd(end) => match end.message {
            pi::AgentMessage::Assistant(message) => assert_eq!(message.stop_reason, StopReason::Stop),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn message_end(stop: &str) -> String {
    json!({"type": "message_end", "message": {
        "role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m",
        "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0,
                  "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
        "stopReason": stop, "timestamp": 0
    }})
    .to_string()
}

/// F08 and F23: bytes that are not UTF-8, and text that is not a frame, are reported and skipped.
#[tokio::test]
async fn fm_f23_noise_is_reported_and_skipped() {
    let (client, mut peer, seen) = pair(Builder::<Pi>::default());
    peer.send("npm WARN deprecated something").await;
    peer.send("[1,2,3]").await;
    peer.send("null").await;
    peer.send(r#"{"no":"type"}"#).await;
    peer.writer.write_all(b"{\"type\":\"\xff\xfe\"}\n").await.unwrap();
    let call = tokio::spawn(async move { client.get_state().await });
    peer.answer("get_state", &state(false)).await;
    within("the call", call).await.unwrap().unwrap();
    let noise =
        seen.diagnostics.lock().unwrap().iter().filter(|d| matches!(d, Diagnostic::Noise { .. })).count();
    assert_eq!(noise, 4);
    assert!(seen.has(|d| matches!(d, Diagnostic::Framing(FramingError::InvalidUtf8 { .. }))));
}

/// F10: half a surrogate pair arrives as the replacement character.
#[tokio::test]
async fn fm_f10_lone_surrogates_are_replaced() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let mut events = client.events().unwrap();
    peer.send(r#"{"type":"extension_error","extensionPath":"a\udc00","event":"e","error":"\ud83e"}"#).await;
    match within("an event", events.next()).await.unwrap().unwrap() {
        Event::ExtensionError(error) => {
            assert_eq!((&*error.extension_path, &*error.error), ("a\u{fffd}", "\u{fffd}"))
        }
        other => panic!("{other:?}"),
    }
}

/// F17: of two members with one name, the last one applies, for routing and for the typed view.
#[tokio::test]
async fn fm_f17_the_last_of_two_equal_members_counts() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let mut events = client.events().unwrap();
    peer.send(r#"{"type":"agent_start","type":"extension_error","extensionPath":"a","event":"e","error":"one","error":"two"}"#).await;
    let raw = within("an event", events.next_raw()).await.unwrap().unwrap();
    assert_eq!(raw.kind(), "extension_error");
    match raw.decode().unwrap() {
        Event::ExtensionError(error) => assert_eq!(error.error, "two"),
        other => panic!("{other:?}"),
    }
}

/// F13: frames of 1, 16 and 63 MiB are read whole.
#[tokio::test]
async fn fm_f13_large_frames_are_read() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let mut events = client.events().unwrap();
    for mebibytes in [1, 16, 63] {
        let text = "é".repeat(mebibytes << 19);
        let line =
            format!(r#"{{"type":"extension_error","extensionPath":"p","event":"e","error":"{text}"}}"#);
        peer.send(&line).await;
        match within("an event", events.next()).await.unwrap().unwrap() {
            Event::ExtensionError(error) => assert_eq!(error.error.len(), mebibytes << 20),
            other => panic!("{other:?}"),
        }
    }
}

/// F18: integers are exact, and a number that no type represents is an error with the frame retained.
#[tokio::test]
async fn fm_f18_numbers_are_exact_or_rejected() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let mut events = client.events().unwrap();
    let line = |attempt: &str| {
        format!(
            r#"{{"type":"auto_retry_start","attempt":{attempt},"maxAttempts":3,"delayMs":0,"errorMessage":""}}"#
        )
    };
    peer.send(&line("9007199254740991")).await;
    match within("an event", events.next()).await.unwrap().unwrap() {
        Event::AutoRetryStart(start) => assert_eq!(start.attempt, 9_007_199_254_740_991),
        other => panic!("{other:?}"),
    }
    for number in ["1e400", "-1", "1.5", "-0"] {
        peer.send(&line(number)).await;
        let raw = within("an event", events.next_raw()).await.unwrap().unwrap();
        assert_eq!(raw.frame().as_str(), line(number));
        assert!(raw.decode().is_err(), "{number} is no count");
    }
}

/// F24 and F41: lines of many tasks never interleave.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fm_f41_lines_of_many_tasks_stay_whole() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    const TASKS: usize = 64;
    const EACH: usize = 40;
    let mut calls = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let client = client.clone();
        calls.spawn(async move {
            for n in 0..EACH {
                let name = format!("{task}/{n} {}", "y".repeat(300));
                client.set_session_name(name).await.unwrap();
            }
        });
    }
    for _ in 0..TASKS * EACH {
        peer.answer("set_session_name", "").await;
    }
    within("all calls", async { while calls.join_next().await.is_some() {} }).await;
}

/// F25: this revision does not permit frames in pieces. A piece is an unknown event, and its content is not
/// stored.
#[tokio::test]
async fn fm_f25_undeclared_chunks_are_unknown_events() {
    let (client, mut peer, seen) = pair(Builder::<Pi>::default());
    let mut events = client.events().unwrap();
    for index in [0, 2, 2, 1] {
        peer.send(&format!(r#"{{"type":"rpc_chunk","id":"c","index":{index},"count":3,"data":"e30="}}"#))
            .await;
        let event = within("an event", events.next()).await.unwrap().unwrap();
        assert!(matches!(event, Event::Unknown(_)));
    }
    assert!(seen.has(|d| matches!(d, Diagnostic::UnknownFrame { kind } if kind == "rpc_chunk")));
}

/// F36: a call to an agent that never answers ends at its time limit. A later response belongs to no call.
#[tokio::test]
async fn fm_f36_a_mute_agent_runs_into_the_limit() {
    let (client, mut peer, seen) = pair(pi::Client::builder().timeout(Duration::from_millis(30)));
    let error = within("the limit", client.get_state()).await.unwrap_err();
    assert!(matches!(error, Error::TimedOut { ref command, .. } if command == "get_state"), "{error}");
    let id = peer.receive_command("get_state").await;
    peer.send(&success(&id, "get_state", &state(false))).await;
    let call = tokio::spawn({
        let client = client.with_timeout(crate::long::LONG);
        async move { client.abort_retry().await }
    });
    peer.answer("abort_retry", "").await;
    within("the next call", call).await.unwrap().unwrap();
    assert!(seen.has(|d| matches!(d, Diagnostic::UnmatchedAnswer { .. })));
}

/// F37: responses with unknown, missing or repeated ids do not settle other calls.
#[tokio::test]
async fn fm_f37_unmatched_answers_settle_no_call() {
    let (client, mut peer, seen) = pair(Builder::<Pi>::default());
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.get_messages().await }
    });
    let id = peer.receive_command("get_messages").await;
    peer.send(&success("\"somebody\"", "get_messages", r#"{"messages":[]}"#)).await;
    peer.send(r#"{"type":"response","command":"get_messages","success":true,"data":{"messages":[]}}"#).await;
    peer.send(&failure("\"somebody\"", "get_messages", "no")).await;
    assert!(!call.is_finished());
    peer.send(&success(&id, "get_messages", r#"{"messages":[]}"#)).await;
    within("the call", call).await.unwrap().unwrap();
    peer.send(&failure(&id, "get_messages", "twice")).await;
    let call = tokio::spawn(async move { client.get_state().await });
    peer.answer("get_state", &state(false)).await;
    within("the next call", call).await.unwrap().unwrap();
    let unmatched = seen
        .diagnostics
        .lock()
        .unwrap()
        .iter()
        .filter(|d| matches!(d, Diagnostic::UnmatchedAnswer { .. }))
        .count();
    assert_eq!(unmatched, 4);
}

/// F43: a tap that panics is not called again, and the connection continues.
#[tokio::test]
async fn fm_f43_a_tap_that_panics_has_no_effect() {
    struct PanickingTap;
    impl Tap for PanickingTap {
        fn frame(&self, _: Direction, _: &str) {
            panic!("a tap that fails");
        }
    }
    let (ours, theirs) = memory_pair(1 << 16);
    let client = pi::Client::builder().tap(PanickingTap).connect(ours);
    let mut peer = Peer::new(theirs);
    for _ in 0..2 {
        let call = tokio::spawn({
            let client = client.clone();
            async move { client.get_state().await }
        });
        peer.answer("get_state", &state(false)).await;
        within("the call", call).await.unwrap().unwrap();
    }
}

/// The end of the stream settles every call, run and subscription, and lists the ids of the pending calls.
#[tokio::test]
async fn the_end_of_the_stream_settles_everything_at_once() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let mut events = client.events().unwrap();
    let prompt = tokio::spawn({
        let client = client.clone();
        async move { client.prompt("hello").await }
    });
    peer.answer("prompt", "").await;
    let run = within("the acceptance", prompt).await.unwrap().unwrap();
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.bash("sleep 100").await }
    });
    peer.receive_command("bash").await;
    peer.send(r#"{"type":"agent_start"}"#).await;
    drop(peer);
    let error = within("the call", call).await.unwrap().unwrap_err();
    let termination = error.termination().unwrap();
    assert_eq!(termination.pending().len(), 1);
    assert!(termination.last_frames().last().unwrap().as_str().contains("agent_start"));
    assert!(within("the run", run.result()).await.unwrap_err().termination().is_some());
    assert!(within("an event", events.next()).await.unwrap().is_ok());
    assert!(within("the end", events.next()).await.unwrap().unwrap_err().termination().is_some());
    assert!(within("nothing more", events.next()).await.is_none());
    // A call after the end fails at once.
    let error = client.get_state().await.unwrap_err();
    assert!(error.termination().is_some());
    assert!(client.events().is_err());
    assert!(client.send_raw("{}").is_err());
}

/// If the answer to a call occurs only inside a line with other text, the call fails. Otherwise a prompt would
/// wait forever.
#[tokio::test(start_paused = true)]
async fn an_answer_that_a_line_quotes_fails_its_call_unless_it_comes() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let started = tokio::spawn({
        let client = client.clone();
        async move { client.prompt("hello").await.map(drop) }
    });
    let id = peer.receive_command("prompt").await;
    peer.send(&format!("Loading… {}", success(&id, "prompt", ""))).await;
    let error = within("the failure", started).await.unwrap().unwrap_err();
    assert!(matches!(&error, Error::Decode { what, .. } if what.contains("prompt")), "{error}");
}
