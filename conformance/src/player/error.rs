//! Reasons why a case cannot be played.

use std::path::PathBuf;

use agentese::transport::SpawnError;

use crate::matching::PatternError;
use crate::model::ModelError;

/// Reason why a case cannot be played at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlayError {
    /// Neither the command line nor the profile has a command.
    #[error("the profile `{profile}` has no command; pass one after `--`")]
    NoCommand {
        /// Name of the profile.
        profile: String,
    },
    /// The agent does not start.
    #[error("the agent does not start: {0}")]
    Spawn(#[from] SpawnError),
    /// The model does not start.
    #[error("cannot start the model: {0}")]
    Model(#[from] ModelError),
    /// A file of the run cannot be written.
    #[error("cannot write {path}: {source}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// A file name leads out of the run's directory, or does not begin with the name of one of its folders.
    #[error("invalid path `{0}`: must start with work/, home/, tmp/ or agent/, without `..`")]
    Path(String),
    /// A case contains invalid Base64.
    #[error("{place}: {reason}")]
    Base64 {
        /// Place in the case.
        place: String,
        /// Description of the error.
        reason: String,
    },
    /// A pattern is invalid.
    #[error("{place}: {source}")]
    Pattern {
        /// Place in the case.
        place: String,
        /// Description of the error.
        source: PatternError,
    },
    /// A step waits for a request to the model, but the case has no model.
    #[error("{place} waits for a request to the model, but the case has no model")]
    NoModel {
        /// Description of the step.
        place: String,
    },
    /// A setup command of the case failed.
    #[error("the setup command `{command}` failed: {reason}")]
    Setup {
        /// The shell command that failed.
        command: String,
        /// Description of the failure.
        reason: String,
    },
}
