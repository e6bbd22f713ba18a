//! What belongs to one process and must not be touched in a child that was forked from it.

use std::mem::ManuallyDrop;
use std::process;

use pyo3::prelude::*;

use crate::errors;

/// A value that is used and dropped only in the process that made it. A forked child leaks its copy: locks may
/// be held by threads that the child does not have, and the agent is the parent's.
pub struct Home<T> {
    process: u32,
    value: ManuallyDrop<T>,
}

impl<T> Home<T> {
    /// A value of this process.
    pub fn new(value: T) -> Self {
        Home { process: process::id(), value: ManuallyDrop::new(value) }
    }

    /// The value; fails in a forked child.
    pub fn get(&self, py: Python<'_>) -> PyResult<&T> {
        if self.process == process::id() { Ok(&self.value) } else { Err(errors::forked(py)) }
    }
}

impl<T> Drop for Home<T> {
    fn drop(&mut self) {
        if self.process == process::id() {
            // SAFETY: dropped once, here, and not used afterwards.
            #[allow(unsafe_code)]
            unsafe {
                ManuallyDrop::drop(&mut self.value);
            }
        }
    }
}
