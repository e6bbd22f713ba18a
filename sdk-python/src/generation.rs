//! The position of this process in a chain of forks.

use std::sync::atomic::{AtomicU32, Ordering};

/// The number of forks between the process that loaded the module and this one. It replaces the process id,
/// whose query costs more than the delivery of an event.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Increases the number of forks. Called in each forked child.
pub fn count_fork() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of this process in the chain of forks.
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}
