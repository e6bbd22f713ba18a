//! Tests of waits that time out: their duration, and their effect on other cases.

use agentese::types::Profile;
use agentese_conformance::Suite as Cases;
use agentese_conformance::run::{Progress, RunOptions, run};
use serde_json::{Value, json};

use crate::support::{AGENT, Suite, cases, profile, verdicts};

/// If all preflight cases time out, because the agent answers with a wrong id, the other cases are not
/// played.
#[test]
fn if_all_first_waits_time_out_the_rest_is_not_played() {
    let suite = Suite::new(
        "while read -r line; do echo '{\"id\":\"A\",\"type\":\"response\",\"command\":\"abort\",\"success\":true}'; done",
    );
    for at in 0..12 {
        let wait = json!({"wait": {"type": "response", "command": "abort", "id": "a"}, "timeout_ms": 300});
        suite.case(
            &format!("case-{at:02}"),
            &json!({"steps": [{"send": {"id": "a", "type": "abort"}}, wait]}),
        );
    }
    let (report, code) = suite.report(&["--jobs", "1"]);
    let counts = (report["totals"]["fail"].as_u64(), report["totals"]["inconclusive"].as_u64());
    assert_eq!((counts, code), ((Some(8), Some(4)), 1));
    let says = report["cases"][0]["checks"][0]["says"].as_str().unwrap();
    assert!(says.contains("`id` is \"A\", expected \"a\""), "{says}");
}

/// If an agent answers in some cases, all cases are played, even if the first ones time out.
#[test]
fn timeouts_in_some_cases_do_not_stop_the_run() {
    let suite = Suite::new(
        r#"while read -r line; do case "$line" in *never*) ;; *) echo '{"id":"a","type":"response","command":"abort","success":true}';; esac; done"#,
    );
    for at in 0..12 {
        let name = if [0, 3, 7, 11].contains(&at) { "never" } else { "now" };
        let wait = json!({"wait": {"id": "a"}, "timeout_ms": 300});
        let steps = json!([{"send": {"id": "a", "type": "abort", "name": name}}, wait]);
        suite.case(&format!("case-{at:02}"), &json!({"steps": steps, "expect": []}));
    }
    let (report, _) = suite.report(&["--jobs", "2"]);
    let totals = &report["totals"];
    assert_eq!((totals["fail"].as_u64(), totals["pass"].as_u64()), (Some(4), Some(8)), "{report}");
}

/// A crash of the agent ends a wait at once, and each case reports the crash.
#[test]
fn a_crash_is_no_timeout() {
    let suite = Suite::new(
        r#"while read -r line; do case "$line" in *crash*) exit 3;; *) echo '{"type":"response","command":"abort","success":true}';; esac; done"#,
    );
    for at in 0..12 {
        let steps = json!([{"send": {"id": "a", "type": "abort", "name": "crash"}}, {"wait": {"id": "a"}}]);
        suite.case(&format!("case-{at:02}"), &json!({"steps": steps, "expect": []}));
    }
    let (report, _) = suite.report(&["--jobs", "2"]);
    assert_eq!(report["totals"]["fail"], 12, "{report}");
}

/// A case that released its slot reacquires it when its agent answers. No other case starts in the meantime.
#[tokio::test]
async fn a_case_reacquires_its_slot_after_a_wait() {
    // The agent of the waiting case answers only after the next case has sent its command, which proves that
    // the slot was free.
    let folder = tempfile::tempdir().unwrap();
    let next = folder.path().join("next").display().to_string();
    let agent = format!(
        r#"while read -r line; do echo '{{"id":"a","type":"response","command":"abort","success":true}}'; case "$line" in *late*) until [ -e {next} ]; do sleep 0.05; done; echo '{{"late":true}}';; *now*) : > {next};; esac; done"#
    );
    let profile: Profile = serde_json::from_value(profile(&agent)).unwrap();
    let steps = |name: &str, more: Value| {
        let answer = json!({"wait": {"id": "a"}});
        json!({"steps": [{"send": {"id": "a", "type": "abort", "name": name}}, answer, more, {"pause_ms": 2500}]})
    };
    let cases = cases(&[
        ("a", steps("late", json!({"wait": {"late": true}, "timeout_ms": 60_000}))),
        ("b", steps("now", json!({"pause_ms": 1}))),
        ("c", steps("now", json!({"pause_ms": 1}))),
    ]);
    let options = RunOptions { jobs: 1, ..RunOptions::default() };
    let mut told = Vec::new();
    run(&Cases::embedded(), &profile, &cases, &options, &mut |progress| {
        told.push(match progress {
            Progress::Started(name) => format!("+{name}"),
            Progress::Finished(ran) => format!("-{}", ran.judgement.case.name),
        });
    })
    .await;
    let place = |what: &str| told.iter().position(|told| told == what).unwrap();
    assert!(place("+c") > place("-a") && place("+c") > place("-b"), "{told:?}");
}

/// The result of a case does not depend on the waits of other cases.
#[test]
fn every_case_waits_for_its_full_limit() {
    // The agent answers the probe. In a case, it answers only a client named `late`, after 1.5 s.
    let suite = Suite::new(
        r#"while read -r line; do case "$line" in *late*) sleep 1.5; echo '{"id":"a","type":"response","command":"abort","success":true,"late":true}';; *detect*) echo '{"type":"response","command":"abort","success":true}';; *good*) echo '{"type":"good"}';; esac; done"#,
    );
    let steps = |name: &str, wait: Value, ms: u64| json!([{"send": {"id": "a", "type": "abort", "name": name}}, {"wait": wait, "timeout_ms": ms}]);
    let late = json!({"late": true});
    for name in ["a", "b", "c"] {
        suite.case(name, &json!({"steps": steps("never", late.clone(), 300), "expect": []}));
    }
    suite.case("d", &json!({"steps": steps("good", json!({"type": "good"}), 60_000), "expect": []}));
    suite.case("e", &json!({"steps": steps("late", late, 60_000), "expect": []}));
    let (report, _) = suite.report(&["--jobs", "1"]);
    let verdicts = verdicts(&report);
    assert_eq!(verdicts[..3], ["a fail", "b fail", "c fail"]);
    assert_eq!(verdicts[4], "e pass", "{report}");
}

/// Cases with a silent agent wait concurrently.
#[tokio::test]
async fn timeouts_run_concurrently() {
    let profile: Profile = serde_json::from_value(profile(AGENT)).unwrap();
    let steps = json!([{"send": {"id": "a", "type": "abort"}}, {"wait": {"id": "a"}}, {"wait": {"type": "never"}, "timeout_ms": 5000}]);
    let cases = cases(&[
        ("a", json!({"steps": steps.clone()})),
        ("b", json!({"steps": steps.clone()})),
        ("c-alone", json!({"alone": true})),
    ]);
    let options = RunOptions { jobs: 1, ..RunOptions::default() };
    let (mut playing, mut most) = (0, 0);
    let ran = run(&Cases::embedded(), &profile, &cases, &options, &mut |progress| match progress {
        Progress::Started(name) => {
            playing += 1;
            most = most.max(playing);
            assert!(name != "c-alone" || playing == 1);
        }
        Progress::Finished(_) => playing -= 1,
    })
    .await;
    assert_eq!(
        (most, ran[0].wait_timed_out, ran[1].wait_timed_out, ran[2].wait_timed_out),
        (2, true, true, false)
    );
}
