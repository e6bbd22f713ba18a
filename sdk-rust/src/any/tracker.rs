//! The conversation of a connection, folded frame by frame, and the receivers of its events.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tokio::sync::mpsc;

use super::diff::differences;
use super::event::Event;
use crate::framing::FrameText;
use crate::route::{RoutedFrame, route};
use crate::spec::Spec;
use crate::tap;
use crate::termination::Termination;
use crate::view::{Conversation, Direction, View};

/// Maximum size of the unread events of one receiver, in bytes. A receiver that exceeds it gets no further
/// events.
const MAX_QUEUED_BYTES: usize = 64 << 20;

/// Size of one event besides its text, in bytes.
const EVENT_OVERHEAD: usize = 128;

/// The current conversation of a connection.
pub(super) struct ConversationTracker {
    spec: &'static Spec,
    state: Mutex<TrackerState>,
}

struct TrackerState {
    view: View,
    subscribers: Vec<EventSubscriber>,
    /// Names of the pending commands that open another session, for dialects with several sessions per
    /// connection.
    opening_commands: Vec<String>,
    /// Ids of these commands, as JSON. The response to one of them names the session that becomes the current
    /// one.
    opening_ids: HashSet<String>,
    is_over: bool,
}

struct EventSubscriber {
    /// Sender of the queue. `None` after the receiver was cut off: it reads the queued events, and then the
    /// end.
    sender: Option<mpsc::UnboundedSender<Event>>,
    queue: Arc<QueueCounters>,
}

#[derive(Default)]
struct QueueCounters {
    bytes: AtomicUsize,
    cut: AtomicBool,
    dropped: AtomicUsize,
}

/// The receiving end of a queue of events.
pub(super) struct EventReceiver {
    receiver: mpsc::UnboundedReceiver<Event>,
    queue: Arc<QueueCounters>,
}

impl EventReceiver {
    /// Polls for the next event; ready with `None` at the end.
    pub fn poll(&mut self, context: &mut std::task::Context<'_>) -> std::task::Poll<Option<Event>> {
        self.receiver.poll_recv(context).map(|event| self.release_size(event))
    }

    /// Returns a queued event without waiting.
    pub fn ready(&mut self) -> Option<Event> {
        let event = self.receiver.try_recv().ok();
        self.release_size(event)
    }

    /// Returns the number of dropped events if the receiver was cut off, or `None` if it was not.
    pub fn cut_off(&self) -> Option<usize> {
        self.queue.cut.load(Ordering::Relaxed).then(|| self.queue.dropped.load(Ordering::Relaxed))
    }

    fn release_size(&self, event: Option<Event>) -> Option<Event> {
        if let Some(event) = &event {
            self.queue.bytes.fetch_sub(size(event), Ordering::Relaxed);
        }
        event
    }
}

/// Returns the approximate size of an event, in bytes. Messages are shared with the conversation.
fn size(event: &Event) -> usize {
    EVENT_OVERHEAD
        + match event {
            Event::TextGrew { text, .. } | Event::ThinkingGrew { text, .. } => text.len(),
            Event::ArgumentsGrew { text, .. } => text.as_ref().map_or(EVENT_OVERHEAD, String::len),
            Event::ToolUpdated { output, .. } => output.len() * EVENT_OVERHEAD,
            _ => 0,
        }
}

