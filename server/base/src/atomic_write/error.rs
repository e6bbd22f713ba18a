//! Errors of the replacement of a file.

use std::io;
use std::path::{Path, PathBuf};

/// The reason why a file was not replaced.
#[derive(Debug)]
pub enum WriteError {
    /// A system call failed for this path. The old content is unchanged.
    System {
        /// The name of the system call.
        call: &'static str,
        /// The path of the call.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The caller has withdrawn the change.
    Unwanted(String),
    /// Writing the target failed, and so did restoring the old content, which is in `backup`.
    Torn {
        /// The file with the old content.
        backup: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl WriteError {
    pub(super) fn system<'a>(call: &'static str, path: &'a Path) -> impl Fn(io::Error) -> Self + 'a {
        move |source| Self::System { call, path: path.to_owned(), source }
    }

    /// Returns the error of the system, for callers that write their own message.
    pub fn into_io(self) -> io::Error {
        match self {
            Self::System { source, .. } => source,
            Self::Unwanted(reason) => io::Error::other(reason),
            Self::Torn { backup: kept, source } => io::Error::new(
                source.kind(),
                format!("{source}; the file is damaged, its old content is in {}", kept.display()),
            ),
        }
    }
}

/// Returns true if the error means that a directory accepts no new file.
pub(super) fn is_directory_read_only(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem)
}
