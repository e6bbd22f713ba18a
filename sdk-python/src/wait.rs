//! Waiting on a Python thread: without the interpreter's lock, and awake for Ctrl-C.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::runtime;

/// How long a wait lasts until signals are looked at.
const SLICE: Duration = Duration::from_millis(50);

/// Something that a thread waits for, as a waker.
#[derive(Default)]
pub struct Bell {
    rung: Mutex<bool>,
    condition: Condvar,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }
}

impl Bell {
    fn rung(&self) -> MutexGuard<'_, bool> {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes whoever waits, now or next.
    pub fn ring(&self) {
        *self.rung() = true;
        self.condition.notify_all();
    }

    /// Waits until it rings, at most until `deadline`. Says whether it rang. Fails with what a signal handler
    /// raised.
    pub fn wait(&self, py: Python<'_>, deadline: Option<Instant>) -> PyResult<bool> {
        loop {
            let rang = py.detach(|| {
                let rang = self.wait_slice(deadline);
                // The main thread ends the interpreter; whoever else came back to it now would be torn down
                // in the middle of native code.
                while runtime::is_gone() && !rang {
                    std::thread::park();
                }
                rang
            });
            py.check_signals()?;
            if rang {
                return Ok(true);
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(false);
            }
        }
    }

    fn wait_slice(&self, deadline: Option<Instant>) -> bool {
        let left =
            deadline.map_or(SLICE, |deadline| deadline.saturating_duration_since(Instant::now()).min(SLICE));
        let (mut rung, _) = self
            .condition
            .wait_timeout_while(self.rung(), left, |rung| !*rung)
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *rung)
    }
}

/// The moment after so many seconds; none for none, and for more than a year.
pub fn deadline(seconds: Option<f64>) -> Option<Instant> {
    let after = Duration::try_from_secs_f64(seconds?.max(0.0)).ok()?;
    Instant::now().checked_add(after)
}
