//! The queue's reading end.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::{End, QueueEnd, Shared};

/// The queue's reading end: one subscriber. Dropping it frees the queued items.
pub struct Receiver<T, R> {
    pub(super) shared: Arc<Shared<T, R>>,
}

impl<T, R: Clone> Receiver<T, R> {
    /// Returns the next item. Fails if the queue is empty and has ended; every further call then fails in the
    /// same way. Dropping the future loses nothing.
    pub async fn recv(&mut self) -> Result<T, QueueEnd<R>> {
        poll_fn(|context| self.poll_recv(context)).await
    }

    /// Waits for at least one item, appends all queued items to `out` and returns their number. Fails like
    /// [`recv`](Self::recv).
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

    /// Passes queued items to `take` and returns their number. Stops after `most` items, or after the item with
    /// which `bytes` bytes are reached. Waits for at least one item. Fails like [`recv`](Self::recv). `take`
    /// must not use the queue.
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

    /// Returns the next item without waiting, or `None` if the queue is empty. Fails like
    /// [`recv`](Self::recv).
    pub fn try_recv(&mut self) -> Result<Option<T>, QueueEnd<R>> {
        match self.poll_recv(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(item)) => Ok(Some(item)),
            Poll::Ready(Err(ended)) => Err(ended),
            Poll::Pending => Ok(None),
        }
    }

    /// Works like [`recv`](Self::recv), for hand-written futures and streams.
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
    /// Returns the number of queued bytes.
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

impl<T, R> std::fmt::Debug for Receiver<T, R> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Receiver").field("queued_bytes", &self.queued_bytes()).finish_non_exhaustive()
    }
}