impl ConversationTracker {
    pub fn new(spec: &'static Spec, view: View) -> Self {
        let state = TrackerState {
            view,
            subscribers: Vec::new(),
            opening_commands: Vec::new(),
            opening_ids: HashSet::new(),
            is_over: false,
        };
        ConversationTracker { spec, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, TrackerState> {
        // After a panic under the lock the view may lack a part of one frame, which is better than no view.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn conversation(&self) -> Arc<Conversation> {
        self.state().view.conversation()
    }

    /// Subscribes to events from now on.
    pub fn subscribe(&self) -> EventReceiver {
        let (sender, receiver) = mpsc::unbounded_channel();
        let queue = Arc::new(QueueCounters::default());
        let mut state = self.state();
        if !state.is_over {
            state.subscribers.push(EventSubscriber { sender: Some(sender), queue: queue.clone() });
        }
        EventReceiver { receiver, queue }
    }

    /// Marks a command as opening a session until the returned guard is dropped. The session that its response
    /// names becomes the current session. The first session keeps the state that was received before it.
    pub fn mark_opening(self: &Arc<Self>, command: &str) -> SessionOpenGuard {
        self.state().opening_commands.push(command.to_owned());
        SessionOpenGuard { tracker: self.clone(), command: command.to_owned() }
    }

    /// Ends the conversation and all subscriptions. Open runs, tools and questions end with the termination as
    /// their reason.
    pub fn end(&self, termination: &Termination) {
        let mut state = self.state();
        if std::mem::replace(&mut state.is_over, true) {
            return;
        }
        let before = state.view.conversation();
        state.view.close(&termination.to_string());
        let events = differences(&before, &state.view.conversation());
        let mut listeners = std::mem::take(&mut state.subscribers);
        for event in events {
            listeners.retain_mut(|listener| listener.deliver(&event));
        }
    }

    /// Folds a frame into the conversation.
    pub fn fold_frame(&self, direction: tap::Direction, text: &str) {
        let Ok(frame) = crate::wire::decode::<Value>(text) else { return };
        let at = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|now| now.as_secs_f64() * 1000.0);
        let mut state = self.state();
        let is_heard = !state.subscribers.is_empty();
        // A second reference to the conversation forces a copy, so this function holds one only for a
        // comparison.
        if direction == tap::Direction::Sent {
            state.record_sent(&frame);
        }
        let is_opening = direction == tap::Direction::Received && !state.opening_ids.is_empty();
        let before = (is_heard || is_opening).then(|| state.view.conversation());
        if is_opening
            && let (Some(session), Some(before)) =
                (self.opened_session(&mut state.opening_ids, text), &before)
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
            state.subscribers.retain_mut(|listener| listener.deliver(&event));
        }
    }

