//! Copies of the repository: each isolated subagent works in a copy of its own, which begins with the files as they
//! are, changes that are not committed among them.
//!
//! ```text
//! <worktrees>/<name>.lease    locked while its owner lives; says which repository, and which branches
//! <worktrees>/<name>/git      the git directory of the call, with its settings and the objects that are not the user's
//! <worktrees>/<name>/         indexes and patches on the way, and the copies themselves, each with a git directory of its own
//! ```
//!
//! Nothing is written to the repository but what merging writes. Git directories share the objects of the repository and
//! have the settings of it that count ([`settings`]): git never follows the repository's own configuration, and never
//! that of a copy, which a subagent may have written. What an owner
//! that was killed left behind is put away at the next start ([`sweep`]).

mod base;
mod clean;
mod git;
mod lease;
mod merge;
mod repository;
mod settings;

pub use clean::sweep;
pub use lease::{Lease, Worktree};
pub use merge::{Commit, Merged};
