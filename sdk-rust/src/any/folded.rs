//! The conversation of a connection, folded frame by frame, and those who listen to what happens in it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tokio::sync::mpsc;

use super::differ::differences;
use super::event::Event;
use crate::spec::{Framing, Spec};
use crate::tap;
use crate::view::{Conversation, Direction, View};

/// How many bytes of events wait for one listener at most; beyond that it is cut off.
const MOST: usize = 64 << 20;

/// What one event counts besides its text, in bytes.
const ONE: usize = 128;

/// A conversation that is followed.
pub(super) struct Folded {
    spec: &'static Spec,
    state: Mutex<State>,
}

struct State {
    view: View,
    listeners: Vec<Listener>,
    /// Whether another session is being opened, where a connection has several.
    switching: bool,
    is_over: bool,
}

struct Listener {
    /// None once it is cut off: it reads what it has, and then that nothing follows.
    sender: Option<mpsc::UnboundedSender<Event>>,
    queue: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    bytes: AtomicUsize,
    cut: AtomicBool,
    dropped: AtomicUsize,
}

/// What a listener reads from.
pub(super) struct Heard {
    receiver: mpsc::UnboundedReceiver<Event>,
    queue: Arc<Queue>,
}

impl Heard {
    /// The next event; none when nothing follows.
    pub fn poll(&mut self, context: &mut std::task::Context<'_>) -> std::task::Poll<Option<Event>> {
        self.receiver.poll_recv(context).map(|event| self.taken(event))
    }

    /// An event that is there.
    pub fn ready(&mut self) -> Option<Event> {
        let event = self.receiver.try_recv().ok();
        self.taken(event)
    }

    /// How many events were dropped, where the listener was cut off.
    pub fn cut_off(&self) -> Option<usize> {
        self.queue.cut.load(Ordering::Relaxed).then(|| self.queue.dropped.load(Ordering::Relaxed))
    }

    fn taken(&self, event: Option<Event>) -> Option<Event> {
        if let Some(event) = &event {
            self.queue.bytes.fetch_sub(size(event), Ordering::Relaxed);
        }
        event
    }
}

/// About how much an event takes, in bytes. Messages are shared with the conversation.
fn size(event: &Event) -> usize {
    ONE + match event {
        Event::TextGrew { text, .. } | Event::ThinkingGrew { text, .. } => text.len(),
        Event::ArgumentsGrew { text, .. } => text.as_ref().map_or(ONE, String::len),
        Event::ToolUpdated { output, .. } => output.len() * ONE,
        _ => 0,
    }
}

impl Folded {
    pub fn new(spec: &'static Spec, view: View) -> Self {
        let state = State { view, listeners: Vec::new(), switching: false, is_over: false };
        Folded { spec, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // After a panic while the lock was held the view may lack a part of one frame, which is better than no view.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn conversation(&self) -> Arc<Conversation> {
        self.state().view.conversation()
    }

    /// Listens from now on.
    pub fn listen(&self) -> Heard {
        let (sender, receiver) = mpsc::unbounded_channel();
        let queue = Arc::new(Queue::default());
        let mut state = self.state();
        if !state.is_over {
            state.listeners.push(Listener { sender: Some(sender), queue: queue.clone() });
        }
        Heard { receiver, queue }
    }

    /// The next session that an answer names is the one that is followed.
    pub fn switch(&self) {
        self.state().switching = true;
    }

    /// Nobody opens another session any more.
    pub fn stay(&self) {
        self.state().switching = false;
    }

    /// Nothing follows.
    pub fn end(&self) {
        let mut state = self.state();
        state.is_over = true;
        state.listeners.clear();
    }

    /// Takes a frame.
    pub fn take(&self, direction: tap::Direction, text: &str) {
        let Ok(frame) = crate::wire::decode::<Value>(text) else { return };
        let at = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|now| now.as_secs_f64() * 1000.0);
        let mut state = self.state();
        let is_heard = !state.listeners.is_empty();
        // Whoever holds the conversation has it copied: it is held only where it is compared.
        let before = (is_heard || state.switching).then(|| state.view.conversation());
        if state.switching
            && direction == tap::Direction::Received
            && let (Some(session), Some(before)) = (self.opened(&frame), &before)
            // What was asked before may name the session that is left.
            && before.session.id.as_deref() != Some(session)
            && let Ok(view) = View::open(self.spec.name)
        {
            state.switching = false;
            let mut view = view.of_session(session);
            view.keep_sent(before);
            state.view = view;
        }
        let direction = match direction {
            tap::Direction::Sent => Direction::Sent,
            tap::Direction::Received => Direction::Received,
        };
        state.view.frame(direction, &frame, at);
        let Some(before) = before.filter(|_| is_heard) else { return };
        for event in differences(&before, &state.view.conversation()) {
            state.listeners.retain_mut(|listener| listener.hear(&event));
        }
    }

