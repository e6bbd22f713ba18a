//! Events and the queues in which subscribers and runs receive them.

use std::sync::Arc;

use crate::error::Error;
use crate::framing::FrameText;
use crate::outcome::Verdict;
use crate::queue::{Receiver, Sender};
use crate::route::EventKind;
use crate::run_tracker::Outcome;
use crate::scan::Outline;
use crate::spec::RunEffect;

/// How a run ended, and how it came out.
#[derive(Debug, Clone)]
pub(crate) struct RunEnded {
    pub outcome: Outcome,
    pub verdict: Verdict,
}

/// An event as it came.
#[derive(Debug, Clone)]
pub(crate) struct EventFrame {
    /// Its type.
    pub kind: EventKind,
    /// The raw event object, where it is not the whole line.
    pub inner: Option<FrameText>,
    /// Where the members of a long line that is the event object itself stand.
    pub outline: Option<Arc<Outline>>,
    /// The whole line.
    pub frame: FrameText,
}

impl EventFrame {
    /// The raw event object.
    pub fn body(&self) -> &FrameText {
        self.inner.as_ref().unwrap_or(&self.frame)
    }

    /// The raw event object, taken.
    pub fn into_body(self) -> FrameText {
        self.inner.unwrap_or(self.frame)
    }

    /// How many bytes of a queue it takes.
    pub fn size(&self) -> usize {
        self.frame.len() + self.outline.as_ref().map_or(0, |outline| outline.size())
    }

    /// Whether it could be the last one of a run.
    pub fn may_end(&self) -> bool {
        self.kind.spec().is_some_and(|spec| matches!(spec.run, RunEffect::MayEnd | RunEffect::Ends))
    }
}

/// Where a subscriber reads its events.
pub(crate) type EventQueue = Receiver<EventFrame, Result<RunEnded, Error>>;
/// Where its events are queued.
pub(super) type EventSender = Sender<EventFrame, Result<RunEnded, Error>>;

/// Someone who listens to all events of the connection.
pub(super) struct Subscriber(pub EventSender);

impl Subscriber {
    pub fn close(&self, error: Error) {
        self.0.close(Err(error));
    }
}
