//! Frames on their way out: one order for answers and events, with a bound for events.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;

use crate::transport::BoxWriter;

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    closed: bool,
    broken: bool,
    /// Why writing failed, where the other side is not simply gone.
    failed: Option<String>,
    /// The length of the longest answer to each command so far.
    longest: HashMap<&'static str, usize>,
}

/// The frames that wait to be written.
pub(super) struct Outbox {
    state: Mutex<State>,
    cap: usize,
    /// Something was put in, or the outbox was closed.
    filled: Notify,
    /// Something was taken out, or writing broke.
    emptied: Notify,
}

impl Outbox {
    pub fn new(cap: usize) -> Self {
        Outbox { state: Mutex::default(), cap, filled: Notify::new(), emptied: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a line in, whatever waits already. Lines stay whole and in order.
    pub fn push(&self, line: &[u8]) {
        let mut state = self.state();
        if state.closed || state.broken {
            return;
        }
        state.bytes.extend_from_slice(line);
        state.bytes.push(b'\n');
        drop(state);
        self.filled.notify_one();
    }

    /// Remembers how long an answer is.
    pub fn note_answer(&self, command: &'static str, length: usize) {
        let mut state = self.state();
        let longest = state.longest.entry(command).or_default();
        *longest = length.max(*longest);
    }

    /// The length of the longest answer to that command so far, in bytes.
    pub fn longest_answer(&self, command: &str) -> usize {
        self.state().longest.get(command).copied().unwrap_or_default()
    }

    /// Whether answers have room now; see [`Outbox::room_for_answers`].
    pub fn has_room_for_answers(&self) -> bool {
        let state = self.state();
        state.bytes.len() < self.cap.saturating_mul(2) || state.closed || state.broken
    }

    /// Why writing failed, where the other side is not simply gone: a full disk, for one.
    pub fn failed(&self) -> Option<String> {
        self.state().failed.clone()
    }

    /// Waits until there is room for more.
    pub async fn room(&self) {
        self.room_below(self.cap).await;
    }

    async fn room_below(&self, bytes: usize) {
        loop {
            let emptied = self.emptied.notified();
            {
                let state = self.state();
                if state.bytes.len() < bytes || state.closed || state.broken {
                    return;
                }
            }
            emptied.await;
        }
    }

    /// Waits until answers have room: they may take as much again as events. A client that reads
    /// nothing can still send an abort, and cannot make the server pile up answers without end.
    pub async fn room_for_answers(&self) {
        self.room_below(self.cap.saturating_mul(2)).await;
    }

    /// No more lines are taken; what is in is still written.
    pub fn close(&self) {
        self.state().closed = true;
        self.filled.notify_one();
    }

    /// Resolves when the other side does not read any more.
    pub async fn broken(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.state().broken {
                return;
            }
            emptied.await;
        }
    }

    async fn take(&self, bytes: &mut Vec<u8>) -> bool {
        loop {
            let filled = self.filled.notified();
            {
                let mut state = self.state();
                if !state.bytes.is_empty() {
                    std::mem::swap(&mut state.bytes, bytes);
                    return true;
                }
                if state.closed {
                    return false;
                }
            }
            filled.await;
        }
    }

    fn break_off(&self, error: &std::io::Error) {
        let is_gone = matches!(
            error.kind(),
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::NotConnected
        );
        let mut state = self.state();
        state.broken = true;
        state.failed = (!is_gone).then(|| error.to_string());
        state.bytes = Vec::new();
        drop(state);
        self.emptied.notify_waiters();
    }
}

/// A buffer that grew beyond this is given back after it was written.
const KEEP: usize = 1 << 20;

/// Writes lines until the outbox is closed or the other side is gone.
pub(super) async fn write(outbox: std::sync::Arc<Outbox>, mut writer: BoxWriter) {
    let mut bytes = Vec::new();
    while outbox.take(&mut bytes).await {
        let written = async {
            writer.write_all(&bytes).await?;
            writer.flush().await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "stdout is broken");
            outbox.break_off(&error);
            return;
        }
        bytes.clear();
        if bytes.capacity() > KEEP {
            bytes = Vec::new();
        }
        outbox.emptied.notify_waiters();
    }
    if let Err(error) = writer.shutdown().await {
        outbox.break_off(&error);
    }
}
