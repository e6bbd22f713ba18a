//! Why an engine refuses.

use super::compaction::NothingToDo;

/// Why a prompt was refused. Nothing changed then, and no event is sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// A run is going on, and the prompt does not say what becomes of it.
    // The text is the pi document's.
    #[error(
        "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
    )]
    Busy,
    /// There is no model to ask.
    #[error("No model is selected: {0}")]
    NoModel(String),
    /// The model cannot be asked, for want of a key.
    #[error("{0}")]
    NotReady(String),
    /// Nothing in it can be seen, and no API of a model takes it.
    #[error("The message is blank: it has neither visible text nor an image. Send some text or an image")]
    Blank,
    /// An image cannot be shown to a model.
    #[error("images[{index}]: {reason}")]
    Image {
        /// Which one, from 0.
        index: usize,
        /// Why.
        reason: String,
    },
    /// A compaction that was asked for is going on.
    #[error("The conversation is being compacted; send the prompt when that is done")]
    Compacting,
    /// It would wait, and too much waits already.
    #[error(transparent)]
    Full(#[from] super::queue::QueuesFull),
    /// A limit of the session's budget is reached.
    // The text is the one that pisces gives.
    #[error("Session budget exceeded ({0})")]
    Budget(agentese::types::BudgetViolationReason),
    /// Another agent does the work, and it refuses.
    #[error("{0}")]
    Led(String),
    /// The engine is being shut down.
    #[error("The agent is shutting down")]
    Closing,
}

/// Why a conversation was not compacted. Nothing changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// There is nothing to compact.
    #[error("{0}")]
    Nothing(String),
    /// There is no model to ask.
    #[error("No model is selected: {0}")]
    NoModel(String),
    /// The model cannot be asked.
    #[error("{0}")]
    NotReady(String),
    /// Somebody stopped it.
    // The text is pi's.
    #[error("Compaction cancelled")]
    Cancelled,
    /// The model failed.
    #[error("{0}")]
    Failed(String),
    /// The engine is being shut down.
    #[error("The agent is shutting down")]
    Closing,
}

impl From<NothingToDo> for CompactError {
    fn from(nothing: NothingToDo) -> Self {
        Self::Nothing(nothing.to_string())
    }
}
