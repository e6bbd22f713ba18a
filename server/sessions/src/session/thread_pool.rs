//! Threads that all sessions of a process share.
//!
//! One thread performs the tasks in order. If a task takes long, another thread continues with the next tasks. So a
//! disk that does not answer affects only the sessions on it. Idle threads end after some time.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Duration of a task after which another thread continues with the next tasks.
const STUCK_AFTER: Duration = Duration::from_millis(100);

/// Duration after which an idle thread ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of threads of a pool.
const MAX_THREADS: usize = 16;

/// Maximum number of session files that stay open between writes. Other files are open only during writes.
const MAX_OPEN_FILES: usize = 16;

type Task = Box<dyn FnOnce() + Send>;

/// Threads for blocking tasks.
pub(super) struct ThreadPool {
    name: &'static str,
    /// Duration after which a running task counts as stuck.
    stuck: Duration,
    state: Mutex<PoolState>,
    wake: Condvar,
}

#[derive(Default)]
struct PoolState {
    queue: VecDeque<Task>,
    /// Start times of the running tasks.
    running: BTreeMap<u64, Instant>,
    started: u64,
    threads: usize,
}

impl PoolState {
    /// Returns the time until the last running task counts as stuck. Returns zero if no task is running, or if all are
    /// stuck.
    fn until_stuck(&self, stuck: Duration) -> Duration {
        let newest = self.running.values().max();
        newest.map_or(Duration::ZERO, |start| stuck.saturating_sub(start.elapsed()))
    }
}

impl ThreadPool {
    fn new(name: &'static str, stuck: Duration) -> Arc<Self> {
        Arc::new(Self { name, stuck, state: Mutex::default(), wake: Condvar::new() })
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a task. If no thread can be started, runs the task on the caller's thread.
    pub fn submit(self: &Arc<Self>, task: impl FnOnce() + Send + 'static) {
        let mut state = self.state();
        state.queue.push_back(Box::new(task));
        if let Err(error) = self.spawn_if_busy(&mut state)
            && state.threads == 0
        {
            tracing::error!(%error, "cannot start a thread for session files");
            let task = state.queue.pop_back();
            drop(state);
            return task.into_iter().for_each(|task| task());
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Starts a thread for the queued tasks if all threads are busy, because their tasks are possibly stuck. Fails if
    /// the thread cannot be started.
    fn spawn_if_busy(self: &Arc<Self>, state: &mut PoolState) -> std::io::Result<()> {
        if state.queue.is_empty() || state.threads > state.running.len() || state.threads == MAX_THREADS {
            return Ok(());
        }
        let pool = self.clone();
        std::thread::Builder::new().name(self.name.to_owned()).spawn(move || pool.work())?;
        state.threads += 1;
        Ok(())
    }

    fn work(self: Arc<Self>) {
        let mut state = self.state();
        loop {
            let pause = if state.queue.is_empty() { IDLE_TIMEOUT } else { state.until_stuck(self.stuck) };
            if !pause.is_zero() {
                let (now, timeout) =
                    self.wake.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner);
                state = now;
                if timeout.timed_out() && state.queue.is_empty() {
                    state.threads -= 1;
                    return;
                }
                continue;
            }
            let Some(task) = state.queue.pop_front() else { continue };
            let number = state.started;
            state.started += 1;
            state.running.insert(number, Instant::now());
            // If no thread can be started, the other threads do the tasks.
            let _ = self.spawn_if_busy(&mut state);
            drop(state);
            // A failed task leaves its error for the caller that waits for it.
            let _ = catch_unwind(AssertUnwindSafe(task));
            state = self.state();
            state.running.remove(&number);
        }
    }
}

/// The limited number of files that may stay open between writes.
pub(super) struct OpenFileSlots {
    free: AtomicUsize,
}

/// Permission for one file to stay open between writes. Dropping it frees the slot.
pub(super) struct OpenFileSlot(Arc<OpenFileSlots>);

impl OpenFileSlots {
    fn new(count: usize) -> Arc<Self> {
        Arc::new(Self { free: AtomicUsize::new(count) })
    }

    /// Returns a slot, or `None` if all are in use.
    pub fn take(self: &Arc<Self>) -> Option<OpenFileSlot> {
        let taken = self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| free.checked_sub(1));
        taken.is_ok().then(|| OpenFileSlot(self.clone()))
    }
}

impl Drop for OpenFileSlot {
    fn drop(&mut self) {
        self.0.free.fetch_add(1, Ordering::Relaxed);
    }
}

/// The threads and slots that all sessions of a process share.
#[derive(Clone)]
pub(super) struct SharedResources {
    /// Threads that write lines to files.
    pub writers: Arc<ThreadPool>,
    /// Threads that sync files to the disk.
    pub syncers: Arc<ThreadPool>,
    /// Slots for files that stay open.
    pub file_slots: Arc<OpenFileSlots>,
}

impl SharedResources {
    /// Returns the threads and slots of this process.
    pub fn of_process() -> Self {
        static SHARED: LazyLock<SharedResources> = LazyLock::new(|| SharedResources::new(MAX_OPEN_FILES));
        SHARED.clone()
    }

    /// Creates threads and slots; `files` is the maximum number of files that stay open.
    pub fn new(files: usize) -> Self {
        let (writers, syncers) =
            (ThreadPool::new("session-writer", STUCK_AFTER), ThreadPool::new("session-sync", STUCK_AFTER));
        Self { writers, syncers, file_slots: OpenFileSlots::new(files) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn one_thread_does_all_tasks_in_their_order() {
        let pool = ThreadPool::new("test", LONG);
        let (done, results) = channel();
        for number in 0..1000 {
            let done = done.clone();
            pool.submit(move || done.send((number, std::thread::current().id())).unwrap());
        }
        let results: Vec<_> = (0..1000).map(|_| results.recv_timeout(LONG).unwrap()).collect();
        assert!(results.iter().map(|(number, _)| number).is_sorted());
        // Another one stands by, and no more.
        assert!(pool.state().threads <= 2, "{}", pool.state().threads);
    }

    #[test]
    fn a_task_that_is_stuck_or_fails_holds_up_no_other() {
        let pool = ThreadPool::new("test", STUCK_AFTER);
        let (free, stuck) = channel::<()>();
        pool.submit(move || {
            let _ = stuck.recv_timeout(LONG);
        });
        let (done, results) = channel();
        for number in 0..100 {
            let done = done.clone();
            pool.submit(move || {
                done.send(number).unwrap();
                assert_ne!(number, 7, "a task fails");
            });
        }
        let mut results: Vec<i32> = (0..100).map(|_| results.recv_timeout(LONG).unwrap()).collect();
        results.sort_unstable();
        assert_eq!(results, (0..100).collect::<Vec<_>>());
        drop(free);
    }
}
