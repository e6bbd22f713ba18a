//! Values that belong to one process and must not be used in a forked child.

use std::mem::ManuallyDrop;

use pyo3::prelude::*;

use crate::errors;
use crate::generation::{count_fork, generation};

/// Records that this process is a forked child. Called by `os.fork` in the child; Windows has no fork.
#[pyfunction]
pub fn forked() {
    count_fork();
    crate::interpreter_exit::forked();
    #[cfg(unix)]
    crate::inherited::close_all();
}

/// A value that is used and dropped only in the process that created it. A forked child leaks its copy. The
/// drop could wait for locks of threads that do not exist in the child, and would end the parent's agent.
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
