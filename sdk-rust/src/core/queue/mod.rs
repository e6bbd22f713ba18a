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

mod receiver;
mod sender;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tokio::sync::Notify;

pub use receiver::Receiver;
pub use sender::Sender;

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

#[cfg(test)]
mod tests;
