//! The connection: one reader, one writer, and the table of pending calls.
//!
//! The reader scans each line once. It settles calls, updates runs and puts events into queues. This module is
//! not generic over the dialect; tables contain the differences between dialects.

mod active_run;
mod answers;
mod dialogs;
mod dispatch;
mod event_queue;
mod events;
mod open_dialogs;
mod other_dialect;
mod reader;
mod revisions;
mod runs;
mod shared;
mod shared_revision_detector;
mod taps;
mod unreadable;
mod writer;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::mpsc;

use crate::framing::{Bom, FrameReader, FramerOptions};
use crate::spec::Spec;
use crate::termination::{Cause, Termination};
use crate::transport::{ChildProcess, Transport};

pub(crate) use event_queue::{EventFrame, EventQueue, RunEnded};
pub use shared::Watch;
pub(crate) use shared::{Settings, Shared};

/// A connection, owned by its clients. It ends when the last client is dropped.
pub(crate) struct Connection {
    pub shared: Arc<Shared>,
    child: Option<ChildProcess>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Relaxed);
        self.shared.settle(Termination::new(Cause::Closed));
        // Dropping the child starts its shutdown ladder in the background.
    }
}

impl Connection {
    /// Starts the tasks of the connection. Must be called on a tokio runtime.
    pub fn start(spec: &'static Spec, settings: Settings, transport: Transport) -> Self {
        let Transport { reader, writer, child } = transport;
        let (outbox, inbox) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared::new(spec, settings, outbox));
        let options = FramerOptions { max_line: shared.settings.max_line, bom: Bom::Drop };
        let frames = FrameReader::with_options(reader, options);
        let exit = child.as_ref().map(|child| child.exit());
        tokio::spawn(writer::run(shared.clone(), inbox, writer));
        tokio::spawn(reader::run(shared.clone(), frames, exit));
        Connection { shared, child }
    }

    /// Closes the agent's stdin and waits for the end of its process, which is forced step by step if
    /// necessary. Settles all pending work.
    pub async fn close(&self) -> Termination {
        self.shared.closing.store(true, Ordering::Relaxed);
        self.shared.close_stdin().await;
        match &self.child {
            Some(child) => {
                let exit = child.shutdown().await;
                self.shared.drain_output().await;
                let termination =
                    Termination::new(Cause::Exited(exit.clone())).with_stderr_tail(exit.stderr_tail);
                self.shared.settle(termination)
            }
            None => self.shared.settle(Termination::new(Cause::Closed)),
        }
    }

    /// Returns the child process, or `None` for a connection without one.
    pub fn child(&self) -> Option<&ChildProcess> {
        self.child.as_ref()
    }
}
