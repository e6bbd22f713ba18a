//! Values that belong to one process and must not be used in a forked child.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::prelude::*;

use crate::errors;

/// The number of forks that led to this process since the module was loaded. A query of the process id would
/// cost more than the delivery of an event.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Records that this process is a forked child. Called by `os.fork` in the child; Windows has no fork.
#[pyfunction]
pub fn forked() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    crate::ending::forked();
    #[cfg(unix)]
    crate::inherited::close_all();
}

/// Returns the number of this process in the chain of forks.
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// A value that is used and dropped only in its own process. A forked child leaks its copy: threads that the
/// child does not have may hold locks, and the agent belongs to the parent.
pub struct ForkGuarded<T> {
    generation: u32,
    value: ManuallyDrop<T>,
}

impl<T> ForkGuarded<T> {
    /// Creates a value of this process.
    pub fn new(value: T) -> Self {
        ForkGuarded { generation: generation(), value: ManuallyDrop::new(value) }
    }

    /// Returns `true` in a forked child of the process that created the value.
    pub fn is_inherited(&self) -> bool {
        self.generation != generation()
    }

    /// Returns the value. Fails in a forked child.
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
