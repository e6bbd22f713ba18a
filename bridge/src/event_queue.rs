//! Queue of remote events for the engine. Senders never wait. Waiting events are merged, so that the queue of
//! a slow client does not exceed the length of the conversation.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentese_server_engine::engine::RemoteEvent;
use agentese_server_models::StreamEvent;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::{Notify, oneshot};

/// An item that waits in the queue.
enum Item {
    Event(Box<RemoteEvent>),
    /// An event whose content must be queried first.
    Deferred(BoxFuture<'static, RemoteEvent>),
    /// A mark in the queue. Its sender is notified when all earlier events have been processed.
    Mark(oneshot::Sender<()>),
}

#[derive(Default)]
struct QueueInner {
    items: Mutex<VecDeque<Item>>,
    notify: Notify,
}

impl QueueInner {
    fn items(&self) -> MutexGuard<'_, VecDeque<Item>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sending end of the queue.
#[derive(Clone)]
pub(super) struct Sender(Arc<QueueInner>);

/// The receiving end of the queue. It returns the events in order.
pub(super) struct Receiver {
    inner: Arc<QueueInner>,
    deferred: Option<BoxFuture<'static, RemoteEvent>>,
}

/// Creates a queue, and returns its two ends.
pub(super) fn channel() -> (Sender, Receiver) {
    let inner = Arc::<QueueInner>::default();
    (Sender(inner.clone()), Receiver { inner, deferred: None })
}

impl Sender {
    /// Appends an event, or merges it into the last one if it continues that event.
    pub fn send(&self, event: RemoteEvent) {
        let mut items = self.0.items();
        if let Some(event) = merged(&mut items, event) {
            items.push_back(Item::Event(Box::new(event)));
        }
        drop(items);
        self.0.notify.notify_one();
    }

    /// Appends an event whose content is not known yet. Later events wait for it.
    pub fn send_deferred(&self, event: impl Future<Output = RemoteEvent> + Send + 'static) {
        self.0.items().push_back(Item::Deferred(event.boxed()));
        self.0.notify.notify_one();
    }

    /// Notifies `done` when all earlier events have been processed.
    pub fn mark(&self, done: oneshot::Sender<()>) {
        self.0.items().push_back(Item::Mark(done));
        self.0.notify.notify_one();
    }
}

impl Receiver {
    /// Returns the next event. If the returned future is dropped, no event is lost.
    pub async fn next(&mut self) -> RemoteEvent {
        loop {
            if let Some(asked) = &mut self.deferred {
                let event = asked.await;
                self.deferred = None;
                return event;
            }
            let item = self.inner.items().pop_front();
            match item {
                Some(Item::Event(event)) => return *event,
                Some(Item::Deferred(asked)) => self.deferred = Some(asked),
                Some(Item::Mark(done)) => drop(done.send(())),
                None => self.inner.notify.notified().await,
            }
        }
    }
}

/// Merges an event into the last waiting event if it continues that event. Otherwise returns the event.
fn merged(items: &mut VecDeque<Item>, mut event: RemoteEvent) -> Option<RemoteEvent> {
    if let Some((kind, more)) = piece(&mut event) {
        if let Some(Item::Event(last)) = items.back_mut()
            && let Some((known, text)) = piece(last)
            && known == kind
        {
            text.push_str(more);
            return None;
        }
        return Some(event);
    }
    let RemoteEvent::ToolUpdated(id, update) = event else { return Some(event) };
    // An update contains the complete output of its tool, so it replaces an earlier one. Updates of other
    // tools may be in between.
    for item in items.iter_mut().rev() {
        let Item::Event(last) = item else { break };
        let RemoteEvent::ToolUpdated(known, shown) = &mut **last else { break };
        if *known == id {
            *shown = update;
            return None;
        }
    }
    Some(RemoteEvent::ToolUpdated(id, update))
}

/// Returns the text that an event adds to a growing answer, with a number that identifies the kind of text.
/// Returns `None` for other events.
fn piece(event: &mut RemoteEvent) -> Option<(u8, &mut String)> {
    match event {
        RemoteEvent::AnswerUpdated(StreamEvent::TextDelta(text)) => Some((0, text)),
        RemoteEvent::AnswerUpdated(StreamEvent::ThinkingDelta(text)) => Some((1, text)),
        RemoteEvent::AnswerUpdated(StreamEvent::ToolCallDelta(text)) => Some((2, text)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use agentese_server_tools::{ToolContent, ToolUpdate};

    use super::*;

    fn text(text: &str) -> RemoteEvent {
        RemoteEvent::AnswerUpdated(StreamEvent::TextDelta(text.to_owned()))
    }

    fn showed(id: &str, text: String) -> RemoteEvent {
        let update = ToolUpdate { content: vec![ToolContent::Text(text)], details: None };
        RemoteEvent::ToolUpdated(id.to_owned(), update)
    }

    /// Returns the number of bytes of the waiting texts.
    fn bytes(sender: &Sender) -> usize {
        let of = |item: &mut Item| match item {
            Item::Event(event) => match (piece(event).map(|(_, text)| text.len()), &**event) {
                (Some(length), _) => length,
                (None, RemoteEvent::ToolUpdated(_, update)) => format!("{:?}", update.content).len(),
                _ => 0,
            },
            Item::Deferred(_) | Item::Mark(_) => 0,
        };
        sender.0.items().iter_mut().map(of).sum()
    }

    #[tokio::test]
    async fn waiting_events_use_no_more_memory_than_the_conversation() {
        let (sender, mut receiver) = channel();
        sender.send(RemoteEvent::RunStarted);
        for number in 0..10_000 {
            sender.send(text("0123456789"));
            if number % 100 == 0 {
                sender.send(RemoteEvent::AnswerUpdated(StreamEvent::TextEnd));
            }
        }
        assert_eq!(bytes(&sender), 100_000);
        for number in 0..10_000 {
            for tool in ["one", "two"] {
                sender.send(showed(tool, format!("{number} {}", "x".repeat(10_000))));
            }
        }
        assert!(bytes(&sender) < 121_000, "{}", bytes(&sender));
        let waiting = sender.0.items().len();
        assert!(waiting < 210, "{waiting}");
        assert_eq!(receiver.next().await, RemoteEvent::RunStarted);
        assert_eq!(receiver.next().await, text("0123456789"));
        assert_eq!(receiver.next().await, RemoteEvent::AnswerUpdated(StreamEvent::TextEnd));
        assert_eq!(receiver.next().await, text(&"0123456789".repeat(100)));
    }

    #[tokio::test]
    async fn a_deferred_event_keeps_its_place_and_senders_do_not_wait() {
        let (sender, mut receiver) = channel();
        let (known, asked) = oneshot::channel();
        sender.send(text("a"));
        sender.send_deferred(async move { asked.await.unwrap() });
        sender.send(text("b"));
        sender.send(text("c"));
        assert_eq!(receiver.next().await, text("a"));
        // A dropped future does not remove an event.
        assert!(receiver.next().now_or_never().is_none());
        known.send(RemoteEvent::Settled { aborted: false }).unwrap();
        assert_eq!(receiver.next().await, RemoteEvent::Settled { aborted: false });
        assert_eq!(receiver.next().await, text("bc"));
        assert!(receiver.next().now_or_never().is_none());
    }
}
