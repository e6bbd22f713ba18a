//! The conversation of a connection, folded frame by frame, and the receivers of its events.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tokio::sync::mpsc;

use super::differ::differences;
use super::event::Event;
use crate::framing::FrameText;
use crate::route::{Routed, route};
use crate::spec::Spec;
use crate::tap;
use crate::termination::Termination;
use crate::view::{Conversation, Direction, View};

/// Maximum size of the events queued for one receiver, in bytes. A receiver with more is cut off.
const MOST: usize = 64 << 20;

/// Size of one event besides its text, in bytes.
const ONE: usize = 128;

/// The current conversation of a connection.
pub(super) struct Folded {
    spec: &'static Spec,
    state: Mutex<State>,
}

struct State {
    view: View,
    listeners: Vec<Listener>,
    /// The command of each pending call that opens another session, for dialects with several sessions per
    /// connection.
    opening: Vec<String>,
    /// The ids, as JSON, of such commands. A response with one of these ids selects the session that it
    /// names.
    asked: HashSet<String>,
    is_over: bool,
}

struct Listener {
    /// `None` after the receiver was cut off. The receiver reads the queued events and then the end.
    sender: Option<mpsc::UnboundedSender<Event>>,
    queue: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    bytes: AtomicUsize,
    cut: AtomicBool,
    dropped: AtomicUsize,
}

/// The receiving end of a queue of events.
pub(super) struct Heard {
    receiver: mpsc::UnboundedReceiver<Event>,
    queue: Arc<Queue>,
}

impl Heard {
    /// Polls for the next event; ready with `None` at the end.
    pub fn poll(&mut self, context: &mut std::task::Context<'_>) -> std::task::Poll<Option<Event>> {
        self.receiver.poll_recv(context).map(|event| self.taken(event))
    }

    /// Returns a queued event without waiting.
    pub fn ready(&mut self) -> Option<Event> {
        let event = self.receiver.try_recv().ok();
        self.taken(event)
    }

    /// Returns the number of dropped events if the receiver was cut off; otherwise `None`.
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

/// Returns the approximate size of an event, in bytes. Messages are shared with the conversation.
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
        let state =
            State { view, listeners: Vec::new(), opening: Vec::new(), asked: HashSet::new(), is_over: false };
        Folded { spec, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // After a panic under the lock the view may lack a part of one frame, which is better than no view.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn conversation(&self) -> Arc<Conversation> {
        self.state().view.conversation()
    }

    /// Subscribes to events from now on.
    pub fn listen(&self) -> Heard {
        let (sender, receiver) = mpsc::unbounded_channel();
        let queue = Arc::new(Queue::default());
        let mut state = self.state();
        if !state.is_over {
            state.listeners.push(Listener { sender: Some(sender), queue: queue.clone() });
        }
        Heard { receiver, queue }
    }

    /// Marks a command as opening a session, for the lifetime of the returned guard. The session in its
    /// response becomes the current session. The first session takes over the state received before it.
    pub fn switch(self: &Arc<Self>, command: &str) -> Opening {
        self.state().opening.push(command.to_owned());
        Opening { folded: self.clone(), command: command.to_owned() }
    }

    /// Ends the conversation and all subscriptions: open work ends, with this termination as the reason.
    pub fn end(&self, termination: &Termination) {
        let mut state = self.state();
        if std::mem::replace(&mut state.is_over, true) {
            return;
        }
        let before = state.view.conversation();
        state.view.close(&termination.to_string());
        let events = differences(&before, &state.view.conversation());
        let mut listeners = std::mem::take(&mut state.listeners);
        for event in events {
            listeners.retain_mut(|listener| listener.hear(&event));
        }
    }

    /// Folds a frame into the conversation.
    pub fn take(&self, direction: tap::Direction, text: &str) {
        let Ok(frame) = crate::wire::decode::<Value>(text) else { return };
        let at = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|now| now.as_secs_f64() * 1000.0);
        let mut state = self.state();
        let is_heard = !state.listeners.is_empty();
        // A second reference to the conversation forces a copy, so this function holds one only for a
        // comparison.
        if direction == tap::Direction::Sent {
            state.note_sent(&frame);
        }
        let is_opening = direction == tap::Direction::Received && !state.asked.is_empty();
        let before = (is_heard || is_opening).then(|| state.view.conversation());
        if is_opening
            && let (Some(session), Some(before)) = (self.opened(&mut state.asked, text), &before)
            && before.session.id.as_ref().is_some_and(|left| *left != session)
            && let Ok(view) = View::open(self.spec.name)
        {
            let mut view = view.of_session(&session);
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

    /// Returns the opened session if the frame is the response to a command that opens a session.
    fn opened(&self, asked: &mut HashSet<String>, text: &str) -> Option<String> {
        let member = self.spec.session_member?;
        let Ok(Routed::Answer { id: Some(id), data, .. }) = route(self.spec, &FrameText::from(text)) else {
            return None;
        };
        let id: Value = crate::wire::decode(id.as_str()).ok()?;
        if !asked.remove(&id.to_string()) {
            return None;
        }
        let data: Value = crate::wire::decode(data?.as_str()).ok()?;
        Some(data.get(member)?.as_str()?.to_owned())
    }
}

/// Guard of a session that is being opened; dropping the guard ends this state.
pub(super) struct Opening {
    folded: Arc<Folded>,
    command: String,
}

impl Drop for Opening {
    fn drop(&mut self) {
        let mut state = self.folded.state();
        if let Some(place) = state.opening.iter().position(|command| *command == self.command) {
            state.opening.swap_remove(place);
        }
        // Without a pending call a response changes nothing.
        if state.opening.is_empty() {
            state.asked.clear();
        }
    }
}

impl State {
    /// Records the id of a sent command if that command is opening a session.
    fn note_sent(&mut self, frame: &Value) {
        let command = frame.get("method").or_else(|| frame.get("type")).and_then(Value::as_str);
        if let (Some(command), Some(id)) = (command, frame.get("id"))
            && self.opening.iter().any(|opening| opening == command)
        {
            self.asked.insert(id.to_string());
        }
    }
}

impl Listener {
    /// Sends an event to the receiver, or counts the event if the receiver is cut off. Returns `false` if the
    /// receiver was dropped.
    fn hear(&mut self, event: &Event) -> bool {
        // The receiver holds the other reference to the queue.
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
        // Reading does not restore the receiver: the cut is final.
        heard.queue.bytes.store(0, Ordering::Relaxed);
        assert!(listener.hear(&event()) && heard.ready().is_none());
        assert_eq!(heard.cut_off(), Some(4));
        drop(heard);
        assert!(!listener.hear(&event()));
    }

