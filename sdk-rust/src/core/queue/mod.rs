//! The queue between the reader and one subscriber, bounded in bytes.
//!
//! Items are counted by the size that the sender gives, so that a thousand small events and one large snapshot
//! weigh what they weigh. What happens when there is no room is the [`Overflow`] policy. The end of the queue
//! carries a reason, which the subscriber sees after the last item.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use agentese::queue::{QueueEnd, Overflow, channel};
//!
//! let (sender, mut receiver) = channel::<&str, &str>(1024, Overflow::Block);
//! sender.push("event", 5, None).await;
//! sender.close("agent_end");
//! assert_eq!(receiver.recv().await, Ok("event"));
//! assert_eq!(receiver.recv().await, Err(QueueEnd::Closed("agent_end")));
//! # });
//! ```

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;

/// How many bytes a queue holds where nothing else is asked for: 64 MiB.
pub const DEFAULT_CAP: usize = 64 * 1024 * 1024;

/// What happens to an item for which there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overflow {
    /// The sender waits until there is room: the reader stops, memory stays flat.
    #[default]
    Block,
    /// An item with a key takes the place of the newest queued one with the same key; others wait.
    ///
    /// Nothing is moved across an item without a key, so a message's last update never ends up behind its end.
    Coalesce,
    /// The queue takes nothing more; the subscriber drains it and then learns that it was detached.
    Detach,
}

/// Tells which items may take each other's place. Equal keys say: the newer one makes the older one pointless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(pub u64);

/// What became of a pushed item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// It is in the queue.
    Queued,
    /// It is in the queue, in the place of an older one.
    Coalesced,
    /// It was dropped and counted: the subscriber is gone.
    NoSubscriber,
    /// It was dropped and counted: the queue was full once and takes nothing more.
    Detached,
    /// It was dropped and counted: the queue has been closed.
    Closed,
}

/// Why there is nothing more to receive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueEnd<R> {
    /// The sender closed the queue for this reason.
    Closed(R),
    /// Every sender is gone and none gave a reason.
    Abandoned,
    /// The queue was full under [`Overflow::Detach`].
    Detached {
        /// How many items have been dropped since, the first that found no room included.
        dropped: u64,
    },
}

/// A queue that holds up to `cap_bytes` bytes.
///
/// An item larger than that is taken when the queue is empty: a queue never waits for what cannot come.
pub fn channel<T, R: Clone>(cap_bytes: usize, overflow: Overflow) -> (Sender<T, R>, Receiver<T, R>) {
    let shared = Arc::new(Shared {
        cap_bytes,
        overflow,
        room: Notify::new(),
        state: Mutex::new(State {
            items: VecDeque::new(),
            bytes: 0,
            end: None,
            subscribed: true,
            dropped: 0,
            senders: 1,
            waiting: None,
        }),
    });
    (Sender { shared: Arc::clone(&shared) }, Receiver { shared })
}

struct Shared<T, R> {
    cap_bytes: usize,
    overflow: Overflow,
    /// Woken whenever a waiting sender should look again.
    room: Notify,
    state: Mutex<State<T, R>>,
}

struct State<T, R> {
    items: VecDeque<Item<T>>,
    /// The sum of the items' sizes.
    bytes: usize,
    end: Option<End<R>>,
    subscribed: bool,
    dropped: u64,
    senders: usize,
    /// The receiver, when it waits.
    waiting: Option<Waker>,
}

enum End<R> {
    Closed(R),
    Abandoned,
    Detached,
}

struct Item<T> {
    value: T,
    size: usize,
    key: Option<Key>,
}

impl<T, R> Shared<T, R> {
    /// No user code runs under the lock except moves, so a poisoned lock still guards a sound state.
    fn state(&self) -> MutexGuard<'_, State<T, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T, R> State<T, R> {
    fn has_room(&self, cap: usize, size: usize) -> bool {
        self.items.is_empty() || self.bytes.saturating_add(size) <= cap
    }

    fn drop_one(&mut self, outcome: Pushed) -> Pushed {
        self.dropped += 1;
        outcome
    }

    /// The newest queued item that may be replaced by one with this key.
    fn replaceable(&mut self, key: Option<Key>) -> Option<&mut Item<T>> {
        key?;
        self.items.iter_mut().rev().take_while(|item| item.key.is_some()).find(|item| item.key == key)
    }

    fn end(&mut self, end: End<R>) -> Option<Waker> {
        if self.end.is_none() {
            self.end = Some(end);
        }
        self.waiting.take()
    }
}

/// The queue's writing end. Clones share the queue.
pub struct Sender<T, R> {
    shared: Arc<Shared<T, R>>,
}

impl<T, R> Sender<T, R> {
    /// Queues an item of `size` bytes, waiting for room where the policy says so.
    ///
    /// Never fails; what became of the item is the result. Dropping the future drops an item that was not
    /// queued yet.
    pub async fn push(&self, item: T, size: usize, key: Option<Key>) -> Pushed {
        let mut item = item;
        loop {
            match self.try_push(item, size, key) {
                Ok(outcome) => return outcome,
                Err(back) => item = back,
            }
            self.room_for(size).await;
        }
    }

