//! Errors that end a bridge.

/// Error that ends a bridge.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// The options contradict each other, or the agent cannot be used.
    #[error("{0}")]
    Usage(String),
    /// An operation of the system failed.
    #[error("{context}: {source}")]
    Io {
        /// The file or the operation that failed.
        context: String,
        /// Error of the system.
        source: std::io::Error,
    },
    /// Input or output of the process failed.
    #[error(transparent)]
    Process(#[from] agentese_process::error::Error),
}
