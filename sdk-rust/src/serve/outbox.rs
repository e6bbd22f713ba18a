//! Outgoing frames: one order for responses and events, with a limit for events.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

use super::segments::{DeferredText, Segment, Segments};
use crate::transport::BoxWriter;

/// Length of one part of copied text, in bytes. The memory of each part is freed as soon as the part is
/// written.
const PART: usize = 64 << 10;

/// An item to be written.
enum QueuedItem {
    /// Text to write as it is.
    Text(Bytes),
    /// Text that is copied only while it is written.
    Deferred(DeferredText),
}

#[derive(Default)]
struct OutboxState {
    /// Items to be written, in order.
    queue: VecDeque<QueuedItem>,
    /// Copied text after the end of the queue, to which more text may still be added.
    open: BytesMut,
    /// Number of unwritten bytes.
    bytes: usize,
    closed: bool,
    broken: bool,
    /// The reason why writing failed; `None` if the client only disconnected.
    failed: Option<String>,
    /// For each command, the length of its longest response so far, in bytes.
    longest: Vec<(&'static str, usize)>,
}

impl OutboxState {
    fn copy(&mut self, text: &[u8]) {
        if self.open.len() + text.len() > PART {
            self.seal();
        }
        if self.open.capacity() - self.open.len() < text.len() {
            self.open.reserve(text.len().max(self.open.capacity()).max(1 << 10));
        }
        self.open.extend_from_slice(text);
    }

    /// Records the length of a response.
    fn record_answer(&mut self, command: &'static str, length: usize) {
        // There are few commands: a linear search takes less time than hashing a name.
        match self.longest.iter_mut().find(|(known, _)| std::ptr::eq(*known, command)) {
            Some((_, longest)) => *longest = length.max(*longest),
            None => self.longest.push((command, length)),
        }
    }

