//! Why something about a session does not work.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// The name was empty, or white space only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
// The text is the one that the pi document's agents send.
#[error("Session name cannot be empty")]
pub struct EmptyName;

/// Why a session cannot be opened. Its file is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no such file.
    #[error("{} does not exist", .path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// There is such a file, and a new one was wanted.
    #[error("{} exists already", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else works on it.
    #[error("{} is in use by {holder}", .path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// Who has it.
        holder: Holder,
    },
    /// It is something else.
    #[error("{} is not a session: {reason}", .path.display())]
    NotASession {
        /// The file.
        path: PathBuf,
        /// The end of the sentence.
        reason: &'static str,
    },
    /// The directory that it belongs to is gone.
    #[error("{} cannot be opened: its working directory {cwd} does not exist", .path.display())]
    NoDirectory {
        /// The directory.
        cwd: String,
        /// The file.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error("{} cannot be read: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another agent has the sessions, and it refuses.
    #[error("{0}")]
    Elsewhere(String),
}

/// Who works on a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder(pub Option<u32>);

impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(process) if process == std::process::id() => formatter.write_str("this process"),
            Some(process) => write!(formatter, "process {process}"),
            None => formatter.write_str("another process"),
        }
    }
}

/// Why no fork was made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForkError {
    /// There is no such entry, or it is no message of the user.
    // The text is the one that the pi document's agents send.
    #[error("Invalid entry ID for forking")]
    Unknown,
    /// Nothing was said in the session that a copy could have.
    // The text is the one that the pi document's agents send.
    #[error("This session has not been saved yet. Send a message before cloning or forking it.")]
    NothingSaid,
    /// Another agent has the session, and it refuses.
    #[error("{0}")]
    Elsewhere(String),
}

/// Why a session was not deleted. Its file is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeleteError {
    /// No session of the directory has that identifier.
    #[error("no session \"{0}\" in this directory")]
    Unknown(String),
    /// Somebody works on it.
    #[error("session {id} is in use by {holder}")]
    Locked {
        /// Its identifier.
        id: String,
        /// Who has it.
        holder: Holder,
    },
    /// Its file cannot be removed.
    #[error("{} cannot be removed: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Why what was said does not reach the disk. It is kept in memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StorageTrouble(Arc<str>);

impl From<String> for StorageTrouble {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}
