//! Waiting on a Python thread. The wait releases the interpreter's lock, and Ctrl-C interrupts it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::interpreter_exit;

/// The interval between checks for signals during a wait.
const SLICE: Duration = Duration::from_millis(50);

/// A wake-up for threads. It counts its notifications, so that each one reaches every thread.
#[derive(Default)]
pub struct Notifier {
    count: Mutex<u64>,
    condition: Condvar,
}

impl Wake for Notifier {
    fn wake(self: Arc<Self>) {
        self.notify();
    }
}

impl Notifier {
    fn lock(&self) -> MutexGuard<'_, u64> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all waiting threads. A thread that starts to wait later with an older count returns at once.
    pub fn notify(&self) {
        *self.lock() += 1;
        self.condition.notify_all();
    }

    /// Returns the number of notifications. A thread reads it before it checks its condition.
    pub fn count(&self) -> u64 {
        *self.lock()
    }

    /// Waits until the number of notifications exceeds `seen_count`, at most until `deadline`. Returns `true` if it
    /// does. Fails with the exception of a signal handler.
    pub fn wait(&self, py: Python<'_>, seen_count: u64, deadline: Option<Instant>) -> PyResult<bool> {
        loop {
            let is_notified = py.detach(|| {
                let is_notified = self.wait_slice(seen_count, deadline);
                if interpreter_exit::must_park() {
                    interpreter_exit::park();
                }
                is_notified
            });
            py.check_signals()?;
            if is_notified {
                return Ok(true);
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(false);
            }
        }
    }

    fn wait_slice(&self, seen_count: u64, deadline: Option<Instant>) -> bool {
        let left =
            deadline.map_or(SLICE, |deadline| deadline.saturating_duration_since(Instant::now()).min(SLICE));
        let (count, _) = self
            .condition
            .wait_timeout_while(self.lock(), left, |count| *count == seen_count)
            .unwrap_or_else(PoisonError::into_inner);
        *count != seen_count
    }
}

/// Returns the time at which that many seconds have passed. Returns `None` without a limit, or if the time
/// exceeds the range of the clock.
pub fn deadline(seconds: Option<f64>) -> Option<Instant> {
    let after = Duration::try_from_secs_f64(seconds?.max(0.0)).ok()?;
    Instant::now().checked_add(after)
}