    /// Queues an item of `size` bytes although there is no room, as long as at most `most` bytes are queued with it: for
    /// items for which nobody can wait. One that goes beyond `most` ends the queue as [`Overflow::Detach`] does, and is dropped.
    /// A queue that was closed or cut off takes it no more than others.
    pub fn push_beyond(&self, value: T, size: usize, key: Option<Key>, most: usize) -> Pushed {
        let value = match self.try_push(value, size, key) {
            Ok(pushed) => return pushed,
            Err(value) => value,
        };
        let (pushed, waiting) = {
            let mut state = self.shared.state();
            if !state.subscribed {
                return state.drop_one(Pushed::NoSubscriber);
            }
            if state.end.is_some() {
                return state.drop_one(Pushed::Closed);
            }
            if state.has_room(most, size) {
                state.items.push_back(Item { value, size, key });
                state.bytes += size;
                (Pushed::Queued, state.waiting.take())
            } else {
                (state.drop_one(Pushed::Detached), state.end(End::Detached))
            }
        };
        if let Some(waker) = waiting {
            waker.wake();
        }
        pushed
    }

    /// Queues an item of `size` bytes, or gives it back where it would have to wait.
    pub fn try_push(&self, value: T, size: usize, key: Option<Key>) -> Result<Pushed, T> {
        let pushed = self.try_push_quietly(value, size, key);
        self.wake();
        pushed
    }

    /// Like [`try_push`](Self::try_push), but a subscriber that waits is not told of the item until
    /// [`wake`](Self::wake) is called, or the queue ends. For whoever queues many items at once.
    pub fn try_push_quietly(&self, value: T, size: usize, key: Option<Key>) -> Result<Pushed, T> {
        let shared = &*self.shared;
        // What is replaced is dropped after the lock is released.
        let (outcome, waiting, _replaced);
        {
            let mut state = shared.state();
            if !state.subscribed {
                return Ok(state.drop_one(Pushed::NoSubscriber));
            }
            match state.end {
                None => {}
                Some(End::Detached) => return Ok(state.drop_one(Pushed::Detached)),
                Some(_) => return Ok(state.drop_one(Pushed::Closed)),
            }
            if state.has_room(shared.cap_bytes, size) {
                state.items.push_back(Item { value, size, key });
                state.bytes += size;
                (outcome, waiting, _replaced) = (Pushed::Queued, None, None);
            } else {
                match shared.overflow {
                    Overflow::Block => return Err(value),
                    Overflow::Coalesce => {
                        let Some(item) = state.replaceable(key) else { return Err(value) };
                        let old = std::mem::replace(item, Item { value, size, key });
                        state.bytes = state.bytes - old.size + size;
                        (outcome, waiting, _replaced) = (Pushed::Coalesced, None, Some(old));
                    }
                    Overflow::Detach => {
                        outcome = state.drop_one(Pushed::Detached);
                        (waiting, _replaced) = (state.end(End::Detached), None);
                    }
                }
            }
        }
        if let Some(waker) = waiting {
            waker.wake();
        }
        Ok(outcome)
    }

    /// Wakes the subscriber, where it waits although there is something to receive.
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// What wakes the subscriber, where it waits although there is something to receive. The caller calls it:
    /// under no lock, and soon.
    pub fn take_waker(&self) -> Option<Waker> {
        let mut state = self.shared.state();
        if state.items.is_empty() && state.end.is_none() { None } else { state.waiting.take() }
    }

    /// Waits until an item of `size` bytes need not wait any more: there is room, or it would be dropped.
    pub async fn room_for(&self, size: usize) {
        loop {
            let mut notified = pin!(self.shared.room.notified());
            // Listening before looking, so that no wake-up falls between the two.
            notified.as_mut().enable();
            {
                let state = self.shared.state();
                let settled = !state.subscribed || state.end.is_some();
                if settled || state.has_room(self.shared.cap_bytes, size) {
                    return;
                }
            }
            notified.await;
        }
    }

    /// Waits until at most `items` items of `bytes` bytes together are queued, or the subscriber is gone.
    pub async fn drained_to(&self, items: usize, bytes: usize) {
        loop {
            let mut notified = pin!(self.shared.room.notified());
            // As in `room_for`.
            notified.as_mut().enable();
            {
                let state = self.shared.state();
                if !state.subscribed || (state.items.len() <= items && state.bytes <= bytes) {
                    return;
                }
            }
            notified.await;
        }
    }

