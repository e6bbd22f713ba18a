//! Conversion of engine events to frames.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use agentese::serve::{Emitter, Pieces};
use agentese::types::{AgentMessage, CompactionReason};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::dialect::Family;
use super::snapshot::Snapshot;
use super::{convert, newer};
use crate::desk::Updates;
use crate::engine::{Event, EventSink};

/// The length of an answer in bytes above which pieces are merged while the client is behind. A frame
/// contains the answer twice.
const JOINED: usize = 80 << 10;

/// Sends the engine's events to the client, if the dialect declares them. Drops events until the client is
/// connected.
#[derive(Debug)]
pub(super) struct Sink<D: Family> {
    emitter: OnceLock<Emitter<D>>,
    /// The state that later frames need from earlier events.
    state: Mutex<State>,
    /// True if the revision has the additions of pi 1.5.
    newer: bool,
    /// True if each update carries the whole answer.
    repeats: bool,
    /// True if no further events are sent.
    closed: AtomicBool,
}

#[derive(Debug)]
struct State {
    /// The growing answer.
    snapshot: Snapshot,
    /// The reason of the current compaction.
    reason: CompactionReason,
}

impl<D: Family> Sink<D> {
    /// Creates a sink; `updates` selects the content of frames of a growing answer.
    pub fn new(updates: Updates, newer: bool) -> Self {
        let snapshot = Snapshot::new(updates);
        let repeats = !newer && updates != Updates::Delta;
        let state = Mutex::new(State { snapshot, reason: CompactionReason::Threshold });
        Self { emitter: OnceLock::new(), state, newer, repeats, closed: AtomicBool::new(false) }
    }

    /// Sends events to `emitter` from now on. Later calls have no effect.
    pub fn connect(&self, emitter: Emitter<D>) {
        let _ = self.emitter.set(emitter);
    }

    /// Drops events from now on.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Returns true after [`Self::close`].
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

impl<D: Family> EventSink for Sink<D> {
    fn room(&self) -> BoxFuture<'_, ()> {
        async move {
            if let Some(emitter) = self.emitter.get() {
                emitter.room().await;
            }
        }
        .boxed()
    }

    fn joins(&self) -> Option<usize> {
        self.repeats.then_some(JOINED)
    }

    fn push(&self, event: Event<'_>) {
        let Some(emitter) = self.emitter.get().filter(|_| !self.is_closed()) else {
            return;
        };
        if let Some(notice) = convert::notice(&event) {
            // A notice has no answer.
            drop(emitter.question(&notice.into()));
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::MessageStarted { message: AgentMessage::Assistant(_), .. } => state.snapshot.begin(),
            Event::CompactionStarted { reason } => state.reason = reason.clone(),
            _ => {}
        }
        let spec = emitter.spec();
        let body = match &event {
            Event::MessageUpdated { message, update, .. } if self.newer => {
                newer::update(message, update).map(|body| Some(body.into()))
            }
            Event::MessageUpdated { message, update, .. } => state.snapshot.frame(message, update).map(Some),
            _ if self.newer => newer::event(spec, event, &state.reason).map(|body| body.map(Pieces::from)),
            _ => convert::event(spec, event).map(|body| body.map(Pieces::from)),
        };
        match body {
            Ok(Some(body)) => emitter.emit_body_now(body),
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "an event could not be written"),
        }
    }
}
