//! Check of the agent's end.

use agentese::types::{CheckLevel, Scenario, ScenarioStep};

use super::failed;
use crate::Transcript;
use crate::decode::protocol;
use crate::verdict::{Finding, Outcome};

/// The end of an agent.
#[derive(Debug, Clone, Copy, PartialEq)]
struct AgentExit {
    /// Exit code, or the negative number of the signal.
    code: Option<i64>,
    /// `true` if the player had to end the agent.
    forced: bool,
    /// `true` if the case sent a signal to the agent.
    signalled: bool,
    /// `true` if the agent was still running when the time limit of the case for its end had passed.
    late: bool,
}

/// Checks the end of the agent's process, in addition to the comparison with the golden transcript.
///
/// A signal that the suite did not send is a crash. A late end is only a finding of the level *info*. If
/// there is no golden transcript, the agent must end by itself.
pub(super) fn exit(case: &Scenario, golden: Option<&Transcript>, observed: &Transcript) -> Finding {
    let wanted = golden.and_then(|golden| agent_exit(case, golden));
    let finding = |level, outcome| Finding { check: "end".to_owned(), level, outcome };
    let level = case.level.unwrap_or(CheckLevel::Should);
    let Some(came) = agent_exit(case, observed) else {
        return finding(
            level,
            Outcome::Unclear("the transcript does not contain the end of the agent".to_owned()),
        );
    };
    if crashed(came) && !wanted.is_some_and(crashed) {
        return finding(CheckLevel::Must, crash(observed));
    }
    if came.late && !wanted.is_some_and(|wanted| wanted.late) {
        // The time until the end also depends on the machine. If the agent does not end at all, the check
        // `exit` fails.
        return finding(
            CheckLevel::Info,
            failed("the agent was still running when the case expected its end"),
        );
    }
    if came.forced && golden.is_none() && protocol(&case.dialect).is_some() {
        // A case about the end has an expectation of its own.
        return finding(CheckLevel::Info, failed("the agent was terminated after the end of stdin"));
    }
    if came.forced && golden.is_none() {
        return finding(level, failed("the agent did not end after the end of stdin and was terminated"));
    }
    finding(level, Outcome::Held)
}

/// Returns the outcome for an agent that crashed, with its signal.
pub(super) fn crash(observed: &Transcript) -> Outcome {
    let signal = observed.end().and_then(|last| last.code.as_option().copied()).map_or(0, |code| -code);
    failed(format!("the agent crashed with signal {signal}"))
}

/// Returns `true` if a signal ended the agent that neither the player nor the case had sent.
fn crashed(end: AgentExit) -> bool {
    !end.forced && !end.signalled && end.code.is_some_and(|code| code < 0)
}

fn agent_exit(case: &Scenario, transcript: &Transcript) -> Option<AgentExit> {
    let last = transcript.end()?;
    let signals = transcript.signals().count();
    let own = case.steps.iter().filter(|step| matches!(step, ScenarioStep::Signal(_))).count();
    Some(AgentExit {
        code: last.code.as_option().copied(),
        forced: signals > own,
        signalled: own > 0,
        late: transcript.controls().any(|control| control.event == "still_running"),
    })
}
