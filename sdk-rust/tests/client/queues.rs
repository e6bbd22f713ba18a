//! Tests of subscribers that do not read.

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

/// `Block`: if a subscriber does not read, the reader stops and memory stays constant. A call in this state
/// reports the cause.
#[tokio::test(start_paused = true)]
async fn a_blocked_reader_makes_calls_stall_and_goes_on_when_read() {
    let (client, mut peer, _) = pair(pi::Client::builder().queue_bytes(1000));
    let mut events = client.events().unwrap();
    for n in 0..20 {
        peer.send(&update(n)).await;
    }
    let impatient = client.with_timeout(Duration::from_millis(100));
    let call = tokio::spawn(async move { impatient.get_state().await });
    let id = peer.receive_command("get_state").await;
    peer.send(&success(&id, "get_state", &state(false))).await;
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

/// The caller can read a run's events only after the response to the prompt. Queued events therefore never
/// delay this response.
#[tokio::test(start_paused = true)]
async fn events_before_the_answer_to_a_prompt_do_not_block_the_reader() {
    let (client, mut peer, _) = pair(pi::Client::builder().queue_bytes(1000));
    let started = tokio::spawn({
        let client = client.clone();
        async move { client.prompt("hello").await }
    });
    let id = peer.receive_command("prompt").await;
    for n in 0..20 {
        peer.send(&update(n)).await;
    }
    peer.send(&success(&id, "prompt", "")).await;
    let mut run = within("the run", started).await.unwrap().unwrap();
    for n in 0..20 {
        let event = within("an event", run.next_raw()).await.unwrap();
        assert_eq!(event.frame().as_str(), update(n));
    }
    // From now on the events are read, and the limit of the queue applies.
    for n in 0..20 {
        peer.send(&update(n)).await;
    }
    let impatient = client.with_timeout(Duration::from_millis(100));
    let error = within("the stall", impatient.get_state()).await.unwrap_err();
    assert!(matches!(error, Error::Stalled { .. }), "{error}");
}

/// If the response to a prompt is very late, the run is detached. Memory does not grow without limit.
#[tokio::test]
async fn a_prompt_that_is_answered_very_late_leaves_a_run_that_was_cut_off() {
    let (client, mut peer, _) = pair(pi::Client::builder().queue_bytes(1000));
    let started = tokio::spawn({
        let client = client.clone();
        async move { client.prompt("hello").await }
    });
    let id = peer.receive_command("prompt").await;
    let long = format!(r#"{{"type":"message_update","message":{{}},"pad":"{}"}}"#, "x".repeat(1 << 20));
    for _ in 0..20 {
        peer.send(&long).await;
    }
    peer.send(&success(&id, "prompt", "")).await;
    let mut run = within("the run", started).await.unwrap().unwrap();
    let mut got = 0;
    while within("an event", run.next_raw()).await.is_some() {
        got += 1;
    }
    let error = within("the end", run.result()).await.unwrap_err();
    assert!(matches!(error, Error::Detached { dropped: 5 }) && got == 15, "{error} after {got}");
}

/// Without a subscriber, events are dropped and counted, and responses arrive.
#[tokio::test]
async fn events_without_a_listener_are_dropped_and_counted() {
    let (client, mut peer, _) = pair(pi::Client::builder().queue_bytes(1000));
    for n in 0..500 {
        peer.send(&update(n)).await;
    }
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.get_state().await }
    });
    peer.answer("get_state", &state(false)).await;
    within("the call", call).await.unwrap().unwrap();
    assert_eq!(client.dropped_events(), 500);
}

/// A command is not sent while earlier lines wait for an agent that does not read. The error names this cause,
/// and not a slow subscriber.
#[tokio::test]
async fn a_command_that_the_agent_does_not_read_is_not_sent() {
    let (client, _peer, _) = pair(pi::Client::builder().queue_bytes(1000));
    client.send_raw(&"x".repeat(1 << 20)).unwrap();
    let error = within("the refusal", client.prompt("hello")).await.unwrap_err();
    assert!(matches!(error, Error::NotSent { waiting, .. } if waiting > 1 << 20), "{error}");
    assert!(error.is_retryable() && error.to_string().contains("does not read its stdin"), "{error}");
    assert!(!error.to_string().contains("subscriber"), "{error}");
}

