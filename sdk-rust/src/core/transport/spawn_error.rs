//! Why a program could not be started.

use std::fmt;
use std::io;

use super::options::ChildOptions;
use super::system;

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
        let kind = system::kind_of(options, &source);
        Self { program: options.program.to_string_lossy().into_owned(), kind, source }
    }
}
