use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use super::*;

const UPDATE: Option<CoalesceKey> = Some(CoalesceKey(1));

fn queue(
    cap: usize,
    overflow: Overflow,
) -> (Sender<&'static str, &'static str>, Receiver<&'static str, &'static str>) {
    channel(cap, overflow)
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn drain(receiver: &mut Receiver<&'static str, &'static str>) -> Vec<&'static str> {
    let mut items = Vec::new();
    while let Ok(Some(item)) = receiver.try_recv() {
        items.push(item);
    }
    items
}

#[test]
fn block_waits_until_there_is_room() {
    let (sender, mut receiver) = queue(10, Overflow::Block);
    assert_eq!(sender.try_push("a", 6, None), Ok(PushResult::Queued));
    let mut push = pin!(sender.push("b", 6, None));
    assert_eq!(poll(push.as_mut()), Poll::Pending);
    assert_eq!(receiver.try_recv(), Ok(Some("a")));
    assert_eq!(poll(push.as_mut()), Poll::Ready(PushResult::Queued));
    assert_eq!(sender.queued_bytes(), 6);
    assert_eq!(drain(&mut receiver), ["b"]);
}

#[test]
fn an_item_larger_than_the_cap_is_taken_alone() {
    let (sender, mut receiver) = queue(10, Overflow::Block);
    assert_eq!(sender.try_push("large", 1000, None), Ok(PushResult::Queued));
    assert_eq!(sender.try_push("small", 1, None), Err("small"));
    assert_eq!(drain(&mut receiver), ["large"]);
    assert_eq!(sender.try_push("small", 1, None), Ok(PushResult::Queued));
}

#[test]
fn coalesce_replaces_the_newest_of_the_same_key() {
    let (sender, mut receiver) = queue(10, Overflow::Coalesce);
    for item in ["u1", "u2"] {
        assert_eq!(sender.try_push(item, 5, UPDATE), Ok(PushResult::Queued));
    }
    assert_eq!(sender.try_push("u3", 7, UPDATE), Ok(PushResult::Coalesced));
    assert_eq!(sender.try_push("other key", 5, Some(CoalesceKey(2))), Err("other key"));
    assert_eq!(sender.queued_bytes(), 12);
    assert_eq!(drain(&mut receiver), ["u1", "u3"]);
    assert_eq!(sender.queued_bytes(), 0);
}

#[test]
fn coalesce_never_moves_an_item_across_one_without_a_key() {
    let (sender, mut receiver) = queue(10, Overflow::Coalesce);
    sender.try_push("update", 5, UPDATE).unwrap();
    sender.try_push("end", 5, None).unwrap();
    assert_eq!(sender.try_push("next", 5, UPDATE), Err("next"));
    assert_eq!(drain(&mut receiver), ["update", "end"]);
}

#[test]
fn detach_drains_and_then_reports_the_loss() {
    let (sender, mut receiver) = queue(10, Overflow::Detach);
    assert_eq!(sender.try_push("a", 10, None), Ok(PushResult::Queued));
    assert_eq!(sender.try_push("b", 1, None), Ok(PushResult::Detached));
    assert_eq!(receiver.try_recv(), Ok(Some("a")));
    assert_eq!(sender.try_push("c", 1, None), Ok(PushResult::Detached));
    sender.close("too late");
    assert_eq!(receiver.try_recv(), Err(QueueEnd::Detached { dropped: 2 }));
    assert_eq!(sender.dropped(), 2);
}

#[test]
fn without_a_subscriber_items_are_dropped_and_counted() {
    let (sender, receiver) = queue(10, Overflow::Block);
    sender.try_push("a", 10, None).unwrap();
    let mut push = pin!(sender.push("b", 10, None));
    assert_eq!(poll(push.as_mut()), Poll::Pending);
    drop(receiver);
    assert_eq!(poll(push.as_mut()), Poll::Ready(PushResult::NoSubscriber));
    assert_eq!(sender.try_push("c", 1, None), Ok(PushResult::NoSubscriber));
    assert!(!sender.has_subscriber());
    assert_eq!(sender.dropped(), 2);
}

#[test]
fn the_reason_comes_after_the_last_item_and_stays() {
    let (sender, mut receiver) = queue(10, Overflow::Block);
    sender.try_push("a", 1, None).unwrap();
    sender.close("done");
    sender.close("second");
    assert_eq!(sender.try_push("late", 1, None), Ok(PushResult::Closed));
    assert_eq!(receiver.try_recv(), Ok(Some("a")));
    assert_eq!(receiver.try_recv(), Err(QueueEnd::Closed("done")));
    assert_eq!(receiver.try_recv(), Err(QueueEnd::Closed("done")));
}

