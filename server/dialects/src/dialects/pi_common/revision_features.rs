//! Differences between the revisions of the pi family, as one table.

use agentese::spec::Spec;
use agentese::types::AgentSettled;

use super::convert::declares;

/// Features of a revision. The declaration lists the commands, events and members of a revision; this table has the
/// differences in behavior behind the same names.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::dialects) struct RevisionFeatures {
    /// `true` if a run includes all retries, compactions and queued input that follow it, and an event ends all work.
    pub settles: bool,
    /// `true` if an update of an answer contains only the new text.
    pub updates_are_deltas: bool,
    /// `true` if the response to a prompt reports whether it has started a run. The response to a command of an
    /// extension then follows the end of that command, and other commands do not wait for it.
    pub reports_input: bool,
    /// `true` if `is_streaming` also covers the work between the runs of a prompt.
    pub streams_until_settled: bool,
    /// `true` if models have all members that the engine knows.
    pub describes_models: bool,
    /// `true` if commands have an origin in place of a location.
    pub commands_have_origins: bool,
    /// `true` if the response to a fork has the text only if a session was created.
    pub fork_text_needs_session: bool,
    /// `true` if a compaction that a client requests aborts the current run first, and emits events.
    pub compaction_emits_events: bool,
    /// `true` if a shell command can be hidden from the model.
    pub hides_shell_commands: bool,
    /// `true` if no event reports the work that the end of input stops.
    pub silent_after_input_end: bool,
    /// `true` if the name of a session is stored as one line.
    pub one_line_names: bool,
    /// `true` if `max` is a thinking level.
    pub has_max_thinking: bool,
    /// `true` if the statistics of a session contain the usage of the context.
    pub stats_have_context: bool,
}

/// The first revision of pi, and all revisions of omp and pisces.
const FIRST: RevisionFeatures = RevisionFeatures {
    settles: false,
    updates_are_deltas: false,
    reports_input: false,
    streams_until_settled: false,
    describes_models: false,
    commands_have_origins: false,
    fork_text_needs_session: false,
    compaction_emits_events: false,
    hides_shell_commands: false,
    silent_after_input_end: false,
    one_line_names: false,
    has_max_thinking: false,
    stats_have_context: false,
};

/// The revisions of pi since 1.5.
const SINCE_PI_1_5: RevisionFeatures = RevisionFeatures {
    settles: true,
    updates_are_deltas: true,
    reports_input: true,
    streams_until_settled: true,
    describes_models: true,
    commands_have_origins: true,
    fork_text_needs_session: true,
    compaction_emits_events: true,
    hides_shell_commands: true,
    silent_after_input_end: true,
    one_line_names: true,
    has_max_thinking: true,
    stats_have_context: true,
};

impl RevisionFeatures {
    /// Returns the features of a revision.
    pub fn of(spec: &Spec) -> &'static Self {
        // The event came with pi 1.5, and later revisions inherit it.
        if declares::<AgentSettled>(spec) { &SINCE_PI_1_5 } else { &FIRST }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_of_pi_since_1_5_share_their_features() {
        let features = |revision: &str| {
            let specs = agentese::pi::REVISIONS.iter().copied();
            let spec = specs.into_iter().find(|spec| spec.revision == revision);
            RevisionFeatures::of(spec.unwrap_or_else(|| panic!("pi@{revision} is not declared")))
        };
        assert_eq!(features("0.55"), &FIRST);
        assert_eq!(features("1.5"), &SINCE_PI_1_5);
        assert_eq!(features("1.6"), &SINCE_PI_1_5);
        assert_eq!(RevisionFeatures::of(&agentese::pisces::SPEC), &FIRST);
    }
}
