//! A cell for a value that is set once. It is smaller and faster than `OnceLock`, because it does not let
//! threads wait for the value.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU8, Ordering};

const EMPTY: u8 = 0;
const WRITING: u8 = 1;
const SET: u8 = 2;

/// A value that is set once, by the first caller.
pub struct OnceSlot<T> {
    state: AtomicU8,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: only the thread that changed the state from `EMPTY` to `WRITING` writes the value. Other threads
// read the value only after that thread has set the state to `SET`.
#[allow(unsafe_code)]
unsafe impl<T: Send + Sync> Sync for OnceSlot<T> {}

impl<T> OnceSlot<T> {
    /// Creates an empty cell.
    pub const fn new() -> Self {
        OnceSlot { state: AtomicU8::new(EMPTY), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Returns the value, if it is set.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        if self.state.load(Ordering::Acquire) != SET {
            return None;
        }
        // SAFETY: the value is set, and never changes again.
        #[allow(unsafe_code)]
        Some(unsafe { (*self.value.get()).assume_init_ref() })
    }

    /// Sets the value, unless it is set already.
    #[inline]
    pub fn set(&self, value: T) {
        if self.state.compare_exchange(EMPTY, WRITING, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            // SAFETY: no other thread reads or writes the value while the state is `WRITING`.
            #[allow(unsafe_code)]
            unsafe {
                (*self.value.get()).write(value);
            }
            self.state.store(SET, Ordering::Release);
        }
    }

    /// Returns the value. Sets it first if it is not set.
    #[inline]
    pub fn get_or_set(&self, value: T) -> &T {
        self.set(value);
        loop {
            match self.get() {
                Some(value) => return value,
                // Another thread is writing the value, which takes a few instructions.
                None => std::hint::spin_loop(),
            }
        }
    }
}

impl<T> OnceSlot<T> {
    /// Takes the value out.
    pub fn take(&mut self) -> Option<T> {
        if *self.state.get_mut() != SET {
            return None;
        }
        *self.state.get_mut() = EMPTY;
        // SAFETY: the value was set, and is not read again.
        #[allow(unsafe_code)]
        Some(unsafe { self.value.get_mut().assume_init_read() })
    }
}

impl<T> From<T> for OnceSlot<T> {
    fn from(value: T) -> Self {
        OnceSlot { state: AtomicU8::new(SET), value: UnsafeCell::new(MaybeUninit::new(value)) }
    }
}

impl<T> Drop for OnceSlot<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}
