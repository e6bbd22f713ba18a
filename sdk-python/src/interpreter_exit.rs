//! Threads at the end of the interpreter. Before 3.14, Python then ends a thread that requests the
//! interpreter's lock by unwinding its stack. If the stack contains Rust frames, that aborts the process. So
//! such a thread must not request the lock.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::generation::generation;

/// The time limit for threads to leave Python code that native code has called, and the time for which other
/// threads stay.
const PATIENCE: Duration = Duration::from_secs(1);

/// The generation plus one of the process whose interpreter is about to end.
static EXITING_GENERATION: AtomicU32 = AtomicU32::new(0);
/// The thread that ends the interpreter. Only this thread continues.
static EXIT_THREAD: OnceLock<Thread> = OnceLock::new();
/// The number of calls from native code to Python code on the stacks of all threads. Increased under the
/// interpreter's lock.
static CALLS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// `true` if this thread has stayed and the interpreter still existed afterwards.
    static HAS_PARKED: Cell<bool> = const { Cell::new(false) };
}

/// Returns `true` if the calling thread has to stay, because the interpreter is about to end.
pub fn must_park() -> bool {
    EXITING_GENERATION.load(Ordering::Acquire) == generation() + 1
        && !HAS_PARKED.get()
        && EXIT_THREAD.get().is_some_and(|ender| ender.id() != std::thread::current().id())
}

/// Blocks until the interpreter has ended; a later request for its lock then stops the thread for good.
/// Continues after a second without that end, and never blocks again. A handler at the end may wait for a
/// lock of this thread.
pub fn park() {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        std::thread::park_timeout(PATIENCE);
    }
    HAS_PARKED.set(true);
}

/// Runs a function that calls Python code. If the interpreter is about to end, the calling thread first stays
/// here.
pub fn call_python<T>(py: Python<'_>, call: impl FnOnce() -> T) -> T {
    if must_park() {
        py.detach(park);
    }
    CALLS.fetch_add(1, Ordering::AcqRel);
    let _call = CallGuard;
    call()
}

struct CallGuard;

impl Drop for CallGuard {
    fn drop(&mut self) {
        // A forked child starts with zero, possibly in the middle of a call.
        let left = CALLS.fetch_update(Ordering::AcqRel, Ordering::Acquire, |calls| calls.checked_sub(1));
        if left == Ok(1) && EXITING_GENERATION.load(Ordering::Acquire) != 0 {
            EXIT_THREAD.get().into_iter().for_each(Thread::unpark);
        }
    }
}

/// Clears the number of calls, because a forked child does not have the other threads.
pub fn forked() {
    CALLS.store(0, Ordering::Release);
}

/// Holds all other threads when they enter native code. Waits, at most a second, until no thread is in Python
/// code that native code has called. Called last at the end of the interpreter.
#[pyfunction]
pub fn hold_threads(py: Python<'_>) {
    EXIT_THREAD.get_or_init(std::thread::current);
    EXITING_GENERATION.store(generation() + 1, Ordering::Release);
    py.detach(|| {
        let until = Instant::now() + PATIENCE;
        while CALLS.load(Ordering::Acquire) > 0 && Instant::now() < until {
            std::thread::park_timeout(until.saturating_duration_since(Instant::now()));
        }
    });
}
