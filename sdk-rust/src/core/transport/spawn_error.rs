//! Reasons for a failed start of a program.

use std::fmt;
use std::io;

/// A failed start of a program.
#[derive(Debug)]
pub struct SpawnError {
    /// The program, as given.
    pub program: String,
    /// Kind of failure.
    pub kind: SpawnErrorKind,
    /// The error of the system.
    pub source: io::Error,
}

/// The kinds of failure to start a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpawnErrorKind {
    /// There is no such program.
    NotFound,
    /// The file exists but cannot be run: permission is missing, the file is not a program, or its interpreter
    /// is missing.
    NotExecutable,
    /// Another process has the program open for writing. A retry may help.
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
