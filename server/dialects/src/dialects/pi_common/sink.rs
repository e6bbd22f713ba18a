//! Conversion of engine events to frames.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use agentese::serve::{Emitter, Segments};
use agentese::types::{AgentMessage, CompactionReason};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::dialect::PiCommon;
use super::snapshot::Snapshot;
use super::{convert, pi_1_5_events};
use crate::conversation::UpdateContent;
use crate::engine::{Event, EventSink};

/// The length of an answer in bytes from which on its updates are merged while the client reads slowly. Each
/// frame contains the answer twice.
const MERGE_THRESHOLD: usize = 80 << 10;

/// Sends the engine's events that the dialect declares to the client. Drops events until the client is connected.
#[derive(Debug)]
pub(super) struct Sink<D: PiCommon> {
    emitter: OnceLock<Emitter<D>>,
    /// State from earlier events that later frames need.
    state: Mutex<SinkState>,
    /// `true` if each update contains only the new text.
    updates_are_deltas: bool,
    /// True if each update contains the whole answer.
    sends_snapshots: bool,
    /// True if no further events are sent.
    closed: AtomicBool,
}

#[derive(Debug)]
struct SinkState {
    /// The answer in progress.
    snapshot: Snapshot,
    /// The reason of the current compaction.
    compaction_reason: CompactionReason,
}

impl<D: PiCommon> Sink<D> {
    /// Creates a sink. `updates` selects the content of the frames while the model writes an answer.
    pub fn new(updates: UpdateContent, updates_are_deltas: bool) -> Self {
        let snapshot = Snapshot::new(updates);
        let sends_snapshots = !updates_are_deltas && updates != UpdateContent::Delta;
        let state = Mutex::new(SinkState { snapshot, compaction_reason: CompactionReason::Threshold });
        Self {
            emitter: OnceLock::new(),
            state,
            updates_are_deltas,
            sends_snapshots,
            closed: AtomicBool::new(false),
        }
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

impl<D: PiCommon> EventSink for Sink<D> {
    fn wait_for_capacity(&self) -> BoxFuture<'_, ()> {
        async move {
            if let Some(emitter) = self.emitter.get() {
                emitter.room().await;
            }
        }
        .boxed()
    }

    fn join_threshold(&self) -> Option<usize> {
        self.sends_snapshots.then_some(MERGE_THRESHOLD)
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
            Event::MessageStarted { message: AgentMessage::Assistant(_), .. } => {
                state.snapshot.start_answer()
            }
            Event::CompactionStarted { reason } => state.compaction_reason = reason.clone(),
            _ => {}
        }
        let spec = emitter.spec();
        let body = match &event {
            Event::MessageUpdated { message, update, .. } if self.updates_are_deltas => {
                pi_1_5_events::update(message, update).map(|body| Some(body.into()))
            }
            Event::MessageUpdated { message, update, .. } => state.snapshot.frame(message, update).map(Some),
            _ if self.updates_are_deltas => pi_1_5_events::event(spec, event, &state.compaction_reason)
                .map(|body| body.map(Segments::from)),
            _ => convert::event(spec, event).map(|body| body.map(Segments::from)),
        };
        match body {
            Ok(Some(body)) => emitter.emit_body_now(body),
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "an event could not be written"),
        }
    }
}
