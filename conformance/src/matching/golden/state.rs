//! State of the comparison of two transcripts.

use std::collections::HashSet;

use super::choices::InCase;
use super::excuse::Excuses;
use super::rules::Rules;
use super::text::Texts;

/// State of a comparison.
#[derive(Debug)]
pub(super) struct State<'a> {
    pub(super) rules: &'a Rules,
    pub(super) texts: Texts<'a>,
    pub(super) excuses: Excuses,
    /// Calls that ran in parallel in the golden transcript.
    pub(super) overlapping: HashSet<String>,
    pub(super) same_agent: bool,
    /// `true` if the golden transcript shows no more than the document: see [`Reading::is_written`].
    ///
    /// [`Reading::is_written`]: super::reading::Reading::is_written
    pub(super) is_written: bool,
    pub(super) choices: InCase<'a>,
}
