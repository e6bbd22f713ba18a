//! Deeds on their way to the engine. Senders never wait. Waiting deeds are merged, so the queue of a slow
//! client grows no longer than the conversation itself.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentese_server_engine::engine::Deed;
use agentese_server_models::StreamEvent;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::{Notify, oneshot};

/// A waiting item.
enum Item {
    Deed(Box<Deed>),
    /// A deed that needs a query.
    Asked(BoxFuture<'static, Deed>),
    /// A mark, notified when all earlier deeds have been processed.
    Mark(oneshot::Sender<()>),
}

#[derive(Default)]
struct Shared {
    items: Mutex<VecDeque<Item>>,
    bell: Notify,
}

impl Shared {
    fn items(&self) -> MutexGuard<'_, VecDeque<Item>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sending end of the queue.
#[derive(Clone)]
pub(super) struct Sender(Arc<Shared>);

/// The receiving end of the queue, in order.
pub(super) struct Receiver {
    shared: Arc<Shared>,
    asked: Option<BoxFuture<'static, Deed>>,
}

/// Creates a queue.
pub(super) fn queue() -> (Sender, Receiver) {
    let shared = Arc::<Shared>::default();
    (Sender(shared.clone()), Receiver { shared, asked: None })
}

impl Sender {
    /// Appends a deed, or merges it into the last one if it continues that deed.
    pub fn tell(&self, deed: Deed) {
        let mut items = self.0.items();
        if let Some(deed) = merged(&mut items, deed) {
            items.push_back(Item::Deed(Box::new(deed)));
        }
        drop(items);
        self.0.bell.notify_one();
    }

    /// Appends a deed that becomes known later; later deeds wait for it.
    pub fn ask(&self, deed: impl Future<Output = Deed> + Send + 'static) {
        self.0.items().push_back(Item::Asked(deed.boxed()));
        self.0.bell.notify_one();
    }

    /// Notifies `done` when all earlier deeds have been processed.
    pub fn mark(&self, done: oneshot::Sender<()>) {
        self.0.items().push_back(Item::Mark(done));
        self.0.bell.notify_one();
    }
}

impl Receiver {
    /// Returns the next deed. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Deed {
        loop {
            if let Some(asked) = &mut self.asked {
                let deed = asked.await;
                self.asked = None;
                return deed;
            }
            let item = self.shared.items().pop_front();
            match item {
                Some(Item::Deed(deed)) => return *deed,
                Some(Item::Asked(asked)) => self.asked = Some(asked),
                Some(Item::Mark(done)) => drop(done.send(())),
                None => self.shared.bell.notified().await,
            }
        }
    }
}

/// Merges a deed into a waiting one if it only continues that deed. Otherwise returns the deed.
fn merged(items: &mut VecDeque<Item>, mut deed: Deed) -> Option<Deed> {
    if let Some((kind, more)) = piece(&mut deed) {
        if let Some(Item::Deed(last)) = items.back_mut()
            && let Some((known, text)) = piece(last)
            && known == kind
        {
            text.push_str(more);
            return None;
        }
        return Some(deed);
    }
    let Deed::ToolShowed(id, update) = deed else { return Some(deed) };
    // The update replaces the earlier output of the tool; updates of other tools may be in between.
    for item in items.iter_mut().rev() {
        let Item::Deed(last) = item else { break };
        let Deed::ToolShowed(known, shown) = &mut **last else { break };
        if *known == id {
            *shown = update;
            return None;
        }
    }
    Some(Deed::ToolShowed(id, update))
}

/// Returns the addition to a growing answer, with a number for its kind.
fn piece(deed: &mut Deed) -> Option<(u8, &mut String)> {
    match deed {
        Deed::Grew(StreamEvent::TextDelta(text)) => Some((0, text)),
        Deed::Grew(StreamEvent::ThinkingDelta(text)) => Some((1, text)),
        Deed::Grew(StreamEvent::ToolCallDelta(text)) => Some((2, text)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use agentese_server_tools::{ToolContent, ToolUpdate};

    use super::*;

    fn text(text: &str) -> Deed {
        Deed::Grew(StreamEvent::TextDelta(text.to_owned()))
    }

    fn showed(id: &str, text: String) -> Deed {
        let update = ToolUpdate { content: vec![ToolContent::Text(text)], details: None };
        Deed::ToolShowed(id.to_owned(), update)
    }

    /// Returns the number of bytes of the waiting texts.
    fn bytes(sender: &Sender) -> usize {
        let of = |item: &mut Item| match item {
            Item::Deed(deed) => match (piece(deed).map(|(_, text)| text.len()), &**deed) {
                (Some(length), _) => length,
                (None, Deed::ToolShowed(_, update)) => format!("{:?}", update.content).len(),
                _ => 0,
            },
            Item::Asked(_) | Item::Mark(_) => 0,
        };
        sender.0.items().iter_mut().map(of).sum()
    }

    #[tokio::test]
    async fn what_waits_for_a_slow_client_takes_no_more_than_the_conversation() {
        let (sender, mut deeds) = queue();
        sender.tell(Deed::RunBegan);
        for number in 0..10_000 {
            sender.tell(text("0123456789"));
            if number % 100 == 0 {
                sender.tell(Deed::Grew(StreamEvent::TextEnd));
            }
        }
        assert_eq!(bytes(&sender), 100_000);
        for number in 0..10_000 {
            for tool in ["one", "two"] {
                sender.tell(showed(tool, format!("{number} {}", "x".repeat(10_000))));
            }
        }
        assert!(bytes(&sender) < 121_000, "{}", bytes(&sender));
        let waiting = sender.0.items().len();
        assert!(waiting < 210, "{waiting}");
        assert_eq!(deeds.next().await, Deed::RunBegan);
        assert_eq!(deeds.next().await, text("0123456789"));
        assert_eq!(deeds.next().await, Deed::Grew(StreamEvent::TextEnd));
        assert_eq!(deeds.next().await, text(&"0123456789".repeat(100)));
    }

    #[tokio::test]
    async fn what_is_asked_for_keeps_its_place_and_nobody_who_tells_waits() {
        let (sender, mut deeds) = queue();
        let (known, asked) = oneshot::channel();
        sender.tell(text("a"));
        sender.ask(async move { asked.await.unwrap() });
        sender.tell(text("b"));
        sender.tell(text("c"));
        assert_eq!(deeds.next().await, text("a"));
        // Dropping a future loses nothing.
        assert!(deeds.next().now_or_never().is_none());
        known.send(Deed::Rested { aborted: false }).unwrap();
        assert_eq!(deeds.next().await, Deed::Rested { aborted: false });
        assert_eq!(deeds.next().await, text("bc"));
        assert!(deeds.next().now_or_never().is_none());
    }
}
