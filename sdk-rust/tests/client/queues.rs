//! Subscribers that do not read.

use std::time::Duration;

use agentese::pi::Pi;
use agentese::queue::Overflow;
use agentese::{Error, pi};

use crate::peer::{pair, state, success, within};

fn update(n: usize) -> String {
    format!(
        r#"{{"type":"message_update","assistantMessageEvent":{{"type":"text_delta","contentIndex":0,"delta":"{n} {}"}}}}"#,
        "x".repeat(200)
    )
}

/// Block: the reader stops, memory stays flat, and a call made meanwhile says why it got nothing.
#[tokio::test]
async fn a_blocked_reader_makes_calls_stall_and_goes_on_when_read() {
    let (client, mut peer, _) = pair(pi::Client::builder().queue_bytes(1000));
    let mut events = client.events().unwrap();
    for n in 0..20 {
        peer.say(&update(n)).await;
    }
    let impatient = client.with_timeout(Duration::from_millis(100));
    let call = tokio::spawn(async move { impatient.get_state().await });
    let id = peer.hear_command("get_state").await;
    peer.say(&success(&id, "get_state", &state(false))).await;
    let error = within("the stall", call).await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Stalled { .. }), "{error}");
    for n in 0..20 {
        let event = within("an event", events.next_raw()).await.unwrap().unwrap();
        assert_eq!(event.frame().as_str(), update(n));
    }
    let call = tokio::spawn(async move { client.get_state().await });
    peer.answer("get_state", &state(false)).await;
    within("the call", call).await.unwrap().unwrap();
}

/// Without anybody listening events are dropped and counted, and answers come.
#[tokio::test]
async fn events_without_a_listener_are_dropped_and_counted() {
    let (client, mut peer, _) = pair(pi::Client::builder().queue_bytes(1000));
    for n in 0..500 {
        peer.say(&update(n)).await;
    }
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.get_state().await }
    });
    peer.answer("get_state", &state(false)).await;
    within("the call", call).await.unwrap().unwrap();
    assert_eq!(client.dropped_events(), 500);
}

/// Coalesce: of updates that pile up the newest stays; what is no update is never merged.
#[tokio::test]
async fn updates_are_merged_where_that_is_asked_for() {
    let (client, mut peer, _) = pair(pi::Client::builder().queue_bytes(1000).overflow(Overflow::Coalesce));
    let mut events = client.events().unwrap();
    for n in 0..50 {
        peer.say(&update(n)).await;
    }
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.get_state().await }
    });
    peer.answer("get_state", &state(false)).await;
    within("the call", call).await.unwrap().unwrap();
    peer.say(r#"{"type":"agent_start"}"#).await;
    let mut seen = Vec::new();
    loop {
        let event = within("an event", events.next_raw()).await.unwrap().unwrap();
        if event.kind() == "agent_start" {
            break;
        }
        seen.push(event.frame().as_str().to_owned());
    }
    assert!(seen.len() < 50, "nothing was merged");
    assert_eq!(seen.last(), Some(&update(49)), "the newest update is lost");
}

/// Detach: a subscriber that does not read is cut off and told so; the others go on.
#[tokio::test]
async fn a_subscriber_is_cut_off_where_that_is_asked_for() {
    let (client, mut peer, _) =
        pair::<Pi>(pi::Client::builder().queue_bytes(1000).overflow(Overflow::Detach));
    let mut lazy = client.events().unwrap();
    for n in 0..50 {
        peer.say(&update(n)).await;
    }
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.get_state().await }
    });
    peer.answer("get_state", &state(false)).await;
    within("the call", call).await.unwrap().unwrap();
    let mut got = 0;
    let error = loop {
        match within("an event", lazy.next_raw()).await.unwrap() {
            Ok(_) => got += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Detached { dropped } if dropped > 0 && got > 0), "{error} after {got}");
    assert!(within("nothing more", lazy.next_raw()).await.is_none());
}
