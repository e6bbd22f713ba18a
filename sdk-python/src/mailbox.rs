//! Wake-up of an event loop by the runtime: tokens in a list, and one descriptor that becomes readable.
//!
//! Only the first token after a drain writes to the descriptor. So the loop wakes up once for all tokens
//! before the next drain.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;

use pyo3::prelude::*;

use crate::fork_guarded::ForkGuarded;
use crate::transport::{Socket, Stream, number, pair};

#[derive(Default)]
struct PendingTokens {
    tokens: Vec<u64>,
    signalled: bool,
}

/// The state that a mailbox shares with the threads of the runtime.
pub struct MailboxState {
    /// The end of a socket pair that the event loop watches. It becomes readable when a result is ready.
    woken: Stream,
    waker: Stream,
    ready: Mutex<PendingTokens>,
}

impl MailboxState {
    fn ready(&self) -> MutexGuard<'_, PendingTokens> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn post(&self, token: u64) {
        let mut ready = self.ready();
        ready.tokens.push(token);
        if !std::mem::replace(&mut ready.signalled, true) {
            // The buffer of the socket cannot be full: each byte is read before the next one is written.
            let _ = (&self.waker).write(&[1]);
        }
    }
}

/// A token with its mailbox.
#[derive(Clone)]
pub struct WakeToken {
    mailbox: Arc<MailboxState>,
    number: u64,
}

impl WakeToken {
    /// Wakes the event loop with this token.
    pub fn post(&self) {
        self.mailbox.post(self.number);
    }
}

impl Wake for WakeToken {
    fn wake(self: Arc<Self>) {
        self.post();
    }
}

/// The tokens of completed work, for one event loop.
#[pyclass(frozen)]
pub struct Mailbox {
    shared: ForkGuarded<Arc<MailboxState>>,
}

#[pymethods]
impl Mailbox {
    #[new]
    fn new() -> PyResult<Self> {
        let (woken, waker) = pair()?;
        woken.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        let shared = Arc::new(MailboxState { woken, waker, ready: Mutex::default() });
        Ok(Mailbox { shared: ForkGuarded::new(shared) })
    }

    /// Returns the descriptor, which is readable while the mailbox contains tokens.
    fn fileno(&self, py: Python<'_>) -> PyResult<Socket> {
        Ok(number(&self.shared.get(py)?.woken))
    }

    /// `true` if this process inherited the mailbox by a fork: its descriptor and registrations belong to the
    /// parent.
    #[getter]
    fn inherited(&self) -> bool {
        self.shared.is_inherited()
    }

    /// Removes and returns all tokens.
    fn drain(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        let shared = self.shared.get(py)?;
        let mut ready = shared.ready();
        let _ = (&shared.woken).read(&mut [0u8; 8]);
        ready.signalled = false;
        Ok(std::mem::take(&mut ready.tokens))
    }
}

impl Mailbox {
    /// Returns a token for this mailbox. Fails in a forked child.
    pub fn token(&self, py: Python<'_>, number: u64) -> PyResult<WakeToken> {
        Ok(WakeToken { mailbox: self.shared.get(py)?.clone(), number })
    }
}

/// Creates a token with that number, or returns `None` if there is no mailbox.
pub fn token(
    py: Python<'_>,
    mailbox: Option<&Py<Mailbox>>,
    number: Option<u64>,
) -> PyResult<Option<WakeToken>> {
    mailbox.zip(number).map(|(mailbox, number)| mailbox.get().token(py, number)).transpose()
}
