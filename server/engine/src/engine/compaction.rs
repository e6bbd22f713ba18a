//! Compaction: a summary takes the place of the older part of a conversation.
//!
//! Everything here is pure: what is to be summarised is decided from the entries of the active
//! branch, and what the model is asked is made of that. The shell that asks is `engine::compact`.
//!
//! | file | concept |
//! |---|---|
//! | `estimate` | how many tokens a conversation takes, and whether that is too much |
//! | `cut` | where the kept part begins |
//! | `item` | the entries, as far as it cares |
//! | `plan` | what is summarised, and what the result is made of |
//! | `written` | a conversation as text |
//! | `ask` | what the model is asked |
//! | `files` | the files that were read and changed |

mod ask;
mod cut;
mod estimate;
mod files;
mod item;
mod plan;
mod written;

pub(super) use ask::{Part, request, system_prompt};
pub(super) use cut::Keep;
pub(super) use estimate::{
    Conversation, Snapshot, context_tokens, counted_tokens, estimate, is_due, kept_by_count,
};
pub(super) use item::{Item, Kind, Previous};
pub(super) use plan::{NothingToDo, Plan, plan};
