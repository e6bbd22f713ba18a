//! The code for processes and stdio that differs between Unix and Windows. Both modules have the same items.

#[cfg(unix)]
pub(super) use super::unix::*;
#[cfg(windows)]
pub(super) use super::windows::*;
