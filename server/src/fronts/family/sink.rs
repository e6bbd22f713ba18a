//! Where the engine's events become frames.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use agentese::serve::{Emitter, Pieces};
use agentese::types::{AgentMessage, CompactionReason};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::Family;
use super::snapshot::Snapshot;
use super::{convert, newer};
use crate::desk::Updates;
use crate::engine::{Event, EventSink};

/// An answer that is longer, in bytes, is told in longer pieces while the client is behind. A frame has it twice.
const JOINED: usize = 80 << 10;

/// Sends the engine's events to the client, those that the dialect has. Drops them until it is connected.
#[derive(Debug)]
pub(super) struct Sink<D: Family> {
    emitter: OnceLock<Emitter<D>>,
    /// What later frames need of earlier events.
    state: Mutex<State>,
    /// The revision has what pi 1.5 brought.
    newer: bool,
    /// Each update carries all of the answer.
    repeats: bool,
    /// No event is sent any more.
    closed: AtomicBool,
}

#[derive(Debug)]
struct State {
    /// The answer that is growing.
    snapshot: Snapshot,
    /// Why the conversation is being compacted.
    reason: CompactionReason,
}

impl<D: Family> Sink<D> {
    /// A sink whose frames of growing answers carry that.
    pub fn new(updates: Updates, newer: bool) -> Self {
        let snapshot = Snapshot::new(updates);
        let repeats = !newer && updates != Updates::Delta;
        let state = Mutex::new(State { snapshot, reason: CompactionReason::Threshold });
        Self { emitter: OnceLock::new(), state, newer, repeats, closed: AtomicBool::new(false) }
    }

    /// From now on events go there. Only the first call counts.
    pub fn connect(&self, emitter: Emitter<D>) {
        let _ = self.emitter.set(emitter);
    }

    /// From now on events are dropped.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Whether they are.
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
            // Nobody answers it.
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
