//! Errors that end the program.

/// Error that ends the program. Its message is printed on stderr.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum CliError {
    #[error("{0}")]
    Usage(String),
    #[error("{context}: {source}")]
    Io { context: String, source: std::io::Error },
    #[error("{path}: {reason}")]
    Script { path: String, reason: String },
    /// pi prints the text of this error itself, so it has no prefix.
    #[error(transparent)]
    NoSuchModel(#[from] agentese_server::providers::SelectError),
    #[error("no model is available: {0}")]
    NoModel(String),
    #[error("system prompt: {0}")]
    Prompt(#[from] agentese_server::prompt::BaseError),
    #[error(transparent)]
    Bridge(#[from] agentese_bridge::BridgeError),
    #[error(transparent)]
    Process(#[from] agentese_process::error::Error),
    #[error(transparent)]
    Resource(#[from] agentese_server::resources::MissingPathError),
}
