//! Waiting on a Python thread: without the interpreter's lock, and interruptible by Ctrl-C.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::ending;

/// The interval between checks for signals during a wait.
const SLICE: Duration = Duration::from_millis(50);

/// A waker for threads. It counts its notifications, so that each one reaches every thread.
#[derive(Default)]
pub struct Bell {
    rings: Mutex<u64>,
    condition: Condvar,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }
}

impl Bell {
    fn count(&self) -> MutexGuard<'_, u64> {
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all waiting threads, and threads that wait later with an earlier count.
    pub fn ring(&self) {
        *self.count() += 1;
        self.condition.notify_all();
    }

    /// Returns the number of notifications. A thread reads it before it checks its condition.
    pub fn rings(&self) -> u64 {
        *self.count()
    }

    /// Waits until the number of notifications exceeds `heard`, at most until `deadline`. Returns `true` if it
    /// does. Fails with the exception of a signal handler.
    pub fn wait(&self, py: Python<'_>, heard: u64, deadline: Option<Instant>) -> PyResult<bool> {
        loop {
            let rang = py.detach(|| {
                let rang = self.wait_slice(heard, deadline);
                if ending::stays() {
                    ending::stay();
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

    fn wait_slice(&self, heard: u64, deadline: Option<Instant>) -> bool {
        let left =
            deadline.map_or(SLICE, |deadline| deadline.saturating_duration_since(Instant::now()).min(SLICE));
        let (rings, _) = self
            .condition
            .wait_timeout_while(self.count(), left, |rings| *rings == heard)
            .unwrap_or_else(PoisonError::into_inner);
        *rings != heard
    }
}

/// Returns the moment after that many seconds. Returns `None` without a limit, and for a limit too large for
/// the clock.
pub fn deadline(seconds: Option<f64>) -> Option<Instant> {
    let after = Duration::try_from_secs_f64(seconds?.max(0.0)).ok()?;
    Instant::now().checked_add(after)
}
