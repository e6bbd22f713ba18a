//! What is wrong with a settings file, for its author.

use std::path::PathBuf;

use super::text_file::TextFileError;

/// The longest settings file that is read, in bytes.
pub(super) const LIMIT: u64 = 1 << 20;

/// Something in a settings file that does not count.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Complaint {
    /// The file is there and cannot be read. It is left alone.
    #[error("{path}: {source}; the file is ignored", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: TextFileError,
    },
    /// It is too long to be one that somebody wrote.
    #[error("{path}: longer than {LIMIT} bytes; the file is ignored", path = path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// It is not JSON. It is left alone, so that its author can mend it.
    #[error("{path}: it is not JSON: {reason}; the file is ignored", path = path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        reason: String,
    },
    /// One value has the wrong form; the one before it counts.
    #[error("{path}: {key} is to be {expected}, but is {found}; it is ignored", path = path.display())]
    WrongType {
        /// The file.
        path: PathBuf,
        /// The key, with dots between levels.
        key: String,
        /// What would count.
        expected: &'static str,
        /// What is there.
        found: String,
    },
}
