//! Decisions about a conversation: retries, compaction, rules, reminders, and the work after a run.

pub(in crate::engine) mod built_in;
pub(in crate::engine) mod compaction;
pub(in crate::engine) mod continuation;
pub(in crate::engine) mod post_run;
pub(in crate::engine) mod retry;
pub(in crate::engine) mod rules;
pub(in crate::engine) mod todo_reminders;
