//! Reasons for a failed start of a program, from the error number of the system.

use std::io;

use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::super::options::ChildOptions;
use super::super::spawn_error::SpawnErrorKind;

/// Returns the kind of a start failure. The system reports a missing program and a missing working directory
/// alike, so the function checks whether the directory exists.
pub(in super::super) fn kind_of(options: &ChildOptions, error: &io::Error) -> SpawnErrorKind {
    let errno = Errno::from_io_error(error);
    let path_error = matches!(errno, Some(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP));
    if let Some(cwd) = &options.cwd
        && path_error
        && (!cwd.is_dir() || access(cwd, Access::EXEC_OK).is_err())
    {
        return SpawnErrorKind::WorkingDirectory;
    }
    match errno {
        Some(Errno::NOENT | Errno::NOTDIR) => {
            let cwd = options.cwd.clone().unwrap_or_default();
            // If the path exists but the system reports "not found", the interpreter in its first line is
            // missing.
            let is_path = options.program.as_encoded_bytes().contains(&b'/');
            if is_path && cwd.join(&options.program).exists() {
                SpawnErrorKind::NotExecutable
            } else {
                SpawnErrorKind::NotFound
            }
        }
        Some(Errno::ACCESS | Errno::PERM | Errno::NOEXEC | Errno::ISDIR | Errno::LOOP) => {
            SpawnErrorKind::NotExecutable
        }
        Some(Errno::TXTBSY) => SpawnErrorKind::Busy,
        _ => SpawnErrorKind::Other,
    }
}
