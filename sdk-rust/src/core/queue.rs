//! The queue between the reader and one subscriber, bounded in bytes.
//!
//! The sender gives the size of each item, so the limit applies to bytes, not to the number of items. The
//! [`Overflow`] policy applies if there is no room. The end of the queue carries a reason, which the
//! subscriber receives after the last item.
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

mod receiver;
mod sender;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tokio::sync::Notify;

pub use receiver::Receiver;
pub use sender::Sender;

/// The default limit of a queue, in bytes: 64 MiB.
pub const DEFAULT_CAP: usize = 64 * 1024 * 1024;

/// Policy for an item if the queue has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overflow {
    /// The sender waits for room. The reader of the connection then stops, and memory stays constant.
    #[default]
    Block,
    /// An item with a key replaces the newest queued item with the same key; other items wait.
    ///
    /// Items are replaced only among those after the newest item without a key. The last update of a message
    /// therefore never follows the end of the message.
    Coalesce,
    /// The queue accepts no further item. The subscriber drains it and then receives [`QueueEnd::Detached`].
    Detach,
}

/// Identifies items that may replace each other. If two keys are equal, the newer item makes the older item
/// redundant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CoalesceKey(pub u64);

/// Outcome of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushResult {
    /// The item is in the queue.
    Queued,
    /// The item is in the queue and replaces an older item.
    Coalesced,
    /// The item was dropped and counted: the subscriber was dropped.
    NoSubscriber,
    /// The item was dropped and counted: the queue was full before and accepts no further item.
    Detached,
    /// The item was dropped and counted: the queue is closed.
    Closed,
}

/// Reason for the end of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueEnd<R> {
    /// The sender closed the queue for this reason.
    Closed(R),
    /// Every sender was dropped without a reason.
    Abandoned,
    /// The queue was full under [`Overflow::Detach`].
    Detached {
        /// Number of dropped items, including the first item without room.
        dropped: u64,
    },
}

/// Creates a queue with a limit of `cap_bytes` bytes.
///
/// An empty queue accepts an item larger than the limit, because waiting for room would never end.
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
    /// Notified when a waiting sender must check for room again.
    room: Notify,
    state: Mutex<State<T, R>>,
}

struct State<T, R> {
    items: VecDeque<Item<T>>,
    /// The sum of the sizes of the items.
    bytes: usize,
    end: Option<End<R>>,
    subscribed: bool,
    dropped: u64,
    senders: usize,
    /// The waker of a waiting receiver.
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
    key: Option<CoalesceKey>,
}

impl<T, R> Shared<T, R> {
    /// Locks the state. The lock is held only while values are moved, so the state is valid even if the lock is
    /// poisoned.
    fn state(&self) -> MutexGuard<'_, State<T, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T, R> State<T, R> {
    fn has_room(&self, cap: usize, size: usize) -> bool {
        self.items.is_empty() || self.bytes.saturating_add(size) <= cap
    }

    fn count_dropped(&mut self, outcome: PushResult) -> PushResult {
        self.dropped += 1;
        outcome
    }

    /// Returns the newest queued item that an item with this key may replace, or `None`.
    fn replaceable(&mut self, key: Option<CoalesceKey>) -> Option<&mut Item<T>> {
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

#[cfg(test)]
mod tests;
