//! Pipes that a forked child inherits and must close. An agent notices the end of its stdin only if no
//! process holds the writing end any more.

use std::os::fd::{BorrowedFd, RawFd};
use std::sync::{Mutex, PoisonError};

use rustix::fs::fstat;

/// A descriptor, and the identity of its pipe or socket, because the number of a closed descriptor may be
/// reused.
#[derive(Clone, Copy, PartialEq)]
struct InheritedPipe {
    descriptor: RawFd,
    /// The device and the inode. Their types differ between systems, so both are stored as `i128`.
    file: (i128, i128),
}

impl InheritedPipe {
    fn inspect(descriptor: RawFd) -> Option<Self> {
        // SAFETY: the descriptor is used for one `fstat` only, which fails for a descriptor that is not
        // open.
        #[allow(unsafe_code)]
        let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
        let stat = fstat(borrowed).ok()?;
        Some(InheritedPipe { descriptor, file: (stat.st_dev.into(), stat.st_ino.into()) })
    }

    fn is_still_open(&self) -> bool {
        InheritedPipe::inspect(self.descriptor).as_ref() == Some(self)
    }
}

/// The registered descriptors. Changed only by threads with the interpreter's lock, which `os.fork` holds
/// as well. So a child never inherits a locked mutex.
static INHERITED: Mutex<Vec<InheritedPipe>> = Mutex::new(Vec::new());

/// Stores descriptors, and removes closed ones.
pub fn register(descriptors: &[RawFd]) {
    let mut held = INHERITED.lock().unwrap_or_else(PoisonError::into_inner);
    held.retain(InheritedPipe::is_still_open);
    held.extend(descriptors.iter().copied().filter_map(InheritedPipe::inspect));
}

/// Closes this process's copies of all registered descriptors. Called in a forked child, which has no other
/// threads and never uses or drops their owners.
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
