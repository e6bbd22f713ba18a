//! What is said of an agent: checks, their findings, and the verdict on a case.

mod render;

use agentese::types::{CheckLevel, Direction};

pub use render::render;

/// What is said of a case as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// Every check holds.
    Pass,
    /// Every check holds, some only by an allowance that is named.
    Lenient,
    /// A check that counts does not hold.
    Fail,
    /// The case could not be judged: the agent did not start, or the suite itself failed.
    Inconclusive,
    /// The profile says that the agent does not have what the case is about.
    NotApplicable,
}

/// What came of one check.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The check's name, stable from version to version: files of expected failures use it.
    pub check: String,
    /// How much it weighs.
    pub level: CheckLevel,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a check.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It holds.
    Held,
    /// It holds by an allowance.
    Allowed {
        /// The allowance's name.
        allowance: String,
        /// What differs.
        mismatch: Mismatch,
    },
    /// It does not hold.
    Failed(Mismatch),
    /// It could not be made.
    Unclear(String),
}

/// A difference between what was expected and what came.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mismatch {
    /// What differs, in words.
    pub says: String,
    /// Where in the frame, as in `message.content[0].text`; empty where it is the frame as a whole.
    pub path: String,
    /// The frame that was expected; none where none was.
    pub expected: Option<Shown>,
    /// The frame that came; none where none came.
    pub found: Option<Shown>,
    /// The frames that came before it, oldest first.
    pub before: Vec<Shown>,
}

/// A line of a transcript, as it is shown to people.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Its place among the records of its transcript, from 0.
    pub record: usize,
    /// Which way it went.
    pub dir: Direction,
    /// The line.
    pub line: String,
}
