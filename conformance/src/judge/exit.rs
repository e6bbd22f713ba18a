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
    /// Whether it was still running when the case wanted it to have ended.
    late: bool,
}

/// The agent ends by itself, with the exit code or by the signal of the golden transcript. A signal that
/// nobody sent is a crash.
pub(super) fn exit(case: &Scenario, golden: Option<&Transcript>, observed: &Transcript) -> Finding {
    let wanted = golden.and_then(|golden| end(case, golden));
    let mut level = match case.level {
        Some(CheckLevel::Info) => CheckLevel::Info,
        _ => CheckLevel::Should,
    };
    let outcome = match end(case, observed) {
        None => Outcome::Unclear("the end of the agent is not in the transcript".to_owned()),
        Some(came) => {
            let fault = fault(wanted, came);
            if fault.is_some() && crashed(wanted, came) {
                level = CheckLevel::Must;
            }
            fault.map_or(Outcome::Held, failed)
        }
    };
    Finding { check: "exit".to_owned(), level, outcome }
}

fn crashed(wanted: Option<End>, came: End) -> bool {
    let by_signal = |end: End| !end.forced && end.code.is_some_and(|code| code < 0);
    by_signal(came) && !wanted.is_some_and(by_signal)
}

fn fault(wanted: Option<End>, came: End) -> Option<String> {
    let was_forced = wanted.is_some_and(|wanted| wanted.forced);
    if came.late && !wanted.is_some_and(|wanted| wanted.late) {
        return Some("it was still running when it had to have ended".to_owned());
    }
    if came.forced {
        return (!was_forced)
            .then(|| "it did not end after its stdin was closed and had to be ended".to_owned());
    }
    let told = |code: i64| match code {
        code if code < 0 => format!("signal {}", -code),
        code => format!("exit code {code}"),
    };
    let code = came.code.unwrap_or_default();
    // An agent that ends where another had to be ended does better.
    match wanted.filter(|wanted| !wanted.forced).and_then(|wanted| wanted.code) {
        None => (code < 0).then(|| format!("it ended by {}", told(code))),
        Some(wanted) => (code != wanted).then(|| format!("{}, expected {}", told(code), told(wanted))),
    }
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
        late: controls.iter().any(|control| control.event == "still_running"),
    })
}
