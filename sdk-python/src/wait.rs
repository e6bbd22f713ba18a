//! Waiting on a Python thread: without the interpreter's lock, and awake for Ctrl-C.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::ending;

/// How long a wait lasts until signals are looked at.
const SLICE: Duration = Duration::from_millis(50);

/// Something that threads wait for, as a waker. It counts how often it rang, so that every ring reaches every thread.
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

    /// Wakes all who wait, and those who wait next with a count from before.
    pub fn ring(&self) {
        *self.count() += 1;
        self.condition.notify_all();
    }

    /// How often it rang. Whoever waits takes the count before looking at what the ring is about.
    pub fn rings(&self) -> u64 {
        *self.count()
    }

    /// Waits until it has rung more often than `heard`, at most until `deadline`. Says whether it has. Fails with
    /// what a signal handler raised.
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

/// The moment after so many seconds; none for none, and for more than a year.
pub fn deadline(seconds: Option<f64>) -> Option<Instant> {
    let after = Duration::try_from_secs_f64(seconds?.max(0.0)).ok()?;
    Instant::now().checked_add(after)
}
