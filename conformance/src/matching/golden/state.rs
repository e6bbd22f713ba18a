//! State of the comparison of two transcripts.

use std::collections::HashSet;

use super::allowance_finder::AllowanceFinder;
use super::choices::CaseChoices;
use super::rules::Rules;
use super::text::TextComparer;

/// State of a comparison.
#[derive(Debug)]
pub(super) struct ComparisonState<'a> {
    pub(super) rules: &'a Rules,
    pub(super) texts: TextComparer<'a>,
    pub(super) allowances: AllowanceFinder,
    /// Ids of tool calls that ran in parallel in the golden transcript.
    pub(super) overlapping: HashSet<String>,
    pub(super) same_agent: bool,
    /// `true` if the golden transcript was derived from the document, not recorded: see
    /// [`TranscriptStreams::is_derived`].
    ///
    /// [`TranscriptStreams::is_derived`]: super::transcript_streams::TranscriptStreams::is_derived
    pub(super) is_derived: bool,
    pub(super) choices: CaseChoices<'a>,
}
