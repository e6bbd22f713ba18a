//! Compaction: a summary replaces the older part of a conversation.
//!
//! The entries of the active branch determine the part to summarise and the request to the model. The functions are
//! pure, except those of `execution` and `summary`, which make the request.
//!
//! | file | concept |
//! |---|---|
//! | `execution` | the compaction of an engine's conversation |
//! | `token_estimate` | the number of tokens in a conversation, and the check of the limit |
//! | `cut_point` | the start of the kept part |
//! | `branch`, `branch_entry` | the active branch and its entries, in the form for compaction |
//! | `plan` | the part to summarise, and the composition of the result |
//! | `transcript_text` | a conversation as text |
//! | `summary_request`, `summary` | the request to the model, and its answer |
//! | `file_operations` | the files that were read and changed |

pub(in crate::engine) mod branch;
mod branch_entry;
mod cut_point;
pub(in crate::engine) mod execution;
mod file_operations;
mod plan;
pub(in crate::engine) mod summary;
mod summary_request;
mod token_estimate;
mod transcript_text;

pub(in crate::engine) use branch_entry::{BranchEntry, EntryKind, PreviousCompaction};
pub(in crate::engine) use cut_point::KeptAmount;
pub(in crate::engine) use plan::{NothingToCompactError, Plan, plan};
pub(in crate::engine) use summary_request::{SummaryPart, request, system_prompt};
pub(in crate::engine) use token_estimate::{
    ConversationSnapshot, MessageHistory, context_tokens, counted_tokens, estimate, is_due, scale_to_estimate,
};

/// Choice of the events about an automatic compaction that had nothing to compact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IdleCompactionEvents {
    /// The events are emitted, and their text gives the reason.
    #[default]
    WithReason,
    /// The events are emitted. The reason is omitted if the conversation has just been compacted.
    WithoutAlreadyCompacted,
    /// No event is emitted about the compaction.
    Hidden,
}

/// Differences between agents in compactions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompactionPolicy {
    /// `true` if an answer that was interrupted by a compaction is removed from the context. The session file keeps
    /// it.
    pub drops_interrupted_answer: bool,
    /// `true` if the tokens that a compaction keeps are counted as the provider counts them; `false` if they are
    /// estimated.
    pub keeps_provider_tokens: bool,
    /// Choice of the events about an automatic compaction that had nothing to compact.
    pub idle_events: IdleCompactionEvents,
    /// `true` if the parts of a summary are requested one after the other; otherwise side by side.
    pub summarizes_sequentially: bool,
}

impl CompactionPolicy {
    /// Returns `true` if the end event of an automatic compaction that did nothing leaves out `reason`.
    fn omits_reason(&self, reason: &str) -> bool {
        self.idle_events == IdleCompactionEvents::WithoutAlreadyCompacted
            && reason == NothingToCompactError::AlreadyCompacted.to_string()
    }
}
