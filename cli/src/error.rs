//! Errors that end the program.

/// Error that ends the program. Its message is printed on stderr.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum CliError {
    /// The command line is invalid.
    #[error("{0}")]
    Usage(String),
    /// A session does not exist or cannot be read.
    #[error("{0}")]
    Session(String),
    #[error(transparent)]
    Export(#[from] agentese_server::export::ExportError),
    #[error("{context}: {source}")]
    Io { context: String, source: std::io::Error },
    #[error("{path}: {reason}")]
    Script { path: String, reason: String },
    /// pi prints the text of this error itself, so it has no prefix.
    #[error(transparent)]
    NoSuchModel(#[from] agentese_server::providers::SelectError),
    /// The agent cannot be used, or its run failed.
    #[error("{0}")]
    Agent(String),
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

/// Exit code for an invalid command line.
pub(super) const USAGE: u8 = 2;

impl CliError {
    /// Returns the exit code of the program: 2 if the command line is invalid, otherwise 1.
    pub fn exit_code(&self) -> std::process::ExitCode {
        match self {
            Self::Usage(_) => USAGE.into(),
            _ => std::process::ExitCode::FAILURE,
        }
    }
}
