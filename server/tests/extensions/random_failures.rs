//! Tests of guards that fail at random: no tool runs without the permission of its guard.

use std::collections::BTreeSet;
use std::io::Write as _;

use serde_json::{Value, json};

use super::host::{check_runs, command, settings};
use crate::support::dice::{Dice, number, seed};
use crate::support::process::{Agent, Place};

/// Number of agents in the test. `AGENTESE_STORMS` overrides it.
const ROUNDS: u64 = 6;
const CALLS: u64 = 10;
/// Ways in which a guard reacts to a call.
const FAILURES: [&str; 10] =
    ["allow", "allow", "allow", "block", "kill", "exit", "hang", "cut", "noise", "foreign"];

#[test]
fn fm_f92_no_call_runs_without_permission_of_a_failing_guard() {
    let seed = seed();
    let storms = number("AGENTESE_STORMS").unwrap_or(ROUNDS);
    let _ = writeln!(std::io::stderr(), "AGENTESE_SEED={seed} AGENTESE_STORMS={storms}");
    let mut dice = Dice(seed);
    for _ in 0..storms {
        let plan: Vec<_> = (0..CALLS).map(|_| FAILURES[dice.roll() as usize % FAILURES.len()]).collect();
        check_failures(&plan, dice.roll() % 4);
    }
}

#[track_caller]
fn check_failures(plan: &[&str], restarts: u64) {
    let place = Place::new();
    // Only a guard that hangs needs a short time limit.
    let limit = if plan.contains(&"hang") { 300 } else { 60_000 };
    settings(&place, json!({"restarts": restarts, "hookTimeoutMs": limit}));
    let call = |number: u64| {
        let arguments = json!({"command": format!("touch ran-{number}")});
        json!({"blocks": [{"tool": {"id": format!("call{number}"), "name": "bash", "args": arguments}}]})
    };
    let calls: Vec<Value> = (0..CALLS).map(call).collect();
    let script = json!({"responses": calls, "default": {"text": "done"}});
    let mut command = command(&place, &["storm"], script);
    command.env("STORM", plan.join(","));
    let mut agent = Agent::start(command);
    agent.prompt("go");
    let frames = agent.until_event("agent_end");
    check_runs(&agent.seen);
    let ends = frames.iter().filter(|frame| frame["type"] == "tool_execution_end").count();
    assert_eq!(ends as u64, CALLS, "{plan:?}");
    let allowed = std::fs::read_to_string(place.work().join("allowed")).unwrap_or_default();
    let allowed: BTreeSet<&str> = allowed.lines().collect();
    let ran: BTreeSet<String> = (0..CALLS)
        .map(|number| format!("ran-{number}"))
        .filter(|file| place.work().join(file).exists())
        .map(|file| format!("touch {file}"))
        .collect();
    for call in &ran {
        assert!(allowed.contains(call.as_str()), "{call} ran unguarded: {plan:?}, restarts: {restarts}");
    }
    // With a long time limit, every permission takes effect.
    if limit > 1000 {
        assert_eq!(ran.len(), allowed.len(), "{plan:?}, restarts: {restarts}");
    }
    assert_eq!(agent.finish().0.code(), Some(0), "{plan:?}");
}
