//! Warnings about the user's files of models and settings.

use std::fmt;
use std::path::PathBuf;

/// A warning about a part of the user's files that is ignored. The message shows no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigWarning {
    /// Path of the file with the ignored part.
    pub path: PathBuf,
    /// Description of the fault.
    pub reason: String,
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path.display(), self.reason)
    }
}
