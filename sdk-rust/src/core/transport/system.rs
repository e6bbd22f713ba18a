//! The parts of processes and stdio that differ between systems. Both modules have the same items.

#[cfg(unix)]
pub(super) use super::unix::*;
#[cfg(windows)]
pub(super) use super::windows::*;
