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