    /// Ends the queue for a reason. What is queued can still be received; the first end counts.
    pub fn close(&self, reason: R) {
        let waiting = self.shared.state().end(End::Closed(reason));
        self.shared.room.notify_waiters();
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    /// How many items have been dropped: pushed after the subscriber had gone or the queue had ended.
    pub fn dropped(&self) -> u64 {
        self.shared.state().dropped
    }

    /// How many bytes are queued.
    pub fn queued_bytes(&self) -> usize {
        self.shared.state().bytes
    }

    /// How many items are queued, and how many bytes.
    pub fn queued(&self) -> (usize, usize) {
        let state = self.shared.state();
        (state.items.len(), state.bytes)
    }

    /// Whether the receiver still exists.
    pub fn has_subscriber(&self) -> bool {
        self.shared.state().subscribed
    }
}

impl<T, R> Clone for Sender<T, R> {
    fn clone(&self) -> Self {
        self.shared.state().senders += 1;
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T, R> Drop for Sender<T, R> {
    fn drop(&mut self) {
        let waiting = {
            let mut state = self.shared.state();
            state.senders -= 1;
            if state.senders == 0 { state.end(End::Abandoned) } else { None }
        };
        if let Some(waker) = waiting {
            waker.wake();
        }
    }
}

/// The queue's reading end: one subscriber. Dropping it frees what is queued.
pub struct Receiver<T, R> {
    shared: Arc<Shared<T, R>>,
}

impl<T, R: Clone> Receiver<T, R> {
    /// The next item; fails once the queue is drained and ended, again and again. Dropping the future loses
    /// nothing.
    pub async fn recv(&mut self) -> Result<T, QueueEnd<R>> {
        poll_fn(|context| self.poll_recv(context)).await
    }

    /// Appends everything queued to `out`, waiting for at least one item, and returns how many there were.
    /// Fails like [`recv`](Self::recv).
    pub async fn recv_batch(&mut self, out: &mut Vec<T>) -> Result<usize, QueueEnd<R>> {
        out.push(self.recv().await?);
        let rest = {
            let mut state = self.shared.state();
            state.bytes = 0;
            std::mem::take(&mut state.items)
        };
        self.shared.room.notify_waiters();
        let count = 1 + rest.len();
        out.extend(rest.into_iter().map(|item| item.value));
        Ok(count)
    }

    /// Hands queued items to `take` until `most` items or, with the item that reaches it, `bytes` bytes are
    /// taken, and returns how many. Waits for at least one item; fails like [`recv`](Self::recv). `take` must not use
    /// the queue.
    pub fn poll_recv_batch(
        &mut self,
        context: &mut Context<'_>,
        mut take: impl FnMut(T),
        most: usize,
        bytes: usize,
    ) -> Poll<Result<usize, QueueEnd<R>>> {
        match self.poll_recv(context) {
            Poll::Ready(Ok(item)) => take(item),
            Poll::Ready(Err(ended)) => return Poll::Ready(Err(ended)),
            Poll::Pending => return Poll::Pending,
        }
        let mut count = 1;
        {
            let mut state = self.shared.state();
            let mut taken = 0;
            while count < most && taken < bytes {
                let Some(item) = state.items.pop_front() else { break };
                state.bytes -= item.size;
                taken += item.size;
                count += 1;
                take(item.value);
            }
        }
        self.shared.room.notify_waiters();
        Poll::Ready(Ok(count))
    }

    /// The next item if there is one now. Fails like [`recv`](Self::recv).
    pub fn try_recv(&mut self) -> Result<Option<T>, QueueEnd<R>> {
        match self.poll_recv(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(item)) => Ok(Some(item)),
            Poll::Ready(Err(ended)) => Err(ended),
            Poll::Pending => Ok(None),
        }
    }

    /// [`recv`](Self::recv) for hand-written futures and streams.
    pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Result<T, QueueEnd<R>>> {
        let item = {
            let mut state = self.shared.state();
            match state.items.pop_front() {
                Some(item) => {
                    state.bytes -= item.size;
                    item
                }
                None => {
                    let ended = match &state.end {
                        Some(End::Closed(reason)) => QueueEnd::Closed(reason.clone()),
                        Some(End::Abandoned) => QueueEnd::Abandoned,
                        Some(End::Detached) => QueueEnd::Detached { dropped: state.dropped },
                        None => {
                            state.waiting = Some(context.waker().clone());
                            return Poll::Pending;
                        }
                    };
                    return Poll::Ready(Err(ended));
                }
            }
        };
        self.shared.room.notify_waiters();
        Poll::Ready(Ok(item.value))
    }
}

impl<T, R> Receiver<T, R> {
    /// How many bytes are queued.
    pub fn queued_bytes(&self) -> usize {
        self.shared.state().bytes
    }
}

impl<T, R> Drop for Receiver<T, R> {
    fn drop(&mut self) {
        // The items are dropped after the lock is released.
        let _items = {
            let mut state = self.shared.state();
            state.subscribed = false;
            state.bytes = 0;
            state.waiting = None;
            std::mem::take(&mut state.items)
        };
        self.shared.room.notify_waiters();
    }
}

impl<T, R> std::fmt::Debug for Sender<T, R> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.shared.state();
        out.debug_struct("Sender")
            .field("queued_bytes", &state.bytes)
            .field("dropped", &state.dropped)
            .finish_non_exhaustive()
    }
}

impl<T, R> std::fmt::Debug for Receiver<T, R> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Receiver").field("queued_bytes", &self.queued_bytes()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
