//! Pipes that a forked child inherits and must not keep open: while anybody holds the writing end of an agent's
//! stdin, closing it tells the agent nothing.

use std::os::fd::{BorrowedFd, RawFd};
use std::sync::{Mutex, PoisonError};

use rustix::fs::fstat;

/// A descriptor, and which pipe or socket it was then. The number may stand for something else by now.
#[derive(Clone, Copy, PartialEq)]
struct Held {
    descriptor: RawFd,
    /// Device and inode, whose types differ between systems.
    file: (i128, i128),
}

impl Held {
    fn look(descriptor: RawFd) -> Option<Self> {
        // SAFETY: it is used for one `fstat` only, which fails for a descriptor that is not open.
        #[allow(unsafe_code)]
        let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
        let stat = fstat(borrowed).ok()?;
        Some(Held { descriptor, file: (stat.st_dev.into(), stat.st_ino.into()) })
    }

    fn is_still_open(&self) -> bool {
        Held::look(self.descriptor).as_ref() == Some(self)
    }
}

/// Changed only by threads that hold the interpreter's lock, which `os.fork` holds too: a child never finds it locked.
static HELD: Mutex<Vec<Held>> = Mutex::new(Vec::new());

/// Remembers descriptors, and forgets those that have been closed.
pub fn remember(descriptors: &[RawFd]) {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    held.retain(Held::is_still_open);
    held.extend(descriptors.iter().copied().filter_map(Held::look));
}

/// Closes this process's copies. For a child that was forked off: no other thread is there, and what owns them is
/// never used or dropped here.
pub fn close_all() {
    let Ok(mut held) = HELD.try_lock() else { return };
    for held in held.drain(..).filter(Held::is_still_open) {
        // SAFETY: the descriptor is open and the one that was remembered; its owner is leaked in this process.
        #[allow(unsafe_code)]
        unsafe {
            rustix::io::close(held.descriptor);
        }
    }
}
