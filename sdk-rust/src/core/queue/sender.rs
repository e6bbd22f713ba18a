//! The queue's writing end.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::task::Waker;

use super::{CoalesceKey, End, Item, Overflow, PushResult, Shared};

/// The queue's writing end. Clones share the queue.
pub struct Sender<T, R> {
    pub(super) shared: Arc<Shared<T, R>>,
}

impl<T, R> Sender<T, R> {
    /// Queues an item of `size` bytes. Waits for room if the policy requires it.
    ///
    /// Never fails: the result states whether the item was queued, replaced another or was dropped. Dropping
    /// the future before the item is queued drops the item.
    pub async fn push(&self, item: T, size: usize, key: Option<CoalesceKey>) -> PushResult {
        let mut item = item;
        loop {
            match self.try_push(item, size, key) {
                Ok(outcome) => return outcome,
                Err(back) => item = back,
            }
            self.room_for(size).await;
        }
    }

    /// Queues an item of `size` bytes even beyond the limit, for senders that cannot wait. If the total would
    /// exceed `most` bytes, the item is dropped and the queue ends as with [`Overflow::Detach`]. A closed or
    /// detached queue drops the item.
    pub fn push_beyond(&self, value: T, size: usize, key: Option<CoalesceKey>, most: usize) -> PushResult {
        let value = match self.try_push(value, size, key) {
            Ok(pushed) => return pushed,
            Err(value) => value,
        };
        let (pushed, waiting) = {
            let mut state = self.shared.state();
            if !state.subscribed {
                return state.count_dropped(PushResult::NoSubscriber);
            }
            if state.end.is_some() {
                return state.count_dropped(PushResult::Closed);
            }
            if state.has_room(most, size) {
                state.items.push_back(Item { value, size, key });
                state.bytes += size;
                (PushResult::Queued, state.waiting.take())
            } else {
                (state.count_dropped(PushResult::Detached), state.end(End::Detached))
            }
        };
        if let Some(waker) = waiting {
            waker.wake();
        }
        pushed
    }

    /// Queues an item of `size` bytes without waiting. Returns the item as the error if the policy requires to
    /// wait for room.
    pub fn try_push(&self, value: T, size: usize, key: Option<CoalesceKey>) -> Result<PushResult, T> {
        let pushed = self.try_push_quietly(value, size, key);
        self.wake();
        pushed
    }

    /// Works like [`try_push`](Self::try_push), but does not wake the subscriber. The subscriber is woken by
    /// [`wake`](Self::wake) or at the end of the queue. This is faster for callers that queue many items at
    /// once.
    pub fn try_push_quietly(&self, value: T, size: usize, key: Option<CoalesceKey>) -> Result<PushResult, T> {
        let shared = &*self.shared;
        // The replaced item is dropped after the lock is released.
        let (outcome, waiting, _replaced);
        {
            let mut state = shared.state();
            if !state.subscribed {
                return Ok(state.count_dropped(PushResult::NoSubscriber));
            }
            match state.end {
                None => {}
                Some(End::Detached) => return Ok(state.count_dropped(PushResult::Detached)),
                Some(_) => return Ok(state.count_dropped(PushResult::Closed)),
            }
            if state.has_room(shared.cap_bytes, size) {
                state.items.push_back(Item { value, size, key });
                state.bytes += size;
                (outcome, waiting, _replaced) = (PushResult::Queued, None, None);
            } else {
                match shared.overflow {
                    Overflow::Block => return Err(value),
                    Overflow::Coalesce => {
                        let Some(item) = state.replaceable(key) else { return Err(value) };
                        let old = std::mem::replace(item, Item { value, size, key });
                        state.bytes = state.bytes - old.size + size;
                        (outcome, waiting, _replaced) = (PushResult::Coalesced, None, Some(old));
                    }
                    Overflow::Detach => {
                        outcome = state.count_dropped(PushResult::Detached);
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

    /// Moves items from the front of `items` into the queue. Stops when there is no room, or when `size`
    /// returns `None`. Moves no item if the queue has ended or has no subscriber. Does not wake the subscriber,
    /// as with [`try_push_quietly`](Self::try_push_quietly).
    pub fn push_while_room(&self, items: &mut VecDeque<T>, size: impl Fn(&T) -> Option<usize>) {
        let mut state = self.shared.state();
        if !state.subscribed || state.end.is_some() {
            return;
        }
        while let Some(size) = items.front().and_then(&size)
            && state.has_room(self.shared.cap_bytes, size)
            && let Some(value) = items.pop_front()
        {
            state.items.push_back(Item { value, size, key: None });
            state.bytes += size;
        }
    }

    /// Wakes the subscriber if it waits and there is something to receive.
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// Returns the waker of the subscriber if it waits and there is something to receive. The caller must wake
    /// it soon, and not under a lock.
    pub fn take_waker(&self) -> Option<Waker> {
        let mut state = self.shared.state();
        if state.items.is_empty() && state.end.is_none() { None } else { state.waiting.take() }
    }

    /// Waits until a push of `size` bytes would not wait. Then there is room, or the push would drop the item.
    pub async fn room_for(&self, size: usize) {
        loop {
            let mut notified = pin!(self.shared.room.notified());
            // The notification is enabled before the check, so that no wake-up is lost between them.
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

    /// Waits until at most `items` items with at most `bytes` bytes in total are queued, or the subscriber
    /// was dropped.
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

    /// Ends the queue with a reason. Queued items can still be received. Only the first end takes effect.
    pub fn close(&self, reason: R) {
        let waiting = self.shared.state().end(End::Closed(reason));
        self.shared.room.notify_waiters();
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    /// Returns the number of dropped items. An item is dropped if the queue has ended, or if the subscriber was
    /// dropped.
    pub fn dropped(&self) -> u64 {
        self.shared.state().dropped
    }

    /// Returns the number of queued bytes.
    pub fn queued_bytes(&self) -> usize {
        self.shared.state().bytes
    }

    /// Returns the number of queued items and of queued bytes.
    pub fn queued(&self) -> (usize, usize) {
        let state = self.shared.state();
        (state.items.len(), state.bytes)
    }

    /// Returns `true` while the receiver exists.
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

impl<T, R> std::fmt::Debug for Sender<T, R> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.shared.state();
        out.debug_struct("Sender")
            .field("queued_bytes", &state.bytes)
            .field("dropped", &state.dropped)
            .finish_non_exhaustive()
    }
}
