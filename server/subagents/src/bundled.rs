//! The agent definitions bundled with the program.

/// The files with the definitions.
pub(super) const FILES: [&str; 5] = [
    include_str!("bundled/task.md"),
    include_str!("bundled/quick_task.md"),
    include_str!("bundled/explore.md"),
    include_str!("bundled/plan.md"),
    include_str!("bundled/reviewer.md"),
];
