//! Events and the queues in which subscribers and runs receive them.

use std::sync::Arc;

use crate::error::Error;
use crate::framing::FrameText;
use crate::outcome::RunOutcome;
use crate::queue::{Receiver, Sender};
use crate::route::EventKind;
use crate::run_tracker::RunCompletion;
use crate::scan::Outline;
use crate::spec::RunEffect;

/// The end of a run, with its outcome.
#[derive(Debug, Clone)]
pub(crate) struct RunEnded {
    pub completion: RunCompletion,
    pub run_outcome: RunOutcome,
}

/// An event as received.
#[derive(Debug, Clone)]
pub(crate) struct EventFrame {
    /// The type of the event.
    pub kind: EventKind,
    /// The event object as JSON text; `None` if it is the whole line.
    pub inner: Option<FrameText>,
    /// Positions of the members. Recorded only for a long line that is itself the event object.
    pub outline: Option<Arc<Outline>>,
    /// The whole line of the event.
    pub frame: FrameText,
}

impl EventFrame {
    /// Returns the raw event object.
    pub fn body(&self) -> &FrameText {
        self.inner.as_ref().unwrap_or(&self.frame)
    }

    /// Converts the event into its raw object.
    pub fn into_body(self) -> FrameText {
        self.inner.unwrap_or(self.frame)
    }

    /// Returns the size that the event has in a queue, in bytes.
    pub fn size(&self) -> usize {
        self.frame.len() + self.outline.as_ref().map_or(0, |outline| outline.size())
    }

    /// Returns `true` if the event may be the last one of a run.
    pub fn may_end(&self) -> bool {
        self.kind.spec().is_some_and(|spec| matches!(spec.run, RunEffect::MayEnd | RunEffect::Ends))
    }
}

/// The queue from which a subscriber reads events.
pub(crate) type EventQueue = Receiver<EventFrame, Result<RunEnded, Error>>;
/// The writing end of an [`EventQueue`].
pub(super) type EventSender = Sender<EventFrame, Result<RunEnded, Error>>;

/// A subscriber to all events of the connection.
pub(super) struct Subscriber(pub EventSender);

impl Subscriber {
    pub fn close(&self, error: Error) {
        self.0.close(Err(error));
    }
}
