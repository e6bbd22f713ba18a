//! Copies of the repository: each isolated subagent works in a git worktree of its own, which begins with the files as they
//! are, changes that are not committed among them.
//!
//! ```text
//! <worktrees>/<name>.lease    locked while its owner lives; says which repository, and which branches
//! <worktrees>/<name>/         objects, indexes and patches on the way, and the worktrees themselves
//! ```
//!
//! Nothing is written to the repository but the administrative folder of a worktree, and what merging writes. What an owner
//! that was killed left behind is put away at the next start ([`sweep`]).

mod base;
mod clean;
mod git;
mod lease;
mod merge;

pub use clean::sweep;
pub use lease::{Lease, Worktree};
pub use merge::{Commit, Merged};
