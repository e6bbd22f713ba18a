//! Compaction: a summary replaces the older part of a conversation.
//!
//! All functions here are pure. The entries of the active branch determine the part to summarise and the request to the
//! model. The module `engine::compact` makes the request.
//!
//! | file | concept |
//! |---|---|
//! | `estimate` | the number of tokens in a conversation, and the check of the limit |
//! | `cut` | the start of the kept part |
//! | `item` | the entries, in the form for compaction |
//! | `plan` | the part to summarise, and the composition of the result |
//! | `written` | a conversation as text |
//! | `ask` | the request to the model |
//! | `files` | the files that were read and changed |

mod ask;
mod cut;
mod estimate;
mod files;
mod item;
mod plan;
mod written;

pub(super) use ask::{SummaryPart, request, system_prompt};
pub(super) use cut::KeptAmount;
pub(super) use estimate::{
    ConversationSnapshot, MessageHistory, context_tokens, counted_tokens, estimate, is_due, scale_to_estimate,
};
pub(super) use item::{BranchEntry, EntryKind, PreviousCompaction};
pub(super) use plan::{NothingToCompactError, Plan, plan};
