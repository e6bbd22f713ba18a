//! A counter of forks, which identifies a process among its ancestors.

use std::sync::atomic::{AtomicU32, Ordering};

/// The number of forks between the process that loaded the module and this one. It stands for the process id,
/// because the system call for that id takes longer than the delivery of an event.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Counts a fork. Called in the child.
pub fn count_fork() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of forks that led to this process.
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}