    /// The session that an answer names.
    fn opened<'f>(&self, frame: &'f Value) -> Option<&'f str> {
        let member = self.spec.session_member?;
        let data = match self.spec.framing {
            Framing::JsonRpc { .. } => frame.get("result")?,
            Framing::Flat | Framing::Enveloped => frame.get("data")?,
        };
        data.get(member)?.as_str()
    }
}

impl Listener {
    /// Gives an event to the listener, or counts it where the listener is cut off; false where it is gone.
    fn hear(&mut self, event: &Event) -> bool {
        // Its end of the queue is the other one.
        if Arc::strong_count(&self.queue) == 1 {
            return false;
        }
        if self.queue.bytes.load(Ordering::Relaxed) > MOST {
            self.queue.cut.store(true, Ordering::Relaxed);
            self.sender = None;
        }
        let Some(sender) = &self.sender else {
            self.queue.dropped.fetch_add(1, Ordering::Relaxed);
            return true;
        };
        self.queue.bytes.fetch_add(size(event), Ordering::Relaxed);
        sender.send(event.clone()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_cut_off_hears_how_many_events_it_did_not_get() {
        let (sender, receiver) = mpsc::unbounded_channel();
        let queue = Arc::new(Queue::default());
        let mut listener = Listener { sender: Some(sender), queue: queue.clone() };
        let mut heard = Heard { receiver, queue };
        let event = || Event::TextGrew { message: String::new(), block: 0, text: String::new() };
        assert!(listener.hear(&event()));
        listener.queue.bytes.fetch_add(MOST, Ordering::Relaxed);
        for missed in 1..4 {
            assert!(listener.hear(&event()));
            assert_eq!(heard.cut_off(), Some(missed));
        }
        assert!(heard.ready().is_some() && heard.ready().is_none());
        // What it reads brings it back nothing: it is cut off for good.
        heard.queue.bytes.store(0, Ordering::Relaxed);
        assert!(listener.hear(&event()) && heard.ready().is_none());
        assert_eq!(heard.cut_off(), Some(4));
        drop(heard);
        assert!(!listener.hear(&event()));
    }

    #[test]
    fn the_first_other_session_that_an_answer_names_is_followed() {
        let spec = crate::dynamic::spec("opal").unwrap();
        let folded = Folded::new(spec, View::open(spec.name).unwrap().of_session("one"));
        let answered = |id: &str, session: &str| {
            let frame = serde_json::json!({"jsonrpc": "2.0", "id": id, "result": {"session_id": session}});
            folded.take(tap::Direction::Received, &frame.to_string());
        };
        let session = || folded.conversation().session.id.clone();
        // Nobody asked for another session.
        answered("before", "three");
        assert_eq!(session().as_deref(), Some("one"));
        folded.switch();
        // An older call is answered first, and once more behind the new session.
        answered("before", "one");
        answered("new", "two");
        answered("before", "one");
        assert_eq!(session().as_deref(), Some("two"));
    }
}
