//! How the agent ended.

use agentese::types::{CheckLevel, Scenario, ScenarioStep, TranscriptControl};

use super::failed;
use crate::Transcript;
use crate::transcript::Record;
use crate::verdict::{Finding, Outcome};

/// The end of an agent.
#[derive(Debug, Clone, Copy, PartialEq)]
struct End {
    /// The exit code, or the signal's number, negative.
    code: Option<i64>,
    /// Whether the player had to end it.
    forced: bool,
    /// Whether the case sent it a signal.
    signalled: bool,
    /// Whether it was still running when the case wanted it to have ended.
    late: bool,
}

/// How the agent ends, as far as comparing with the golden transcript does not tell: it has ended when it
/// has to, and a signal that nobody sent is a crash. Where there is no golden transcript, it ends by itself.
pub(super) fn exit(case: &Scenario, golden: Option<&Transcript>, observed: &Transcript) -> Finding {
    let wanted = golden.and_then(|golden| end(case, golden));
    let finding = |level, outcome| Finding { check: "end".to_owned(), level, outcome };
    let level = case.level.unwrap_or(CheckLevel::Should);
    let Some(came) = end(case, observed) else {
        return finding(
            level,
            Outcome::Unclear("the transcript does not say how the agent ended".to_owned()),
        );
    };
    if crashed(came) && !wanted.is_some_and(crashed) {
        let signal = came.code.map_or(0, |code| -code);
        return finding(CheckLevel::Must, failed(format!("it crashed: signal {signal}")));
    }
    if came.late && !wanted.is_some_and(|wanted| wanted.late) {
        return finding(level, failed("it was still running when it had to have ended"));
    }
    if came.forced && golden.is_none() {
        return finding(level, failed("it did not end after its stdin was closed and had to be ended"));
    }
    finding(level, Outcome::Held)
}

/// Ended by a signal that nobody sent.
fn crashed(end: End) -> bool {
    !end.forced && !end.signalled && end.code.is_some_and(|code| code < 0)
}

fn end(case: &Scenario, transcript: &Transcript) -> Option<End> {
    let controls: Vec<&TranscriptControl> = transcript
        .records
        .iter()
        .filter_map(|record| match record {
            Record::Control(control) => Some(control),
            _ => None,
        })
        .collect();
    let last = controls.iter().rev().find(|control| control.event == "exit")?;
    let signals = controls.iter().filter(|control| control.event.starts_with("signal ")).count();
    let own = case.steps.iter().filter(|step| matches!(step, ScenarioStep::Signal(_))).count();
    Some(End {
        code: last.code.as_option().copied(),
        forced: signals > own,
        signalled: own > 0,
        late: controls.iter().any(|control| control.event == "still_running"),
    })
}