    /// Moves the text in `open` to the end of the queue.
    fn seal(&mut self) {
        if !self.open.is_empty() {
            self.queue.push_back(QueuedItem::Text(self.open.split().freeze()));
        }
    }
}

/// The frames to be written.
pub(super) struct Outbox {
    state: Mutex<OutboxState>,
    cap: usize,
    /// Notified when a line was added or the outbox was closed.
    filled: Notify,
    /// Notified when bytes were written or writing failed.
    emptied: Notify,
}

impl Outbox {
    pub fn new(cap: usize) -> Self {
        Outbox { state: Mutex::default(), cap, filled: Notify::new(), emptied: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, OutboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line, even beyond the limit. Lines are written whole and in order.
    pub fn push(&self, line: Segments) {
        self.put(line, None);
    }

    /// Works like [`Outbox::push`], for the response to a command, and records its length.
    pub fn push_answer(&self, command: &'static str, line: Segments) {
        self.put(line, Some(command));
    }

    fn put(&self, line: Segments, answers: Option<&'static str>) {
        let mut state = self.state();
        if let Some(command) = answers {
            state.record_answer(command, line.len());
        }
        if state.closed || state.broken {
            return;
        }
        state.bytes += line.len() + 1;
        if line.is_deferred() {
            state.seal();
            state.queue.push_back(QueuedItem::Deferred(line.into_deferred()));
        } else {
            line.each(|piece| match piece {
                Segment::Own(text) => state.copy(text.as_bytes()),
                Segment::Shared(text) if text.len() < Segments::MIN_SHARED => state.copy(text.as_bytes()),
                Segment::Shared(text) => {
                    state.seal();
                    state.queue.push_back(QueuedItem::Text(text.into_bytes()));
                }
            });
        }
        state.copy(b"\n");
        drop(state);
        self.filled.notify_one();
    }

    /// Returns the length of the longest response to the given command so far, in bytes.
    pub fn longest_answer(&self, command: &str) -> usize {
        let longest = |(known, length): &(&'static str, usize)| (*known == command).then_some(*length);
        self.state().longest.iter().filter_map(longest).max().unwrap_or_default()
    }

    /// Returns `true` if responses have room now; see [`Outbox::room_for_answers`].
    pub fn has_room_for_answers(&self) -> bool {
        let state = self.state();
        state.bytes < self.cap.saturating_mul(2) || state.closed || state.broken
    }

    /// Returns the reason why writing failed, such as a full disk. Returns `None` if the client only
    /// disconnected.
    pub fn failed(&self) -> Option<String> {
        self.state().failed.clone()
    }

    /// Waits until there is room for an event.
    pub async fn room(&self) {
        self.room_below(self.cap).await;
    }

    async fn room_below(&self, bytes: usize) {
        loop {
            let emptied = self.emptied.notified();
            {
                let state = self.state();
                if state.bytes < bytes || state.closed || state.broken {
                    return;
                }
            }
            emptied.await;
        }
    }

    /// Waits until there is room for a response. Responses may use twice the memory of events. A client that
    /// does not read can therefore still send an abort, but cannot make the server store responses without
    /// limit.
    pub async fn room_for_answers(&self) {
        self.room_below(self.cap.saturating_mul(2)).await;
    }

    /// Closes the outbox: no further lines are accepted, and earlier lines are still written.
    pub fn close(&self) {
        self.state().closed = true;
        self.filled.notify_one();
    }

    /// Resolves when the other side no longer reads.
    pub async fn broken(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.state().broken {
                return;
            }
            emptied.await;
        }
    }

    /// Waits for items and moves them to `queue`. Returns `false` if the outbox is closed and empty.
    async fn take(&self, queue: &mut VecDeque<QueuedItem>) -> bool {
        loop {
            let filled = self.filled.notified();
            {
                let mut state = self.state();
                state.seal();
                if !state.queue.is_empty() {
                    std::mem::swap(&mut state.queue, queue);
                    return true;
                }
                if state.closed {
                    return false;
                }
            }
            filled.await;
        }
    }

    /// Records written bytes. Waiting senders continue only when half of the limit is free, so that each can
    /// send several frames.
    fn written(&self, bytes: usize) {
        let mut state = self.state();
        let before = state.bytes;
        state.bytes -= bytes;
        let passed = |mark: usize| before >= mark && state.bytes < mark;
        let notifies = passed(self.cap.div_ceil(2)) || passed(self.cap.saturating_mul(2));
        drop(state);
        if notifies {
            self.emptied.notify_waiters();
        }
    }

    fn mark_broken(&self, error: &std::io::Error) {
        let is_gone = matches!(
            error.kind(),
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::NotConnected
        );
        let mut state = self.state();
        state.broken = true;
        state.failed = (!is_gone).then(|| error.to_string());
        state.queue = VecDeque::new();
        state.open = BytesMut::new();
        drop(state);
        self.emptied.notify_waiters();
    }
}

/// Maximum number of byte slices in one write call.
const MAX_SLICES: usize = 64;

/// Writes lines until the outbox is closed or the other side is disconnected.
pub(super) async fn write(outbox: std::sync::Arc<Outbox>, mut writer: BoxWriter) {
    let mut waiting = VecDeque::new();
    let mut ready = WriteBatch::default();
    while outbox.take(&mut waiting).await {
        let written = async {
            while ready.fill(&mut waiting) {
                drain(&outbox, &mut ready.queue, &mut writer).await?;
            }
            writer.flush().await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "stdout is broken");
            outbox.mark_broken(&error);
            return;
        }
    }
    if let Err(error) = writer.shutdown().await {
        outbox.mark_broken(&error);
    }
}

/// The byte slices of the next writes.
#[derive(Default)]
struct WriteBatch {
    queue: VecDeque<Bytes>,
    /// Buffer for text that is copied only while it is written.
    memory: BytesMut,
}

impl WriteBatch {
    /// Prepares the next writes. Takes all waiting items up to the first text that must be copied, and of that
    /// text only one part. Returns `false` if nothing is left to write.
    fn fill(&mut self, waiting: &mut VecDeque<QueuedItem>) -> bool {
        while let Some(next) = waiting.front_mut() {
            match next {
                QueuedItem::Text(text) => self.queue.push_back(std::mem::take(text)),
                QueuedItem::Deferred(parts) => {
                    if parts.next(&mut self.memory, &mut self.queue) {
                        break;
                    }
                    self.memory = BytesMut::new();
                }
            }
            waiting.pop_front();
        }
        !self.queue.is_empty()
    }
}

/// Writes everything in the queue.
async fn drain(
    outbox: &Outbox,
    queue: &mut VecDeque<Bytes>,
    writer: &mut (impl AsyncWrite + Unpin),
) -> std::io::Result<()> {
    while !queue.is_empty() {
        let written = poll_fn(|context| {
            let mut slices = [IoSlice::new(&[]); MAX_SLICES];
            let mut count = 0;
            for (slice, piece) in slices.iter_mut().zip(&*queue) {
                *slice = IoSlice::new(piece);
                count += 1;
            }
            Pin::new(&mut *writer).poll_write_vectored(context, &slices[..count])
        });
        let written = written.await?;
        if written == 0 {
            return Err(ErrorKind::WriteZero.into());
        }
        let mut left = written;
        while let Some(first) = queue.front_mut().filter(|_| left > 0) {
            let part = left.min(first.len());
            first.advance(part);
            left -= part;
            if first.is_empty() {
                queue.pop_front();
            }
        }
        outbox.written(written);
    }
    Ok(())
}
