//! How the runtime wakes an event loop: tickets in a list, and one descriptor that becomes readable.
//!
//! Only the first ticket after a drain writes to the descriptor, so that a loop is woken once, however much has
//! become ready by the time it looks.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;

use pyo3::prelude::*;
use rustix::event::{EventfdFlags, eventfd};

use crate::home::Home;

#[derive(Default)]
struct State {
    ready: Vec<u64>,
    signalled: bool,
}

/// What runtime threads see of a mailbox.
pub struct Box {
    descriptor: OwnedFd,
    state: Mutex<State>,
}

impl Box {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn post(&self, ticket: u64) {
        let mut state = self.state();
        state.ready.push(ticket);
        if !std::mem::replace(&mut state.signalled, true) {
            // Cannot be full: it is read before it is written again.
            let _ = rustix::io::write(&self.descriptor, &1u64.to_ne_bytes());
        }
    }
}

/// A ticket, and the mailbox into which it goes.
#[derive(Clone)]
pub struct Ticket {
    mailbox: Arc<Box>,
    number: u64,
}

impl Ticket {
    /// Tells the event loop.
    pub fn post(&self) {
        self.mailbox.post(self.number);
    }
}

impl Wake for Ticket {
    fn wake(self: Arc<Self>) {
        self.post();
    }
}

/// Tickets of what has become ready, for one event loop.
#[pyclass(frozen)]
pub struct Mailbox {
    shared: Home<Arc<Box>>,
}

#[pymethods]
impl Mailbox {
    #[new]
    fn new() -> PyResult<Self> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| std::io::Error::from_raw_os_error(error.raw_os_error()))?;
        let shared = Arc::new(Box { descriptor, state: Mutex::default() });
        Ok(Mailbox { shared: Home::new(shared) })
    }

    /// The descriptor that is readable while tickets lie here.
    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        Ok(self.shared.get(py)?.descriptor.as_raw_fd())
    }

    /// Whether this process inherited it by a fork: its descriptor and what is registered for it are the parent's.
    #[getter]
    fn inherited(&self) -> bool {
        self.shared.is_inherited()
    }

    /// Takes all tickets.
    fn drain(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        let shared = self.shared.get(py)?;
        let mut state = shared.state();
        let _ = rustix::io::read(&shared.descriptor, &mut [0u8; 8]);
        state.signalled = false;
        Ok(std::mem::take(&mut state.ready))
    }
}

impl Mailbox {
    /// A ticket for this mailbox; fails in a forked child.
    pub fn ticket(&self, py: Python<'_>, number: u64) -> PyResult<Ticket> {
        Ok(Ticket { mailbox: self.shared.get(py)?.clone(), number })
    }
}
