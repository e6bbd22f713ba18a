//! Errors of sessions.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// The error for a name that is empty or has only white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
// The text is the one that the pi document's agents send.
#[error("Session name cannot be empty")]
pub struct EmptyNameError;

/// The reason why a session cannot be opened or created. The file stays unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file does not exist.
    #[error("{} does not exist", .path.display())]
    Missing {
        /// Path of the missing file.
        path: PathBuf,
    },
    /// The file of the new session already exists.
    #[error("{} exists already", .path.display())]
    Exists {
        /// Path of the existing file.
        path: PathBuf,
    },
    /// Another process, or this one, has the session open.
    #[error("{} is in use by {holder}", .path.display())]
    Locked {
        /// Path of the session file.
        path: PathBuf,
        /// The process that uses the file.
        holder: Holder,
    },
    /// The file is not a session.
    #[error("{} is not a session: {reason}", .path.display())]
    NotASession {
        /// Path of the file that is not a session.
        path: PathBuf,
        /// The reason, for the end of the message.
        reason: &'static str,
    },
    /// The working directory of the session does not exist any more.
    #[error("{} cannot be opened: its working directory {cwd} does not exist", .path.display())]
    NoDirectory {
        /// The missing directory.
        cwd: String,
        /// Path of the session file.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("{} cannot be read: {source}", .path.display())]
    Io {
        /// Path of the unreadable file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The remote agent that stores the sessions refused to open one.
    #[error("{0}")]
    Remote(String),
}

/// The process that uses a session, as its process id; `None` if the id is unknown.
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

/// The reason why a fork failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForkError {
    /// The entry does not exist, or is not a message of the user.
    // The text is the one that the pi document's agents send.
    #[error("Invalid entry ID for forking")]
    Unknown,
    /// The session has no message to copy.
    // The text is the one that the pi document's agents send.
    #[error("This session has not been saved yet. Send a message before cloning or forking it.")]
    NoMessages,
    /// The remote agent that stores the session refused to fork it.
    #[error("{0}")]
    Remote(String),
}

/// The reason why a session was not deleted. The file is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeleteError {
    /// No session of the directory has that identifier.
    #[error("no session \"{0}\" in this directory")]
    Unknown(String),
    /// A process uses the session.
    #[error("session {id} is in use by {holder}")]
    Locked {
        /// Identifier of the session.
        id: String,
        /// The process that uses the session.
        holder: Holder,
    },
    /// The file cannot be removed.
    #[error("{} cannot be removed: {source}", .path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// The reason why entries cannot be written to the disk. These entries stay in memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StorageError(Arc<str>);

impl From<String> for StorageError {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}