#[test]
fn the_last_sender_takes_the_queue_with_it() {
    let (sender, mut receiver) = queue(10, Overflow::Block);
    let second = sender.clone();
    drop(sender);
    let mut recv = pin!(receiver.recv());
    assert_eq!(poll(recv.as_mut()), Poll::Pending);
    drop(second);
    assert_eq!(poll(recv.as_mut()), Poll::Ready(Err(QueueEnd::Abandoned)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_arrives_in_order_through_a_narrow_queue() {
    const COUNT: u32 = 20_000;
    let (sender, mut receiver) = channel::<u32, ()>(64, Overflow::Block);
    let pushing = tokio::spawn(async move {
        for number in 0..COUNT {
            assert_eq!(sender.push(number, 7, None).await, PushResult::Queued);
        }
        sender.close(());
    });
    let mut seen = Vec::new();
    let reading = async {
        loop {
            // Single and batched reads wake the sender in different ways.
            match receiver.recv().await {
                Ok(number) => seen.push(number),
                Err(ended) => break assert_eq!(ended, QueueEnd::Closed(())),
            }
            if receiver.recv_batch(&mut seen).await.is_err() {
                break;
            }
            assert!(receiver.queued_bytes() <= 64);
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), reading).await.expect("the queue stalled");
    pushing.await.unwrap();
    assert!(seen.iter().copied().eq(0..COUNT));
}

/// Counts wake-ups.
#[derive(Default)]
struct WakeCounter(std::sync::atomic::AtomicUsize);

impl std::task::Wake for WakeCounter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
}

impl WakeCounter {
    fn times(&self) -> usize {
        self.0.load(std::sync::atomic::Ordering::SeqCst)
    }
}

#[test]
fn a_quiet_push_wakes_no_receiver_until_wake() {
    let (sender, mut receiver) = queue(10, Overflow::Block);
    let woken = Arc::<WakeCounter>::default();
    let waker = Waker::from(woken.clone());
    let mut context = Context::from_waker(&waker);
    assert!(receiver.poll_recv(&mut context).is_pending());
    sender.wake();
    assert_eq!(woken.times(), 0, "the queue is empty");
    assert_eq!(sender.try_push_quietly("a", 1, None), Ok(PushResult::Queued));
    assert_eq!(sender.try_push_quietly("b", 1, None), Ok(PushResult::Queued));
    assert_eq!(woken.times(), 0);
    sender.wake();
    sender.wake();
    assert_eq!(woken.times(), 1);
    assert_eq!(drain(&mut receiver), ["a", "b"]);
}

#[test]
fn a_quiet_push_is_announced_by_a_loud_one_and_by_the_end() {
    for loud in [true, false] {
        let (sender, mut receiver) = queue(10, Overflow::Block);
        let woken = Arc::<WakeCounter>::default();
        let waker = Waker::from(woken.clone());
        assert!(receiver.poll_recv(&mut Context::from_waker(&waker)).is_pending());
        sender.try_push_quietly("a", 1, None).unwrap();
        if loud {
            sender.try_push("b", 1, None).unwrap();
        } else {
            sender.close("done");
        }
        assert_eq!(woken.times(), 1);
        assert_eq!(receiver.try_recv(), Ok(Some("a")));
    }
}

#[test]
fn a_quiet_push_that_cuts_the_subscriber_off_wakes_it() {
    let (sender, mut receiver) = queue(1, Overflow::Detach);
    let woken = Arc::<WakeCounter>::default();
    let waker = Waker::from(woken.clone());
    assert!(receiver.poll_recv(&mut Context::from_waker(&waker)).is_pending());
    sender.try_push_quietly("a", 1, None).unwrap();
    assert_eq!(sender.try_push_quietly("b", 1, None), Ok(PushResult::Detached));
    assert_eq!(woken.times(), 1);
}

#[test]
fn many_are_pushed_while_there_is_room_and_one_has_a_size() {
    let size = |item: &&str| (*item != "stop").then_some(item.len());
    let (sender, mut receiver) = queue(3, Overflow::Detach);
    let woken = Arc::<WakeCounter>::default();
    let waker = Waker::from(woken.clone());
    assert!(receiver.poll_recv(&mut Context::from_waker(&waker)).is_pending());
    let mut items = VecDeque::from(["a", "stop", "b", "c", "dd"]);
    sender.push_while_room(&mut items, size);
    assert_eq!(items, ["stop", "b", "c", "dd"]);
    items.pop_front();
    sender.push_while_room(&mut items, size);
    assert_eq!((items.len(), woken.times(), sender.queued()), (1, 0, (3, 3)), "items without room stay");
    sender.wake();
    assert_eq!(woken.times(), 1);
    assert_eq!(drain(&mut receiver), ["a", "b", "c"]);
    drop(receiver);
    sender.push_while_room(&mut items, size);
    assert_eq!(items, ["dd"], "the receiver is gone");
}

#[test]
fn drained_to_waits_for_the_receiver_to_take_enough() {
    let (sender, mut receiver) = queue(100, Overflow::Block);
    for item in ["a", "b", "c"] {
        sender.try_push(item, 10, None).unwrap();
    }
    assert_eq!(sender.queued(), (3, 30));
    let mut few = pin!(sender.drained_to(1, 100));
    let mut small = pin!(sender.drained_to(100, 20));
    assert_eq!((poll(few.as_mut()), poll(small.as_mut())), (Poll::Pending, Poll::Pending));
    receiver.try_recv().unwrap();
    assert_eq!((poll(few.as_mut()), poll(small.as_mut())), (Poll::Pending, Poll::Ready(())));
    receiver.try_recv().unwrap();
    assert_eq!(poll(few.as_mut()), Poll::Ready(()));
    sender.try_push("d", 10, None).unwrap();
    let mut gone = pin!(sender.drained_to(0, 0));
    assert_eq!(poll(gone.as_mut()), Poll::Pending);
    drop(receiver);
    assert_eq!(poll(gone.as_mut()), Poll::Ready(()));
}
