//! Queue of frames, lines of stderr and diagnostics for Python callbacks that observe all of them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentese::ChildOptions;
use agentese::tap::Direction;
use pyo3::prelude::*;

use crate::mailbox::{Mailbox, WakeToken, token};
use crate::notifier::Notifier;

/// The maximum size of waiting frames, in bytes. Further frames are dropped and counted, so that a slow
/// observer does not delay the connection.
const MAX_QUEUED: usize = 16 << 20;

/// The kind of an observed line (`sent`, `received`, `stderr` or `diagnostic`), and its text.
pub type Frame = (&'static str, String);

#[derive(Default)]
struct State {
    queued: VecDeque<Frame>,
    bytes: usize,
    dropped: u64,
    is_ended: bool,
}

/// The frames that wait for an observer.
pub struct FrameQueue {
    state: Mutex<State>,
    notifier: Notifier,
    token: Option<WakeToken>,
    limit: usize,
}

impl FrameQueue {
    /// Creates an empty queue. The token is posted when frames arrive, and at the end.
    pub fn new(token: Option<WakeToken>) -> Arc<Self> {
        Arc::new(FrameQueue {
            state: Mutex::default(),
            notifier: Notifier::default(),
            token,
            limit: MAX_QUEUED,
        })
    }

    /// Creates an empty queue like [`FrameQueue::new`], but without a size limit, for an observer that
    /// needs all frames.
    pub fn unbounded(token: Option<WakeToken>) -> Arc<Self> {
        Arc::new(FrameQueue {
            state: Mutex::default(),
            notifier: Notifier::default(),
            token,
            limit: usize::MAX,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        self.notifier.notify();
        if let Some(token) = &self.token {
            token.post();
        }
    }

    /// Adds a frame to the queue.
    pub fn push(&self, kind: &'static str, text: &str) {
        let first = {
            let mut state = self.state();
            if state.is_ended {
                return;
            }
            if state.bytes.saturating_add(text.len()) > self.limit && !state.queued.is_empty() {
                state.dropped += 1;
                return;
            }
            state.bytes += text.len();
            state.queued.push_back((kind, text.to_owned()));
            state.queued.len() == 1
        };
        // The token was already posted for the first frame. The woken thread takes all frames.
        if first {
            self.wake();
        }
    }

    /// Marks the end: no more frames follow.
    pub fn end(&self) {
        self.state().is_ended = true;
        self.wake();
    }

    /// Stops storing frames, because the observer no longer reads them.
    pub fn stop(&self) {
        *self.state() = State { is_ended: true, ..State::default() };
        self.wake();
    }

    /// Returns the number of frames that were dropped because Python was too slow.
    pub fn dropped(&self) -> u64 {
        self.state().dropped
    }

    /// Takes the waiting frames.
    pub fn take(&self) -> Vec<Frame> {
        let mut state = self.state();
        state.bytes = 0;
        state.queued.drain(..).collect()
    }

    /// Waits for frames, without taking them. Returns `false` at the end.
    pub fn wait(&self, py: Python<'_>) -> PyResult<bool> {
        loop {
            let seen_count = self.notifier.count();
            let (is_empty, over) = {
                let state = self.state();
                (state.queued.is_empty(), state.is_ended)
            };
            if !is_empty || over {
                return Ok(!is_empty);
            }
            self.notifier.wait(py, seen_count, None)?;
        }
    }

    /// Waits for the next frames and takes them. Returns `None` at the end.
    pub fn next(&self, py: Python<'_>) -> PyResult<Option<Vec<Frame>>> {
        loop {
            let seen_count = self.notifier.count();
            let frames = self.take();
            if !frames.is_empty() {
                return Ok(Some(frames));
            }
            if self.state().is_ended {
                // A frame may have arrived between the two checks.
                return Ok(Some(self.take()).filter(|frames| !frames.is_empty()));
            }
            self.notifier.wait(py, seen_count, None)?;
        }
    }
}

/// Creates a queue of frames for an observer, with the token that is posted for them.
pub fn frame_queue(
    py: Python<'_>,
    mailbox: Option<&Py<Mailbox>>,
    number: Option<u64>,
) -> PyResult<Option<Arc<FrameQueue>>> {
    let token = token(py, mailbox, number)?;
    Ok(number.map(|_| FrameQueue::new(token)))
}

/// Returns a program whose lines of stderr go to that queue.
pub fn with_stderr_queue(child: ChildOptions, frames: Option<&Arc<FrameQueue>>) -> ChildOptions {
    match frames.cloned() {
        Some(frames) => child.on_stderr_line(move |line| frames.push("stderr", line)),
        None => child,
    }
}

/// Returns the Python name of a direction.
pub fn direction_name(direction: Direction) -> &'static str {
    if direction == Direction::Sent { "sent" } else { "received" }
}
