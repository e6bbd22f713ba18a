//! Pipes that a forked child inherits and must close. An agent sees the end of its stdin only after every
//! process has closed the writing end.

use std::os::fd::{BorrowedFd, RawFd};
use std::sync::{Mutex, PoisonError};

use rustix::fs::fstat;

/// A descriptor with the identity of its pipe or socket, because a closed descriptor's number may be reused.
#[derive(Clone, Copy, PartialEq)]
struct InheritedPipe {
    descriptor: RawFd,
    /// The device and the inode, whose types differ between systems.
    file: (i128, i128),
}

impl InheritedPipe {
    fn inspect(descriptor: RawFd) -> Option<Self> {
        // SAFETY: it is used for one `fstat` only, which fails for a descriptor that is not open.
        #[allow(unsafe_code)]
        let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
        let stat = fstat(borrowed).ok()?;
        Some(InheritedPipe { descriptor, file: (stat.st_dev.into(), stat.st_ino.into()) })
    }

    fn is_still_open(&self) -> bool {
        InheritedPipe::inspect(self.descriptor).as_ref() == Some(self)
    }
}

/// The pipes to close in a child. Changed only by threads that hold the interpreter's lock. `os.fork` holds
/// that lock too, so the mutex is never locked in a child.
static INHERITED: Mutex<Vec<InheritedPipe>> = Mutex::new(Vec::new());

/// Stores descriptors, and removes closed ones.
pub fn register(descriptors: &[RawFd]) {
    let mut held = INHERITED.lock().unwrap_or_else(PoisonError::into_inner);
    held.retain(InheritedPipe::is_still_open);
    held.extend(descriptors.iter().copied().filter_map(InheritedPipe::inspect));
}

/// Closes this process's copies of the pipes. Only for a forked child: it has no other threads, and never
/// uses or drops the owners of the pipes.
pub fn close_all() {
    let Ok(mut held) = INHERITED.try_lock() else { return };
    for held in held.drain(..).filter(InheritedPipe::is_still_open) {
        // SAFETY: the descriptor is open and is the stored one; its owner is leaked in this process.
        #[allow(unsafe_code)]
        unsafe {
            rustix::io::close(held.descriptor);
        }
    }
}
