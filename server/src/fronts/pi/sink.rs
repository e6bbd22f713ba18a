//! Where the engine's events become frames.

use std::sync::{Mutex, OnceLock, PoisonError};

use agentese::pi::{AgentMessage, Pi};
use agentese::serve::Emitter;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::convert;
use super::snapshot::Snapshot;
use crate::engine::{Event, EventSink};
use crate::fronts::Updates;

/// Sends the engine's events to the client. Drops them until it is connected.
#[derive(Default)]
pub struct Sink {
    emitter: OnceLock<Emitter<Pi>>,
    /// The answer that is growing.
    snapshot: Mutex<Snapshot>,
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Sink").field("emitter", &self.emitter).finish_non_exhaustive()
    }
}

impl Sink {
    /// A sink whose frames of growing answers carry that.
    pub fn new(updates: Updates) -> Self {
        Self { emitter: OnceLock::new(), snapshot: Mutex::new(Snapshot::new(updates)) }
    }

    /// From now on events go there. Only the first call counts.
    pub fn connect(&self, emitter: Emitter<Pi>) {
        let _ = self.emitter.set(emitter);
    }
}

impl EventSink for Sink {
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
        let mut snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        let body = match &event {
            Event::MessageUpdated { message, update } => snapshot.frame(message, update),
            other => {
                if let Event::MessageStarted(AgentMessage::Assistant(_)) = other {
                    snapshot.begin();
                }
                match convert::event(event).as_ref().map(serde_json::to_string) {
                    Some(body) => body,
                    None => return,
                }
            }
        };
        match body {
            Ok(body) => emitter.emit_body_now(&body),
            Err(error) => tracing::error!(%error, "an event could not be written"),
        }
    }
}
