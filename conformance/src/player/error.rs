//! Why a case cannot be played.

use std::path::PathBuf;

use agentese::transport::SpawnError;

use crate::matching::PatternError;
use crate::model::ModelError;

/// Why a case cannot be played at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlayError {
    /// Neither the command line nor the profile say what to start.
    #[error("the profile `{profile}` names no command: give one behind `--`")]
    NoCommand {
        /// The profile.
        profile: String,
    },
    /// The agent does not start.
    #[error("the agent does not start: {0}")]
    Spawn(#[from] SpawnError),
    /// The model does not start.
    #[error("the model does not start: {0}")]
    Model(#[from] ModelError),
    /// A file of the run cannot be made.
    #[error("cannot lay out {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file's name leads out of the run's directory, or does not begin with one of its parts.
    #[error("`{0}` is no path of a run: it begins with work/, home/, tmp/ or agent/ and has no `..`")]
    Path(String),
    /// Base64 in a case is none.
    #[error("{place}: {reason}")]
    Base64 {
        /// Where it stands.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A pattern is wrong.
    #[error("{place}: {source}")]
    Pattern {
        /// Where it stands.
        place: String,
        /// What is wrong with it.
        source: PatternError,
    },
    /// A step waits for the model to be asked, and the case has none.
    #[error("{place} waits until the model is asked, and the case has no model")]
    NoModel {
        /// The step.
        place: String,
    },
    /// A command that prepares the case fails.
    #[error("the setup command `{command}` fails: {reason}")]
    Setup {
        /// The command.
        command: String,
        /// How it fails.
        reason: String,
    },
}
