//! Resumption of a process that was started suspended.

#![allow(
    unsafe_code,
    reason = "the interface of the system; each call receives an open handle and the size of its record"
)]

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};

use windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE;
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::Threading::{OpenThread, ResumeThread, THREAD_SUSPEND_RESUME};

/// Return value of a failed `ResumeThread`.
const FAILED: u32 = u32::MAX;

/// Resumes a process that was started suspended. It has only one thread, because it has not run yet. The
/// library that starts processes does not expose this thread, so the function searches all threads of the
/// system.
pub(super) fn resume(process: u32) -> io::Result<()> {
    // SAFETY: takes numbers only; a handle that is not invalid is open and has no other owner.
    let threads = unsafe {
        let handle = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
        if handle == INVALID_HANDLE_VALUE {
            return Err(io::Error::last_os_error());
        }
        OwnedHandle::from_raw_handle(handle)
    };
    let mut entry = THREADENTRY32 { dwSize: size_of::<THREADENTRY32>() as u32, ..THREADENTRY32::default() };
    let mut resumed = false;
    // SAFETY: the snapshot is open, and the record contains its own size.
    let mut more = unsafe { Thread32First(threads.as_raw_handle(), &raw mut entry) };
    while more != 0 {
        if entry.th32OwnerProcessID == process {
            resume_thread(entry.th32ThreadID)?;
            resumed = true;
        }
        // SAFETY: as above.
        more = unsafe { Thread32Next(threads.as_raw_handle(), &raw mut entry) };
    }
    if resumed { Ok(()) } else { Err(io::Error::other("the child has no thread")) }
}

fn resume_thread(id: u32) -> io::Result<()> {
    // SAFETY: takes numbers only; a handle that is not null is open and has no other owner.
    let thread = unsafe {
        let handle = OpenThread(THREAD_SUSPEND_RESUME, 0, id);
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        OwnedHandle::from_raw_handle(handle)
    };
    // SAFETY: the handle is open.
    if unsafe { ResumeThread(thread.as_raw_handle()) } == FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
