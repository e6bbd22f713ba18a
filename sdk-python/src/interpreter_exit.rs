//! Protection of threads when the interpreter ends. Before 3.14, Python then unwinds the stack of any
//! thread that requests the interpreter's lock. If the stack contains Rust frames, the process aborts. So a
//! thread in Rust code must not request the lock.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::generation::generation;

/// The maximum time that threads have to leave Python code called from native code, and the time for which
/// other threads are blocked.
const PATIENCE: Duration = Duration::from_secs(1);

/// 0 until an interpreter begins to exit. Then the generation of its process plus one; each fork is a new generation.
static EXITING_GENERATION: AtomicU32 = AtomicU32::new(0);
/// The thread that ends the interpreter. It is the only thread that is not blocked.
static EXIT_THREAD: OnceLock<Thread> = OnceLock::new();
/// The number of current calls from native code to Python code in all threads. Increased under the
/// interpreter's lock.
static CALLS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// `true` if this thread was blocked in `park` and continued because the interpreter still existed.
    static HAS_PARKED: Cell<bool> = const { Cell::new(false) };
}

/// Returns `true` if the calling thread has to block, because the interpreter is about to end.
pub fn must_park() -> bool {
    EXITING_GENERATION.load(Ordering::Acquire) == generation() + 1
        && !HAS_PARKED.get()
        && EXIT_THREAD.get().is_some_and(|ender| ender.id() != std::thread::current().id())
}

/// Blocks the calling thread until the interpreter has ended; Python then stops the thread at its next
/// request for the lock. If the interpreter still exists after a second, the thread continues and is never
/// blocked again. An exit handler may be waiting for a lock that this thread holds.
pub fn park() {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        std::thread::park_timeout(PATIENCE);
    }
    HAS_PARKED.set(true);
}

/// Runs a function that calls Python code. If the interpreter is about to end, the calling thread first
/// blocks in `park`.
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
        // In a forked child the counter starts at zero, possibly in the middle of a call.
        let left = CALLS.fetch_update(Ordering::AcqRel, Ordering::Acquire, |calls| calls.checked_sub(1));
        if left == Ok(1) && EXITING_GENERATION.load(Ordering::Acquire) != 0 {
            EXIT_THREAD.get().into_iter().for_each(Thread::unpark);
        }
    }
}

/// Resets the counter of calls, because a forked child does not have the other threads.
pub fn forked() {
    CALLS.store(0, Ordering::Release);
}

/// From now on, blocks other threads when they enter native code. Waits until no thread is in Python code
/// called from native code, at most a second. Called last when the interpreter ends.
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
