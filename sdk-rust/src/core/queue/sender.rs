//! The queue's writing end.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::task::Waker;

use super::{End, Item, Key, Overflow, Pushed, Shared};

/// The queue's writing end. Clones share the queue.
pub struct Sender<T, R> {
    pub(super) shared: Arc<Shared<T, R>>,
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

    /// Queues items, the first ones first, as long as there is room for them and `size` gives their sizes, and takes those from
    /// `items`. Queues none where [`try_push`](Self::try_push) would drop it. The subscriber is not told, as by
    /// [`try_push_quietly`](Self::try_push_quietly).
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

impl<T, R> std::fmt::Debug for Sender<T, R> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.shared.state();
        out.debug_struct("Sender")
            .field("queued_bytes", &state.bytes)
            .field("dropped", &state.dropped)
            .finish_non_exhaustive()
    }
}