/// `Coalesce`: of several queued updates, only the newest one remains. Other events are never merged.
#[tokio::test]
async fn updates_are_merged_by_the_coalesce_policy() {
    let (client, mut peer, _) = pair(pi::Client::builder().queue_bytes(1000).overflow(Overflow::Coalesce));
    let mut events = client.events().unwrap();
    for n in 0..50 {
        peer.send(&update(n)).await;
    }
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.get_state().await }
    });
    peer.answer("get_state", &state(false)).await;
    within("the call", call).await.unwrap().unwrap();
    peer.send(r#"{"type":"agent_start"}"#).await;
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

/// `Detach`: a subscriber that does not read is detached and notified; the others continue.
#[tokio::test]
async fn a_subscriber_is_detached_by_the_detach_policy() {
    let (client, mut peer, _) =
        pair::<Pi>(pi::Client::builder().queue_bytes(1000).overflow(Overflow::Detach));
    let mut lazy = client.events().unwrap();
    for n in 0..50 {
        peer.send(&update(n)).await;
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

/// Counts the wake-ups of a subscriber.
#[derive(Default)]
struct WakeCounter(AtomicUsize);

impl Wake for WakeCounter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// All events of one read wake a subscriber once, and are then available.
#[tokio::test]
async fn a_subscriber_is_woken_once_for_what_one_read_brought() {
    const COUNT: usize = 100;
    let (client, mut peer, _) = pair(pi::Client::builder());
    let mut events = client.events().unwrap();
    let woken = Arc::<WakeCounter>::default();
    let waker = Waker::from(woken.clone());
    assert!(std::pin::pin!(events.next_raw()).poll(&mut Context::from_waker(&waker)).is_pending());
    let burst: String = (0..COUNT).map(|n| update(n) + "\n").collect();
    // Less than the capacity of the pair, so that one read returns the whole burst.
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

/// Events that precede a response in the same read are available before it.
#[tokio::test]
async fn events_are_delivered_before_the_answer_that_follows_them() {
    let (client, mut peer, _) = pair(pi::Client::builder());
    let mut events = client.events().unwrap();
    let woken = Arc::<WakeCounter>::default();
    let waker = Waker::from(woken.clone());
    assert!(std::pin::pin!(events.next_raw()).poll(&mut Context::from_waker(&waker)).is_pending());
    let told = woken.clone();
    let call = tokio::spawn(async move {
        client.get_state().await.unwrap();
        told.0.load(Ordering::SeqCst)
    });
    let id = peer.receive_command("get_state").await;
    let burst = format!("{}\n{}\n{}\n", update(1), update(2), success(&id, "get_state", &state(false)));
    peer.writer.write_all(burst.as_bytes()).await.unwrap();
    assert_eq!(within("the answer", call).await.unwrap(), 1);
    for n in 1..3 {
        let event = events.next_raw().now_or_never().expect("it is there").unwrap().unwrap();
        assert_eq!(event.frame().as_str(), update(n));
    }
}

/// A subscriber that does not read stops the reader, but the other subscribers still receive the current event.
#[tokio::test]
async fn other_subscribers_get_the_event_that_does_not_fit_one_queue() {
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
    // Three events fit into the lazy subscriber's queue; all arrive in one read.
    let burst: String = (0..4).map(|n| update(n) + "\n").collect();
    peer.writer.write_all(burst.as_bytes()).await.unwrap();
    assert_eq!(within("four events", reading).await.unwrap(), 4);
    for n in 0..4 {
        let event = within("an event", lazy.next_raw()).await.unwrap().unwrap();
        assert_eq!(event.frame().as_str(), update(n));
    }
}

/// Events that arrived together with the end of the agent are delivered before this end.
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

/// Number of events in the back-pressure tests. It is many times the number that the reader reads ahead.
const MANY: usize = 10_000;

fn many() -> String {
    (0..MANY).map(|n| update(n) + "\n").collect()
}

/// If a subscriber reads, the reader stays only slightly ahead of it. The clock stands still while a task
/// works, so no time limit ends the wait.
#[tokio::test(start_paused = true)]
async fn the_reader_keeps_pace_with_an_active_listener() {
    let (client, mut peer, _) = pair(pi::Client::builder());
    let mut events = client.events().unwrap();
    let sent = Arc::<AtomicUsize>::default();
    let writing = tokio::spawn({
        let sent = sent.clone();
        async move {
            for n in 0..MANY {
                peer.send(&update(n)).await;
                sent.store(n + 1, Ordering::SeqCst);
            }
            peer
        }
    });
    let mut furthest = 0;
    for n in 0..MANY {
        let event = within("an event", events.next_raw()).await.unwrap().unwrap();
        assert_eq!(event.frame().as_str(), update(n));
        furthest = furthest.max(sent.load(Ordering::SeqCst) - n.min(sent.load(Ordering::SeqCst)));
        tokio::task::yield_now().await;
    }
    within("the end of writing", writing).await.unwrap();
    // The capacity of the queue, and two full buffers in transit.
    assert!(furthest > 1024 && furthest < 2048 + 2 * 300, "{furthest} events ahead");
}

/// A slow or inactive subscriber delays the events after its unread ones by ten milliseconds in total, and not
/// once per read.
#[tokio::test(start_paused = true)]
async fn the_reader_continues_without_a_slow_listener() {
    let (client, mut peer, _) = pair(pi::Client::builder());
    let mut events = client.events().unwrap();
    let _lazy = client.events().unwrap();
    let taken = Arc::<AtomicUsize>::default();
    let reading = tokio::spawn({
        let taken = taken.clone();
        async move {
            while let Some(Ok(_)) = events.next_raw().await {
                taken.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    });
    within("the client to read", peer.writer.write_all(many().as_bytes())).await.unwrap();
    let call = tokio::spawn(async move { client.get_state().await });
    peer.answer("get_state", &state(false)).await;
    within("the answer", call).await.unwrap().unwrap();
    let taken = taken.load(Ordering::SeqCst);
    assert!(taken < 20, "the answer waited for {taken} events");
    reading.abort();
}

/// The reader does not wait if a call is pending, or with an overflow policy other than `Block`.
#[tokio::test(start_paused = true)]
async fn the_reader_does_not_wait_for_listeners_while_a_call_is_pending() {
    for (overflow, asks_first) in
        [(Overflow::Block, true), (Overflow::Coalesce, false), (Overflow::Detach, false)]
    {
        let (client, mut peer, _) = pair(pi::Client::builder().overflow(overflow));
        let _lazy = client.events().unwrap();
        let began = tokio::time::Instant::now();
        let ask = || {
            let client = client.clone();
            tokio::spawn(async move { client.get_state().await })
        };
        let early = if asks_first { Some(ask()) } else { None };
        let early_id = if asks_first { Some(peer.receive_command("get_state").await) } else { None };
        within("the client to read", peer.writer.write_all(many().as_bytes())).await.unwrap();
        let (call, id) = match (early, early_id) {
            (Some(call), Some(id)) => (call, id),
            _ => (ask(), peer.receive_command("get_state").await),
        };
        peer.send(&success(&id, "get_state", &state(false))).await;
        within("the answer", call).await.unwrap().unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO, "{overflow:?}");
    }
}
