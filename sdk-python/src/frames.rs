//! Frames, lines of stderr and diagnostics on their way to Python functions that observe all of them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentese::ChildOptions;
use agentese::tap::Direction;
use pyo3::prelude::*;

use crate::mailbox::{Mailbox, Ticket, ticket};
use crate::wait::Bell;

/// The maximum size of waiting frames, in bytes. Further ones are dropped and counted, because an observer
/// must not delay the work.
const ROOM: usize = 16 << 20;

/// The kind (`sent`, `received`, `stderr` or `diagnostic`), and the text.
pub type Frame = (&'static str, String);

#[derive(Default)]
struct State {
    seen: VecDeque<Frame>,
    bytes: usize,
    dropped: u64,
    over: bool,
}

/// The frames that wait for an observer.
pub struct Frames {
    state: Mutex<State>,
    bell: Bell,
    ticket: Option<Ticket>,
    room: usize,
}

impl Frames {
    /// Creates an empty queue. The ticket is posted after the arrival of frames, and at the end.
    pub fn new(ticket: Option<Ticket>) -> Arc<Self> {
        Arc::new(Frames { state: Mutex::default(), bell: Bell::default(), ticket, room: ROOM })
    }

    /// Works like [`Frames::new`], without a size limit, for an observer that needs all frames.
    pub fn all(ticket: Option<Ticket>) -> Arc<Self> {
        Arc::new(Frames { state: Mutex::default(), bell: Bell::default(), ticket, room: usize::MAX })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        self.bell.ring();
        if let Some(ticket) = &self.ticket {
            ticket.post();
        }
    }

    /// Adds a frame.
    pub fn push(&self, kind: &'static str, text: &str) {
        let first = {
            let mut state = self.state();
            if state.over {
                return;
            }
            if state.bytes.saturating_add(text.len()) > self.room && !state.seen.is_empty() {
                state.dropped += 1;
                return;
            }
            state.bytes += text.len();
            state.seen.push_back((kind, text.to_owned()));
            state.seen.len() == 1
        };
        // A thread that was woken for the first frame takes all frames.
        if first {
            self.wake();
        }
    }

    /// Marks the end: no more frames follow.
    pub fn end(&self) {
        self.state().over = true;
        self.wake();
    }

    /// Stops storing frames, because the observer is gone.
    pub fn stop(&self) {
        *self.state() = State { over: true, ..State::default() };
        self.wake();
    }

    /// Returns the number of dropped frames, because Python was too far behind.
    pub fn dropped(&self) -> u64 {
        self.state().dropped
    }

    /// Takes the waiting frames.
    pub fn take(&self) -> Vec<Frame> {
        let mut state = self.state();
        state.bytes = 0;
        state.seen.drain(..).collect()
    }

    /// Waits for frames, without taking them. Returns `false` at the end.
    pub fn wait(&self, py: Python<'_>) -> PyResult<bool> {
        loop {
            let heard = self.bell.rings();
            let (is_empty, over) = {
                let state = self.state();
                (state.seen.is_empty(), state.over)
            };
            if !is_empty || over {
                return Ok(!is_empty);
            }
            self.bell.wait(py, heard, None)?;
        }
    }

    /// Waits for the next frames and takes them. Returns `None` at the end.
    pub fn next(&self, py: Python<'_>) -> PyResult<Option<Vec<Frame>>> {
        loop {
            let heard = self.bell.rings();
            let frames = self.take();
            if !frames.is_empty() {
                return Ok(Some(frames));
            }
            if self.state().over {
                // A frame may have arrived between the two checks.
                return Ok(Some(self.take()).filter(|frames| !frames.is_empty()));
            }
            self.bell.wait(py, heard, None)?;
        }
    }
}

/// Creates a queue of frames for an observer, with the ticket that is posted for them.
pub fn kept(
    py: Python<'_>,
    mailbox: Option<&Py<Mailbox>>,
    number: Option<u64>,
) -> PyResult<Option<Arc<Frames>>> {
    let ticket = ticket(py, mailbox, number)?;
    Ok(number.map(|_| Frames::new(ticket)))
}

/// Returns a program whose lines of stderr go to that queue.
pub fn listening(child: ChildOptions, frames: Option<&Arc<Frames>>) -> ChildOptions {
    match frames.cloned() {
        Some(frames) => child.on_stderr_line(move |line| frames.push("stderr", line)),
        None => child,
    }
}

/// Returns the Python name of a direction.
pub fn named(direction: Direction) -> &'static str {
    if direction == Direction::Sent { "sent" } else { "received" }
}