    /// Returns a connection with the current session `one`.
    fn following() -> Arc<Folded> {
        let spec = crate::dynamic::spec("opal").unwrap();
        Arc::new(Folded::new(spec, View::open(spec.name).unwrap().of_session("one")))
    }

    impl Folded {
        fn sends(&self, id: &str, command: &str) {
            let frame = serde_json::json!({"jsonrpc": "2.0", "id": id, "method": command, "params": {}});
            self.take(tap::Direction::Sent, &frame.to_string());
        }

        fn answered(&self, id: &str, session: &str) {
            let frame = serde_json::json!({"jsonrpc": "2.0", "id": id, "result": {"session_id": session}});
            self.take(tap::Direction::Received, &frame.to_string());
        }

        fn refused(&self, id: &str) {
            let frame =
                serde_json::json!({"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": "no"}});
            self.take(tap::Direction::Received, &frame.to_string());
        }

        fn session(&self) -> Option<String> {
            self.conversation().session.id.clone()
        }
    }

    const START: &str = "session/start";

    #[test]
    fn the_session_is_followed_that_the_answer_to_the_command_that_opens_it_names() {
        let folded = following();
        folded.sends("before", "session/list");
        // No call requested another session.
        folded.answered("before", "three");
        assert_eq!(folded.session().as_deref(), Some("one"));
        let _opening = folded.switch(START);
        folded.sends("new", START);
        // Responses to older calls arrive first, and once more after the new session.
        folded.answered("before", "one");
        folded.answered("before", "three");
        folded.answered("new", "two");
        folded.answered("before", "one");
        assert_eq!(folded.session().as_deref(), Some("two"));
    }

    #[test]
    fn of_two_sessions_that_are_opened_at_once_the_last_that_is_answered_is_followed() {
        let folded = following();
        let [one, other] = [folded.switch(START), folded.switch(START)];
        folded.sends("a", START);
        folded.sends("b", START);
        folded.answered("b", "three");
        // Between them arrives a response to an older call, with the session that was left.
        folded.answered("before", "one");
        assert_eq!(folded.session().as_deref(), Some("three"));
        folded.answered("a", "two");
        drop(other);
        folded.answered("before", "three");
        drop(one);
        assert_eq!(folded.session().as_deref(), Some("two"));
        // A cancelled call does not change the session.
        let given_up = folded.switch(START);
        folded.sends("c", START);
        drop(given_up);
        folded.answered("c", "four");
        assert_eq!(folded.session().as_deref(), Some("two"));
    }

    #[test]
    fn a_first_session_leaves_what_was_told_before_it_and_takes_the_place_of_another() {
        let spec = crate::dynamic::spec("opal").unwrap();
        let folded = Arc::new(Folded::new(spec, View::open(spec.name).unwrap()));
        folded.sends("models", "models/list");
        let models =
            serde_json::json!({"jsonrpc": "2.0", "id": "models", "result": {"models": [{"id": "m"}]}});
        folded.take(tap::Direction::Received, &models.to_string());
        let _openings = [folded.switch(START), folded.switch(START)];
        folded.sends("a", START);
        folded.sends("b", START);
        folded.answered("b", "other");
        assert_eq!(folded.session().as_deref(), Some("other"));
        assert!(folded.conversation().models.as_ref().is_some_and(|models| models.len() == 1));
        folded.answered("a", "first");
        assert_eq!(folded.session().as_deref(), Some("first"));
    }

    #[test]
    fn a_refused_opening_lets_no_older_answer_be_followed() {
        let folded = following();
        let [one, other] = [folded.switch(START), folded.switch(START)];
        folded.sends("a", START);
        folded.sends("b", START);
        folded.answered("a", "two");
        folded.refused("b");
        drop(other);
        folded.answered("before", "one");
        drop(one);
        assert_eq!(folded.session().as_deref(), Some("two"));
    }
}
