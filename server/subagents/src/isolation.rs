//! Copies of the repository: each isolated subagent works in a copy of its own, which starts with the current
//! files, including uncommitted changes.
//!
//! ```text
//! <worktrees>/<name>.lease    locked while its owner lives; names the repository and the branches
//! <worktrees>/<name>/git      the git directory of the call, with its settings and its own objects
//! <worktrees>/<name>/         temporary indexes and patches, and the copies, each with its own git directory
//! ```
//!
//! Only a merge writes to the repository. Git directories share the objects of the repository and have its
//! relevant settings ([`settings`]). Git never uses the repository's own configuration, nor the configuration
//! of a copy, which a subagent may have written. The next start removes the copies of a killed owner
//! ([`sweep`]).

mod base;
mod cleanup;
mod git;
mod lease;
mod merge;
mod repository;
mod settings;

pub use cleanup::sweep;
pub use lease::{Worktree, WorktreeLease};
pub use merge::{Commit, MergeResult};
