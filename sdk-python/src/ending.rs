//! Threads at the end of the interpreter. Before 3.14 Python ends a thread that asks for the interpreter's lock then by
//! unwinding its stack; where frames of Rust stand on it, that aborts the process. So no such thread asks for the lock.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::fork_guarded::generation;

/// How long threads may take to come out of Python code that native code called, and how long others stay.
const PATIENCE: Duration = Duration::from_secs(1);

/// The process whose interpreter is about to go: its generation and one more.
static GONE_IN: AtomicU32 = AtomicU32::new(0);
/// The thread that ends the interpreter. It alone goes on.
static ENDER: OnceLock<Thread> = OnceLock::new();
/// How many calls from native code to Python code stand on the stacks of all threads. Raised under the interpreter's lock.
static CALLS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread has stayed, and the interpreter was still there after that.
    static HAS_STAYED: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread has to stay where it is, because the interpreter is about to go.
pub fn stays() -> bool {
    GONE_IN.load(Ordering::Acquire) == generation() + 1
        && !HAS_STAYED.get()
        && ENDER.get().is_some_and(|ender| ender.id() != std::thread::current().id())
}

/// Stays where it is until the interpreter is gone: then asking for its lock keeps the thread for good. Goes on where that
/// has not come about after a second, and then always, for a handler that runs at the end may wait for what this thread holds.
pub fn stay() {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        std::thread::park_timeout(PATIENCE);
    }
    HAS_STAYED.set(true);
}

/// Runs something that calls Python code. Where the interpreter is about to go, the calling thread stays here before.
pub fn call_python<T>(py: Python<'_>, call: impl FnOnce() -> T) -> T {
    if stays() {
        py.detach(stay);
    }
    CALLS.fetch_add(1, Ordering::AcqRel);
    let _call = Call;
    call()
}

struct Call;

impl Drop for Call {
    fn drop(&mut self) {
        // A forked child begins with none, in the middle of one perhaps.
        let left = CALLS.fetch_update(Ordering::AcqRel, Ordering::Acquire, |calls| calls.checked_sub(1));
        if left == Ok(1) && GONE_IN.load(Ordering::Acquire) != 0 {
            ENDER.get().into_iter().for_each(Thread::unpark);
        }
    }
}

/// Forgets the calls of threads that a forked child does not have.
pub fn forked() {
    CALLS.store(0, Ordering::Release);
}

/// Lets all other threads stay where they are when they come to native code, and waits, a second at most, until none is
/// in Python code that native code called. Called when the interpreter ends, as the last.
#[pyfunction]
pub fn hold_threads(py: Python<'_>) {
    ENDER.get_or_init(std::thread::current);
    GONE_IN.store(generation() + 1, Ordering::Release);
    py.detach(|| {
        let until = Instant::now() + PATIENCE;
        while CALLS.load(Ordering::Acquire) > 0 && Instant::now() < until {
            std::thread::park_timeout(until.saturating_duration_since(Instant::now()));
        }
    });
}
