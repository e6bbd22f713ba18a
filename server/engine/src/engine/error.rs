//! Reasons for a rejection by an engine.

use super::policies::compaction::NothingToCompactError;

/// Reason for rejecting a prompt. The prompt has changed nothing, and no event is emitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// A run is in progress, and the prompt names no queue to wait in.
    // The text is the pi document's.
    #[error(
        "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
    )]
    Busy,
    /// There is no model.
    #[error("No model is selected: {0}")]
    NoModel(String),
    /// The model has no key.
    #[error("{0}")]
    MissingKey(String),
    /// The prompt has no visible content, and no model API accepts it.
    #[error("The message is blank: it has neither visible text nor an image. Send some text or an image")]
    Blank,
    /// A model cannot receive an image.
    #[error("images[{index}]: {reason}")]
    Image {
        /// Index of the image, from 0.
        index: usize,
        /// Reason why the model cannot receive the image.
        reason: String,
    },
    /// A requested compaction is in progress.
    #[error("The conversation is being compacted; send the prompt when that is done")]
    Compacting,
    /// The prompt would be queued, and the queues are full.
    #[error(transparent)]
    QueueFull(#[from] super::input_queues::QueueFullError),
    /// A limit of the session's budget is reached.
    // The text is the one that pisces gives.
    #[error("Session budget exceeded ({0})")]
    Budget(agentese::types::BudgetViolationReason),
    /// A remote agent does the work, and rejects the prompt.
    #[error("{0}")]
    Remote(String),
    /// The engine is shutting down.
    #[error("The agent is shutting down")]
    Closing,
}

/// Reason why a conversation was not compacted. The conversation is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// There is nothing to compact.
    #[error("{0}")]
    NothingToCompact(String),
    /// There is no model.
    #[error("No model is selected: {0}")]
    NoModel(String),
    /// The model has no key.
    #[error("{0}")]
    MissingKey(String),
    /// The compaction was cancelled.
    // The text is pi's.
    #[error("Compaction cancelled")]
    Cancelled,
    /// No usable summary was created.
    #[error("{0}")]
    Failed(String),
    /// The engine is shutting down.
    #[error("The agent is shutting down")]
    Closing,
}

impl From<NothingToCompactError> for CompactError {
    fn from(nothing: NothingToCompactError) -> Self {
        Self::NothingToCompact(nothing.to_string())
    }
}
