//! Subscribers that do not read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use agentese::pi::Pi;
use agentese::queue::Overflow;
use agentese::{Error, pi};
use futures::FutureExt;
use tokio::io::AsyncWriteExt;

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

/// Counts how often a subscriber is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// What one read brings wakes a subscriber once, and all of it is there then.
#[tokio::test]
async fn a_subscriber_is_woken_once_for_what_one_read_brought() {
    const COUNT: usize = 100;
    let (client, mut peer, _) = pair(pi::Client::builder());
    let mut events = client.events().unwrap();
    let woken = Arc::<Woken>::default();
    let waker = Waker::from(woken.clone());
    assert!(std::pin::pin!(events.next_raw()).poll(&mut Context::from_waker(&waker)).is_pending());
    let burst: String = (0..COUNT).map(|n| update(n) + "\n").collect();
    // Less than the pair holds, so that one read takes it.
    assert!(burst.len() < 1 << 16);
    peer.writer.write_all(burst.as_bytes()).await.unwrap();
    within("the wake-up", async {
        while woken.0.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    for n in 0..COUNT {
        let event = events.next_raw().now_or_never().expect("it is there").unwrap().unwrap();
        assert_eq!(event.frame().as_str(), update(n));
    }
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
}

/// Events that came before an answer in the same read are there, and told, when the answer is.
#[tokio::test]
async fn events_are_told_before_the_answer_that_follows_them() {
    let (client, mut peer, _) = pair(pi::Client::builder());
    let mut events = client.events().unwrap();
    let woken = Arc::<Woken>::default();
    let waker = Waker::from(woken.clone());
    assert!(std::pin::pin!(events.next_raw()).poll(&mut Context::from_waker(&waker)).is_pending());
    let told = woken.clone();
    let call = tokio::spawn(async move {
        client.get_state().await.unwrap();
        told.0.load(Ordering::SeqCst)
    });
    let id = peer.hear_command("get_state").await;
    let burst = format!("{}\n{}\n{}\n", update(1), update(2), success(&id, "get_state", &state(false)));
    peer.writer.write_all(burst.as_bytes()).await.unwrap();
    assert_eq!(within("the answer", call).await.unwrap(), 1);
    for n in 1..3 {
        let event = events.next_raw().now_or_never().expect("it is there").unwrap().unwrap();
        assert_eq!(event.frame().as_str(), update(n));
    }
}

/// A subscriber that does not read holds up the reader, but not the event at which it does: the others have it.
#[tokio::test]
async fn others_have_the_event_that_one_subscriber_has_no_room_for() {
    let (client, mut peer, _) = pair(pi::Client::builder().queue_bytes(1000));
    let mut lazy = client.events().unwrap();
    let mut eager = client.events().unwrap();
    let reading = tokio::spawn(async move {
        let mut seen = 0;
        while let Some(event) = eager.next().await {
            event.unwrap();
            seen += 1;
            if seen == 4 {
                break;
            }
        }
        seen
    });
    // Three fit into the lazy one's queue; all come in one read.
    let burst: String = (0..4).map(|n| update(n) + "\n").collect();
    peer.writer.write_all(burst.as_bytes()).await.unwrap();
    assert_eq!(within("four events", reading).await.unwrap(), 4);
    for n in 0..4 {
        let event = within("an event", lazy.next_raw()).await.unwrap().unwrap();
        assert_eq!(event.frame().as_str(), update(n));
    }
}

/// The end of the agent is told after the events that came with it.
#[tokio::test]
async fn the_end_comes_after_the_events_of_the_same_read() {
    let (client, mut peer, _) = pair(pi::Client::builder());
    let mut events = client.events().unwrap();
    let reading = tokio::spawn(async move {
        let mut seen = 0;
        while let Some(Ok(_)) = events.next().await {
            seen += 1;
        }
        seen
    });
    let burst: String = (0..50).map(|n| update(n) + "\n").collect();
    peer.writer.write_all(burst.as_bytes()).await.unwrap();
    peer.writer.shutdown().await.unwrap();
    assert_eq!(within("the end", reading).await.unwrap(), 50);
}

/// A listener that reads slowly has all events in order, and one that does not read at all is waited for once, not
/// for every read: an answer behind ten thousand events comes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reader_keeps_pace_with_who_reads_and_goes_on_without_who_does_not() {
    const COUNT: usize = 10_000;
    let (client, mut peer, _) = pair(pi::Client::builder());
    let mut events = client.events().unwrap();
    let _lazy = client.events().unwrap();
    let reading = tokio::spawn(async move {
        for n in 0..COUNT {
            let event = within("an event", events.next_raw()).await.unwrap().unwrap();
            assert_eq!(event.frame().as_str(), update(n));
        }
    });
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.get_state().await }
    });
    let id = peer.hear_command("get_state").await;
    let burst: String = (0..COUNT).map(|n| update(n) + "\n").collect();
    within("the client to read", peer.writer.write_all(burst.as_bytes())).await.unwrap();
    peer.say(&success(&id, "get_state", &state(false))).await;
    within("the answer", call).await.unwrap().unwrap();
    within("all events", reading).await.unwrap();
}
