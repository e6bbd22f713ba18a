//! The checks of client mode, and their outcomes.

use std::collections::BTreeMap;

use agentese::types::CheckLevel;

use crate::verdict::{Finding, Mismatch, Outcome};

/// The checks: name, level, and requirement.
pub const CHECKS: &[(&str, CheckLevel, &str)] = &[
    ("driver", CheckLevel::Must, "the driver follows the driver protocol and does not crash"),
    ("reading", CheckLevel::Must, "the client always reads the output of the agent"),
    ("framing", CheckLevel::Must, "each line is one JSON object in UTF-8 and ends with a line feed"),
    ("commands", CheckLevel::Must, "each called command is sent with its members, and no other command"),
    ("answers", CheckLevel::Must, "each call receives its own answer, once, with all members"),
    (
        "attribution",
        CheckLevel::Should,
        "a failure without an id is assigned to the oldest call that matches",
    ),
    ("events", CheckLevel::Must, "each event is reported once, in order, with all members"),
    ("dialogs", CheckLevel::Must, "each question is reported, and its own answer is sent"),
    ("notices", CheckLevel::Should, "each notice is reported"),
    ("runs", CheckLevel::Should, "each accepted run ends once, after its events"),
    ("end", CheckLevel::Must, "after the end of the agent each pending call fails, and the end is reported"),
    ("exit-code", CheckLevel::Should, "the exit code or signal of the agent is reported"),
];

/// Outcomes of the checks of one case. Checks that were not made are not in the map.
#[derive(Debug, Default)]
pub(super) struct Checks(BTreeMap<&'static str, Outcome>);

impl Checks {
    /// Records that the check holds, unless it already has an outcome.
    pub(super) fn hold(&mut self, check: &'static str) {
        self.0.entry(check).or_insert(Outcome::Held);
    }

    /// Records that an allowance permits a mismatch. An earlier failure is not replaced.
    pub(super) fn allow(&mut self, check: &'static str, allowance: &str, mismatch: Mismatch) {
        let outcome = self.0.entry(check).or_insert(Outcome::Held);
        if *outcome == Outcome::Held {
            *outcome = Outcome::Allowed { allowance: allowance.to_owned(), mismatch };
        }
    }

    /// Records that the check failed. Keeps the first failure.
    pub(super) fn fail(&mut self, check: &'static str, mismatch: Mismatch) {
        let outcome = self.0.entry(check).or_insert(Outcome::Held);
        if !matches!(outcome, Outcome::Failed(_)) {
            *outcome = Outcome::Failed(mismatch);
        }
    }

    /// Returns the findings in the order of [`CHECKS`]. In a case of the level *info*, all findings have this
    /// level.
    pub(super) fn findings(mut self, case: CheckLevel) -> Vec<Finding> {
        let weight = |level: &CheckLevel| match level {
            CheckLevel::Must => 2,
            CheckLevel::Should => 1,
            CheckLevel::Info => 0,
        };
        let made = CHECKS.iter().filter_map(|(check, level, _)| {
            let outcome = self.0.remove(check)?;
            // In a case of level `info`, all checks of a client have this level too.
            let level = if case == CheckLevel::Info && weight(level) > 0 { case } else { *level };
            Some(Finding { check: (*check).to_owned(), level, outcome })
        });
        made.collect()
    }
}
