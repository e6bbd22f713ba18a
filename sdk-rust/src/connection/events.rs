//! Events on their way to those who listen.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Shared, State};
use crate::error::Error;
use crate::framing::FrameText;
use crate::queue::{self, Key, Pushed, Receiver, Sender};
use crate::route::flag;
use crate::run_tracker::{EndedBy, Input};
use crate::spec::{EventSpec, RunEffect};
use crate::tap::Diagnostic;

/// The type of an event: a row of the tables where there is one, which costs nothing to keep.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// The declaration names it.
    Declared(&'static EventSpec),
    /// It does not.
    Other(Arc<str>),
}

impl Kind {
    /// The row, where the declaration names it.
    pub fn spec(&self) -> Option<&'static EventSpec> {
        match self {
            Kind::Declared(spec) => Some(spec),
            Kind::Other(_) => None,
        }
    }
}

impl std::ops::Deref for Kind {
    type Target = str;
    fn deref(&self) -> &str {
        match self {
            Kind::Declared(spec) => spec.name,
            Kind::Other(name) => name,
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self)
    }
}

/// An event as it came.
#[derive(Debug, Clone)]
pub(crate) struct EventFrame {
    /// Its type.
    pub kind: Kind,
    /// The raw event object.
    pub body: FrameText,
    /// The whole line.
    pub frame: FrameText,
}

/// Where a subscriber reads its events.
pub(crate) type EventQueue = Receiver<EventFrame, Result<EndedBy, Error>>;

/// Someone who listens to all events of the connection.
pub(super) struct Subscriber(pub Sender<EventFrame, Result<EndedBy, Error>>);

impl Subscriber {
    pub fn close(&self, error: Error) {
        self.0.close(Err(error));
    }
}

impl Shared {
    /// Starts listening to all events.
    pub fn subscribe(&self) -> Result<EventQueue, Error> {
        let mut state = self.state();
        if let Some(termination) = &state.ended {
            return Err(Error::Terminated(termination.clone()));
        }
        let (sender, receiver) = queue::channel(self.settings.queue_bytes, self.settings.overflow);
        state.subscribers.push(Subscriber(sender));
        Ok(receiver)
    }

    pub(super) async fn event(
        self: &Arc<Self>,
        kind: String,
        body: FrameText,
        session: Option<String>,
        frame: &FrameText,
    ) {
        let spec = self.spec.event(&kind);
        if spec.is_none() {
            self.diagnose(Diagnostic::UnknownFrame { kind: kind.clone() });
        }
        let key = spec.filter(|spec| spec.snapshot).map(|spec| Key(std::ptr::from_ref(spec) as usize as u64));
        let kind = spec.map_or_else(|| Kind::Other(kind.into()), Kind::Declared);
        let event = EventFrame { kind, body, frame: frame.clone() };
        let input = spec.and_then(|spec| effect(spec.run, &event));
        let mut listeners = self.listeners(session.as_deref());
        let last = listeners.pop();
        let mut delivered = false;
        for sender in listeners {
            delivered |= self.hand_over(&sender, event.clone(), key).await;
        }
        // Most of the time there is one, and nothing is cloned for it.
        if let Some(sender) = last {
            delivered |= self.hand_over(&sender, event, key).await;
        }
        if !delivered {
            self.dropped_events.fetch_add(1, Ordering::Relaxed);
        }
        // The run hears of its end after the event is in its queue.
        if let Some(input) = input {
            self.feed_runs(session.as_deref(), input);
        }
    }

    fn listeners(&self, session: Option<&str>) -> Vec<Sender<EventFrame, Result<EndedBy, Error>>> {
        let mut state = self.state();
        let State { runs, subscribers, .. } = &mut *state;
        subscribers.retain(|subscriber| subscriber.0.has_subscriber());
        let runs = runs.iter().filter(|run| run.hears(session)).map(super::runs::Slot::sender);
        subscribers.iter().map(|subscriber| subscriber.0.clone()).chain(runs).collect()
    }

    async fn hand_over(
        &self,
        sender: &Sender<EventFrame, Result<EndedBy, Error>>,
        event: EventFrame,
        key: Option<Key>,
    ) -> bool {
        let size = event.frame.len();
        let event = match sender.try_push(event, size, key) {
            Ok(pushed) => return matches!(pushed, Pushed::Queued | Pushed::Coalesced),
            Err(event) => event,
        };
        self.reader_blocked.store(true, Ordering::Relaxed);
        let pushed = tokio::select! {
            pushed = sender.push(event, size, key) => pushed,
            () = self.stop.cancelled() => Pushed::Closed,
        };
        self.reader_blocked.store(false, Ordering::Relaxed);
        matches!(pushed, Pushed::Queued | Pushed::Coalesced)
    }
}

fn effect(effect: RunEffect, event: &EventFrame) -> Option<Input> {
    Some(match effect {
        RunEffect::None => return None,
        RunEffect::Begins => Input::Begins,
        RunEffect::MayEnd => Input::MayEnd,
        RunEffect::Holds => Input::Holds,
        RunEffect::Ends => Input::Ends,
        RunEffect::MayEndUnless(member) => match flag(event.body.as_str(), member) {
            Some(true) => Input::Holds,
            _ => Input::MayEnd,
        },
        RunEffect::HoldsIf(member) => match flag(event.body.as_str(), member) {
            Some(false) => Input::MayEnd,
            _ => Input::Holds,
        },
    })
}
