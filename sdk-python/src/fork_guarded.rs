//! What belongs to one process and must not be touched in a child that was forked from it.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::prelude::*;

use crate::errors;

/// How often this process was forked off another one since the module was loaded. Asking the system for the
/// process id instead would cost more than handing over an event does.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Says that this process is a child that was forked off. Called by `os.fork` in the child; Windows has no fork.
#[pyfunction]
pub fn forked() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    crate::ending::forked();
    #[cfg(unix)]
    crate::inherited::close_all();
}

/// Which process this is, among those that were forked off one another.
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// A value that is used and dropped only in the process that made it. A forked child leaks its copy: locks may
/// be held by threads that the child does not have, and the agent is the parent's.
pub struct ForkGuarded<T> {
    generation: u32,
    value: ManuallyDrop<T>,
}

impl<T> ForkGuarded<T> {
    /// A value of this process.
    pub fn new(value: T) -> Self {
        ForkGuarded { generation: generation(), value: ManuallyDrop::new(value) }
    }

    /// Whether this is a child that was forked off the process that made it.
    pub fn is_inherited(&self) -> bool {
        self.generation != generation()
    }

    /// The value; fails in a forked child.
    pub fn get(&self, py: Python<'_>) -> PyResult<&T> {
        if !self.is_inherited() { Ok(&self.value) } else { Err(errors::forked(py)) }
    }
}

impl<T> Drop for ForkGuarded<T> {
    fn drop(&mut self) {
        if !self.is_inherited() {
            // SAFETY: dropped once, here, and not used afterwards.
            #[allow(unsafe_code)]
            unsafe {
                ManuallyDrop::drop(&mut self.value);
            }
        }
    }
}
