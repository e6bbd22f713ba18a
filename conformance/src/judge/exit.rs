//! How the agent ended.

use agentese::types::{CheckLevel, Scenario, ScenarioStep};

use super::failed;
use crate::Transcript;
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
        return finding(CheckLevel::Must, crash(observed));
    }
    if came.late && !wanted.is_some_and(|wanted| wanted.late) {
        // How long an end takes is a matter of the machine too. One that does not come at all fails `exit`.
        return finding(CheckLevel::Info, failed("it was still running when the case looked for its end"));
    }
    if came.forced && golden.is_none() {
        return finding(level, failed("it did not end after its stdin was closed and had to be ended"));
    }
    finding(level, Outcome::Held)
}

/// What is said of an agent that a signal ended.
pub(super) fn crash(observed: &Transcript) -> Outcome {
    let signal = observed.end().and_then(|last| last.code.as_option().copied()).map_or(0, |code| -code);
    failed(format!("it crashed: signal {signal}"))
}

/// Ended by a signal that nobody sent.
fn crashed(end: End) -> bool {
    !end.forced && !end.signalled && end.code.is_some_and(|code| code < 0)
}

fn end(case: &Scenario, transcript: &Transcript) -> Option<End> {
    let last = transcript.end()?;
    let signals = transcript.signals().count();
    let own = case.steps.iter().filter(|step| matches!(step, ScenarioStep::Signal(_))).count();
    Some(End {
        code: last.code.as_option().copied(),
        forced: signals > own,
        signalled: own > 0,
        late: transcript.controls().any(|control| control.event == "still_running"),
    })
}
