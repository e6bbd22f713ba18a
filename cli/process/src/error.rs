//! Failures of a process's input and output.

/// Failure of input or output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation of the system failed.
    #[error("{context}: {source}")]
    Io {
        /// File, stream, port or operation.
        context: String,
        /// Error of the system.
        source: std::io::Error,
    },
}
