//! Why a program could not be started.

use std::fmt;
use std::io;

use rustix::io::Errno;

use super::options::ChildOptions;

/// Why a program could not be started.
#[derive(Debug)]
pub struct SpawnError {
    /// The program, as it was asked for.
    pub program: String,
    /// What kind of failure it is.
    pub kind: SpawnErrorKind,
    /// What the system said.
    pub source: io::Error,
}

/// The kinds of failure to start a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpawnErrorKind {
    /// There is no such program.
    NotFound,
    /// There is such a file, but it cannot be run: no permission, no program, or its interpreter is missing.
    NotExecutable,
    /// Somebody has the program open for writing. Trying again may help.
    Busy,
    /// The working directory does not exist or cannot be entered.
    WorkingDirectory,
    /// Anything else: no memory, no descriptors, no runtime.
    Other,
}

impl fmt::Display for SpawnError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.kind {
            SpawnErrorKind::NotFound => "program not found",
            SpawnErrorKind::NotExecutable => "not an executable program",
            SpawnErrorKind::Busy => "the program's file is being written",
            SpawnErrorKind::WorkingDirectory => "the working directory cannot be entered",
            SpawnErrorKind::Other => return write!(out, "cannot start {}: {}", self.program, self.source),
        };
        write!(out, "cannot start {}: {reason}", self.program)
    }
}

impl std::error::Error for SpawnError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl SpawnError {
    pub(super) fn new(options: &ChildOptions, source: io::Error) -> Self {
        let kind = SpawnErrorKind::of(options, &source);
        Self { program: options.program.to_string_lossy().into_owned(), kind, source }
    }
}

impl SpawnErrorKind {
    /// The system reports a missing directory and a missing program alike, so the directory is looked at.
    fn of(options: &ChildOptions, error: &io::Error) -> Self {
        let errno = Errno::from_io_error(error);
        let path_error = matches!(errno, Some(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP));
        if let Some(cwd) = &options.cwd
            && path_error
            && (!cwd.is_dir() || rustix::fs::access(cwd, rustix::fs::Access::EXEC_OK).is_err())
        {
            return Self::WorkingDirectory;
        }
        match errno {
            Some(Errno::NOENT | Errno::NOTDIR) => {
                let cwd = options.cwd.clone().unwrap_or_default();
                // A path that exists and yet is "not found" lacks the interpreter that its first line names.
                let is_path = options.program.as_encoded_bytes().contains(&b'/');
                if is_path && cwd.join(&options.program).exists() {
                    Self::NotExecutable
                } else {
                    Self::NotFound
                }
            }
            Some(Errno::ACCESS | Errno::PERM | Errno::NOEXEC | Errno::ISDIR | Errno::LOOP) => {
                Self::NotExecutable
            }
            Some(Errno::TXTBSY) => Self::Busy,
            _ => Self::Other,
        }
    }
}
