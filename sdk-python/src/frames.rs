//! Frames, lines of stderr and diagnostics on their way to Python functions that look at all of them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use crate::mailbox::Ticket;
use crate::wait::Bell;

/// How many bytes of frames wait for Python. Those that come on top are dropped and counted: whoever looks on must
/// not hold up who works.
const ROOM: usize = 16 << 20;

/// What it is (`sent`, `received`, `stderr` or `diagnostic`), and its text.
pub type Frame = (&'static str, String);

#[derive(Default)]
struct State {
    seen: VecDeque<Frame>,
    bytes: usize,
    dropped: u64,
    over: bool,
}

/// The frames that nobody has looked at.
pub struct Frames {
    state: Mutex<State>,
    bell: Bell,
    ticket: Option<Ticket>,
    room: usize,
}

impl Frames {
    /// None yet. The ticket is posted when some have come, and at the end.
    pub fn new(ticket: Option<Ticket>) -> Arc<Self> {
        Arc::new(Frames { state: Mutex::default(), bell: Bell::default(), ticket, room: ROOM })
    }

    /// As [`Frames::new`], for somebody who has to see all of them, however far behind.
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

    /// Something passed.
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
        // Whoever was woken for the first one takes all.
        if first {
            self.wake();
        }
    }

    /// No more will come.
    pub fn end(&self) {
        self.state().over = true;
        self.wake();
    }

    /// Nobody looks at them any more.
    pub fn stop(&self) {
        *self.state() = State { over: true, ..State::default() };
        self.wake();
    }

    /// How many nobody will see, because Python was too far behind.
    pub fn dropped(&self) -> u64 {
        self.state().dropped
    }

    /// Those that are there.
    pub fn take(&self) -> Vec<Frame> {
        let mut state = self.state();
        state.bytes = 0;
        state.seen.drain(..).collect()
    }

    /// Waits until there are some, and leaves them there. False at the end.
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

    /// Waits for the next ones; none at the end.
    pub fn next(&self, py: Python<'_>) -> PyResult<Option<Vec<Frame>>> {
        loop {
            let heard = self.bell.rings();
            let frames = self.take();
            if !frames.is_empty() {
                return Ok(Some(frames));
            }
            if self.state().over {
                // One may have come between the two.
                return Ok(Some(self.take()).filter(|frames| !frames.is_empty()));
            }
            self.bell.wait(py, heard, None)?;
        }
    }
}
