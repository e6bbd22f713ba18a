//! Where the engine's events become frames.

use std::sync::{Mutex, OnceLock, PoisonError};

use agentese::serve::Emitter;
use agentese::types::AgentMessage;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::Family;
use super::convert;
use super::snapshot::Snapshot;
use crate::desk::Updates;
use crate::engine::{Event, EventSink};

/// Sends the engine's events to the client, those that the dialect has. Drops them until it is connected.
#[derive(Debug)]
pub(super) struct Sink<D: Family> {
    emitter: OnceLock<Emitter<D>>,
    /// The answer that is growing.
    snapshot: Mutex<Snapshot>,
}

impl<D: Family> Sink<D> {
    /// A sink whose frames of growing answers carry that.
    pub fn new(updates: Updates) -> Self {
        Self { emitter: OnceLock::new(), snapshot: Mutex::new(Snapshot::new(updates)) }
    }

    /// From now on events go there. Only the first call counts.
    pub fn connect(&self, emitter: Emitter<D>) {
        let _ = self.emitter.set(emitter);
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

    fn push(&self, event: Event<'_>) {
        let Some(emitter) = self.emitter.get() else { return };
        if let Some(notice) = convert::notice(&event) {
            // Nobody answers it.
            drop(emitter.question(&notice.into()));
            return;
        }
        let mut snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Event::MessageStarted { message: AgentMessage::Assistant(_), .. } = event {
            snapshot.begin();
        }
        let body = match &event {
            Event::MessageUpdated { message, update, .. } => snapshot.frame(message, update).map(Some),
            _ => convert::event(D::SPEC, event),
        };
        match body {
            Ok(Some(body)) => emitter.emit_body_now(&body),
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "an event could not be written"),
        }
    }
}
