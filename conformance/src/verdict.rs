//! Checks, their findings, and the verdict on a case.

mod render;

use agentese::types::{CheckLevel, Direction};

pub use render::render;

/// Verdict on a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// All checks hold.
    Pass,
    /// All checks hold, but some only because of a named allowance.
    Lenient,
    /// At least one check failed whose level can make a case fail.
    Fail,
    /// The case could not be judged: the agent did not start, or the suite itself failed.
    Inconclusive,
    /// The profile excludes something that the case tests.
    NotApplicable,
}

/// Result of one check.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Name of the check. It does not change between versions, because files of expected failures contain it.
    pub check: String,
    /// Level of the check.
    pub level: CheckLevel,
    /// Outcome of the check.
    pub outcome: Outcome,
}

/// Outcome of a check.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The check holds.
    Held,
    /// The check holds by an allowance.
    Allowed {
        /// Name of the allowance.
        allowance: String,
        /// The allowed difference.
        mismatch: Mismatch,
    },
    /// The check failed.
    Failed(Mismatch),
    /// The check could not be made, for this reason.
    Unclear(String),
}

/// A difference between the expected and the found frame.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mismatch {
    /// Description of the difference.
    pub message: String,
    /// Path in the frame, as in `message.content[0].text`; empty for the frame as a whole.
    pub path: String,
    /// The expected frame; `None` if no frame was expected.
    pub expected: Option<LineExcerpt>,
    /// The found frame; `None` if no frame was found.
    pub found: Option<LineExcerpt>,
    /// Excerpts of the frames before the difference, oldest first.
    pub before: Vec<LineExcerpt>,
}

/// Excerpt of a transcript's line, for reports.
#[derive(Debug, Clone, PartialEq)]
pub struct LineExcerpt {
    /// Index of the line's record in its transcript, from 0.
    pub record: usize,
    /// Direction of the line.
    pub dir: Direction,
    /// Text of the line.
    pub line: String,
}
