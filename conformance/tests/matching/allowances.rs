//! Tests that each allowance permits the intended differences, and no similar ones.

use std::collections::BTreeSet;

use agentese::types::CaseAllowance;
use agentese_conformance::matching::tables::AllowanceScope;
use serde_json::{Value, json};

use crate::rows::{Lines, Row, bash, command_and_answer, data, failure, set_mode, succeeded, switch};
use crate::rows_others::others;
use crate::rows_pi::pi;
use crate::support::{DIALECTS, allowed, case, compared, compared_in, failure_lines, rules, transcript};

#[test]
fn each_allowance_permits_its_difference_and_rejects_a_near_miss() {
    for Row { dialect, allowance, golden, holds, misses } in pi().into_iter().chain(others()) {
        let held = compared(dialect, &golden, &holds);
        assert_eq!(failure_lines(&held), Vec::<String>::new(), "{dialect} {allowance} does not hold");
        assert_eq!(allowed(&held), [allowance], "{dialect} {allowance} is not the applied allowance");
        let missed = compared(dialect, &golden, &misses);
        assert!(
            !failure_lines(&missed).is_empty(),
            "{dialect} {allowance} is too wide: {:?}",
            missed.findings
        );
    }
}

#[test]
fn documented_arguments_may_not_be_rejected() {
    let mode = |answer: Value| set_mode("all", answer, "all");
    let refused = mode(failure(Some("m"), "set_steering_mode", "no such mode"));
    let found = compared("pi", &mode(succeeded("m", "set_steering_mode")), &refused);
    assert_eq!(failure_lines(&found), ["must answers success"]);
    let open = |answer: Value| switch("/work/good.jsonl", answer, 0);
    let found = compared(
        "pi",
        &open(succeeded("s", "switch_session")),
        &open(failure(Some("s"), "switch_session", "no")),
    );
    assert_eq!(failure_lines(&found), ["must answers success"]);
    // A permitted rejection explains only values that stay unchanged, and only until the next
    // success.
    let never = |answer: Value, queue: &str| set_mode("never", answer, queue);
    let set = || {
        command_and_answer(
            json!({"id": "t", "type": "set_steering_mode", "mode": "all"}),
            succeeded("t", "set_steering_mode"),
        )
    };
    let state = |mode: &str| data("get_state", json!({"steeringMode": mode, "followUpMode": "all"}));
    let golden = [never(succeeded("m", "set_steering_mode"), "never"), set(), state("all")].concat();
    let observed = [
        never(failure(Some("m"), "set_steering_mode", "no"), "one-at-a-time"),
        set(),
        state("one-at-a-time"),
    ]
    .concat();
    assert_eq!(failure_lines(&compared("pi", &golden, &observed)), ["should answers data.steeringMode"]);
}

#[test]
fn every_general_allowance_has_a_row() {
    let rows: BTreeSet<(&str, &str)> =
        pi().into_iter().chain(others()).map(|row| (row.dialect, row.allowance)).collect();
    let by_name: BTreeSet<&str> = rows.iter().map(|(_, name)| *name).collect();
    for dialect in DIALECTS {
        for allowance in rules(dialect).allowances().filter(|row| row.scope == AllowanceScope::Everywhere) {
            // The dialects of the pi family share their allowances.
            let family = ["pi", "omp", "pisces"].contains(&dialect) && by_name.contains(allowance.name);
            assert!(family || rows.contains(&(dialect, allowance.name)), "{dialect} {}", allowance.name);
        }
    }
}

fn bounds(from: Option<&str>, checks: Option<&[&str]>, path: Option<&str>) -> Vec<CaseAllowance> {
    let mut allowance = CaseAllowance::new("stops-every-command", "three commands run");
    allowance.from = from.map(str::to_owned);
    allowance.checks = checks.map(|checks| checks.iter().map(|check| (*check).to_owned()).collect());
    allowance.path = path.map(str::to_owned);
    vec![allowance]
}

#[test]
fn an_allowance_of_a_case_holds_within_its_bounds() {
    let of = |output: &str| {
        [bash(json!({"output": output})), data("abort_bash", json!({})), bash(json!({}))].concat()
    };
    let (golden, first) = (of("one\n"), of("other\n"));
    let mut last = golden.clone();
    last[5].1["data"]["output"] = json!("other\n");
    let check = |allow: Vec<CaseAllowance>, observed: &Lines, holds: bool| {
        let case = case(allow);
        let compared = compared_in("pi", &case, &transcript(&golden), &transcript(observed));
        assert_eq!(
            failure_lines(&compared).is_empty(),
            holds,
            "{:?}: {:?}",
            case.allow,
            failure_lines(&compared)
        );
    };
    check(Vec::new(), &last, false);
    check(bounds(None, None, None), &last, true);
    check(bounds(None, None, None), &first, true);
    check(bounds(Some("abort_bash"), None, None), &last, true);
    check(bounds(Some("abort_bash"), None, None), &first, false);
    check(bounds(Some("never_sent"), None, None), &last, false);
    check(bounds(None, Some(&["answers"]), Some(r"^data\.output$")), &last, true);
    // A path may start with the id of its answer.
    check(bounds(None, None, Some(r"^a data\.output$")), &last, true);
    check(bounds(None, None, Some(r"^b data\.output$")), &last, false);
    check(bounds(None, Some(&["events"]), None), &last, false);
    check(bounds(None, None, Some(r"^data\.exitCode$")), &last, false);
    // No allowance permits a missing answer.
    check(bounds(None, None, None), &golden[..5].to_vec(), false);
    // An unknown allowance is reported.
    let mut unknown = bounds(None, None, None);
    unknown[0].allow = "no-such-thing".to_owned();
    check(unknown, &golden, false);
}