    /// Returns the opened session if the frame responds to a command that opens a session.
    fn opened_session(&self, asked: &mut HashSet<String>, text: &str) -> Option<String> {
        let member = self.spec.session_member?;
        let Ok(RoutedFrame::Answer { id: Some(id), data, .. }) = route(self.spec, &FrameText::from(text))
        else {
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

/// Guard for a command that opens a session. Dropping it removes the mark of the command.
pub(super) struct SessionOpenGuard {
    tracker: Arc<ConversationTracker>,
    command: String,
}

impl Drop for SessionOpenGuard {
    fn drop(&mut self) {
        let mut state = self.tracker.state();
        if let Some(place) = state.opening_commands.iter().position(|command| *command == self.command) {
            state.opening_commands.swap_remove(place);
        }
        // Without a pending call a response changes nothing.
        if state.opening_commands.is_empty() {
            state.opening_ids.clear();
        }
    }
}

impl TrackerState {
    /// Records the id of a sent command if the command is marked as opening a session.
    fn record_sent(&mut self, frame: &Value) {
        let command = frame.get("method").or_else(|| frame.get("type")).and_then(Value::as_str);
        if let (Some(command), Some(id)) = (command, frame.get("id"))
            && self.opening_commands.iter().any(|opening| opening == command)
        {
            self.opening_ids.insert(id.to_string());
        }
    }
}

impl EventSubscriber {
    /// Sends an event to the receiver, or counts the event if the receiver is cut off. Returns `false` if the
    /// receiver was dropped.
    fn deliver(&mut self, event: &Event) -> bool {
        // The receiver holds the other reference to the queue.
        if Arc::strong_count(&self.queue) == 1 {
            return false;
        }
        if self.queue.bytes.load(Ordering::Relaxed) > MAX_QUEUED_BYTES {
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
    fn a_detached_subscriber_gets_the_number_of_dropped_events() {
        let (sender, receiver) = mpsc::unbounded_channel();
        let queue = Arc::new(QueueCounters::default());
        let mut listener = EventSubscriber { sender: Some(sender), queue: queue.clone() };
        let mut receiver = EventReceiver { receiver, queue };
        let event = || Event::TextGrew { message: String::new(), block: 0, text: String::new() };
        assert!(listener.deliver(&event()));
        listener.queue.bytes.fetch_add(MAX_QUEUED_BYTES, Ordering::Relaxed);
        for missed in 1..4 {
            assert!(listener.deliver(&event()));
            assert_eq!(receiver.cut_off(), Some(missed));
        }
        assert!(receiver.ready().is_some() && receiver.ready().is_none());
        // Reading does not restore the receiver: the cut is final.
        receiver.queue.bytes.store(0, Ordering::Relaxed);
        assert!(listener.deliver(&event()) && receiver.ready().is_none());
        assert_eq!(receiver.cut_off(), Some(4));
        drop(receiver);
        assert!(!listener.deliver(&event()));
    }

    /// Returns the tracker of a connection whose current session is `one`.
    fn new_tracker() -> Arc<ConversationTracker> {
        let spec = crate::dynamic::spec("opal").unwrap();
        Arc::new(ConversationTracker::new(spec, View::open(spec.name).unwrap().of_session("one")))
    }

    impl ConversationTracker {
        fn sends(&self, id: &str, command: &str) {
            let frame = serde_json::json!({"jsonrpc": "2.0", "id": id, "method": command, "params": {}});
            self.fold_frame(tap::Direction::Sent, &frame.to_string());
        }

        fn answered(&self, id: &str, session: &str) {
            let frame = serde_json::json!({"jsonrpc": "2.0", "id": id, "result": {"session_id": session}});
            self.fold_frame(tap::Direction::Received, &frame.to_string());
        }

        fn refused(&self, id: &str) {
            let frame =
                serde_json::json!({"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": "no"}});
            self.fold_frame(tap::Direction::Received, &frame.to_string());
        }

        fn session(&self) -> Option<String> {
            self.conversation().session.id.clone()
        }
    }

    const START: &str = "session/start";

    #[test]
    fn the_session_named_by_the_opening_answer_is_followed() {
        let tracker = new_tracker();
        tracker.sends("before", "session/list");
        // No call requested another session.
        tracker.answered("before", "three");
        assert_eq!(tracker.session().as_deref(), Some("one"));
        let _opening = tracker.mark_opening(START);
        tracker.sends("new", START);
        // Responses to older calls arrive first, and once more after the new session.
        tracker.answered("before", "one");
        tracker.answered("before", "three");
        tracker.answered("new", "two");
        tracker.answered("before", "one");
        assert_eq!(tracker.session().as_deref(), Some("two"));
    }

    #[test]
    fn of_two_concurrent_openings_the_last_answered_session_is_followed() {
        let tracker = new_tracker();
        let [one, other] = [tracker.mark_opening(START), tracker.mark_opening(START)];
        tracker.sends("a", START);
        tracker.sends("b", START);
        tracker.answered("b", "three");
        // Between them arrives a response to an older call, with the session that was left.
        tracker.answered("before", "one");
        assert_eq!(tracker.session().as_deref(), Some("three"));
        tracker.answered("a", "two");
        drop(other);
        tracker.answered("before", "three");
        drop(one);
        assert_eq!(tracker.session().as_deref(), Some("two"));
        // A cancelled call does not change the session.
        let given_up = tracker.mark_opening(START);
        tracker.sends("c", START);
        drop(given_up);
        tracker.answered("c", "four");
        assert_eq!(tracker.session().as_deref(), Some("two"));
    }

    #[test]
    fn a_first_session_keeps_earlier_state_and_replaces_another_session() {
        let spec = crate::dynamic::spec("opal").unwrap();
        let tracker = Arc::new(ConversationTracker::new(spec, View::open(spec.name).unwrap()));
        tracker.sends("models", "models/list");
        let models =
            serde_json::json!({"jsonrpc": "2.0", "id": "models", "result": {"models": [{"id": "m"}]}});
        tracker.fold_frame(tap::Direction::Received, &models.to_string());
        let _openings = [tracker.mark_opening(START), tracker.mark_opening(START)];
        tracker.sends("a", START);
        tracker.sends("b", START);
        tracker.answered("b", "other");
        assert_eq!(tracker.session().as_deref(), Some("other"));
        assert!(tracker.conversation().models.as_ref().is_some_and(|models| models.len() == 1));
        tracker.answered("a", "first");
        assert_eq!(tracker.session().as_deref(), Some("first"));
    }

    #[test]
    fn a_rejected_opening_ignores_older_answers() {
        let tracker = new_tracker();
        let [one, other] = [tracker.mark_opening(START), tracker.mark_opening(START)];
        tracker.sends("a", START);
        tracker.sends("b", START);
        tracker.answered("a", "two");
        tracker.refused("b");
        drop(other);
        tracker.answered("before", "one");
        drop(one);
        assert_eq!(tracker.session().as_deref(), Some("two"));
    }
}
