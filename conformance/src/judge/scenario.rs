//! Check that the client reached the end of the scenario.

use agentese::types::CheckLevel;

use super::{failed, wrong_line};
use crate::Transcript;
use crate::player::PlayResult;
use crate::transcript::Record;
use crate::verdict::{Finding, Outcome};

/// Checks that the scenario reached its end. After a failed wait, the finding contains the awaited frame
/// and the last line.
pub(super) fn scenario(level: CheckLevel, played: &PlayResult, observed: &Transcript) -> Finding {
    let is_of_agent = |record: &Record| matches!(record, Record::Received(_));
    let outcome = match &played.broke_off {
        None => Outcome::Held,
        Some(reason) => match observed.records.iter().rposition(is_of_agent) {
            None => failed(format!("{reason}; the agent sent no line")),
            Some(last) => wrong_line(observed, last, format!("{reason}; the last line of the agent follows")),
        },
    };
    Finding { check: "scenario".to_owned(), level, outcome }
}
