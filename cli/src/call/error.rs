//! Errors of `agentese call`.

/// Error of `agentese call`.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error(transparent)]
    Client(#[from] agentese::Error),
    #[error("stdout: {0}")]
    Stdout(#[source] std::io::Error),
    #[error("{0}")]
    Agent(String),
}
