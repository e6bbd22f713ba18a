//! Windows: job objects in place of process groups, and no signals.
//!
//! This part is compiled in continuous integration; the tests of processes run on Linux and macOS only.

mod group;
mod job;
mod resume;
mod stdio;

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdout};
use windows_sys::Win32::Foundation::{
    ERROR_BAD_EXE_FORMAT, ERROR_DIRECTORY, ERROR_LOCK_VIOLATION, ERROR_SHARING_VIOLATION,
};

use super::options::ChildOptions;
use super::spawn_error::SpawnErrorKind;

pub(super) use group::Group;
pub(super) use stdio::{divert as divert_stdio, open as open_stdio};

/// Time to wait for the last output on stderr after the end of a process, because other processes may keep
/// stderr open.
pub(super) const STDERR_WAIT: Option<Duration> = Some(Duration::from_millis(100));

/// Returns the path of the program to start, from a search in the `PATH` of the child. The system itself would
/// find `pi.exe` for the name `pi`, but not `pi.cmd`, which npm installs.
pub(super) fn program(options: &ChildOptions) -> OsString {
    let is_path = |name: &OsStr| name.eq_ignore_ascii_case("PATH");
    let added = options.env.iter().rfind(|(name, _)| is_path(name)).map(|(_, value)| value.clone());
    let removed = options.env_remove.iter().any(|name| is_path(name));
    let path = if removed { None } else { added.or_else(|| std::env::var_os("PATH")) };
    let cwd = options.cwd.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    // If no file is found, the start fails with the system's own error.
    which::which_in(&options.program, path, cwd).map_or_else(|_| options.program.clone(), Into::into)
}

/// Does nothing: on Windows a pipe cannot be enlarged later.
pub(super) fn enlarge(_: &ChildStdout) {}

/// Returns the kind of a start failure.
pub(super) fn kind_of(options: &ChildOptions, error: &io::Error) -> SpawnErrorKind {
    if options.cwd.as_ref().is_some_and(|cwd| !cwd.is_dir()) {
        return SpawnErrorKind::WorkingDirectory;
    }
    match error.raw_os_error().and_then(|code| u32::try_from(code).ok()) {
        Some(ERROR_DIRECTORY) => return SpawnErrorKind::WorkingDirectory,
        Some(ERROR_BAD_EXE_FORMAT) => return SpawnErrorKind::NotExecutable,
        Some(ERROR_SHARING_VIOLATION | ERROR_LOCK_VIOLATION) => return SpawnErrorKind::Busy,
        _ => {}
    }
    match error.kind() {
        io::ErrorKind::NotFound => SpawnErrorKind::NotFound,
        io::ErrorKind::PermissionDenied => SpawnErrorKind::NotExecutable,
        _ => SpawnErrorKind::Other,
    }
}

/// Returns `None`: Windows has no signals.
pub(super) fn signal_of(_: ExitStatus) -> Option<i32> {
    None
}

/// Returns `None`: Windows has no signals.
pub(super) fn signal_name(_: i32) -> Option<&'static str> {
    None
}

/// Always fails: Windows cannot peek into a pipe while the runtime reads it.
pub(super) fn read_ready(_: &ChildStderr, _: &mut [u8]) -> io::Result<usize> {
    Err(io::ErrorKind::WouldBlock.into())
}
