//! Errors of the input and output of a process.

/// Error of input or output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation of the system failed.
    #[error("{context}: {source}")]
    Io {
        /// The file, stream, port or operation that failed.
        context: String,
        /// Error of the system.
        source: std::io::Error,
    },
}
