//! Tests of known failures.

use serde_json::{Value, json};

use crate::support::{AGENT, Suite, answers, text, verdicts};

/// Creates a suite of three cases: `good` passes, `bad` fails in the check `expect answers`, and `other`
/// does not apply to this agent.
fn suite() -> Suite {
    let suite = Suite::new(AGENT);
    suite.case("bad", &json!({"expect": answers(false, "must")}));
    suite.case("good", &json!({}));
    suite.case("other", &json!({"needs": ["extensions"]}));
    suite
}

fn lines(lines: &[(&str, &str)]) -> Value {
    let lines = lines.iter().map(|(case, check)| {
        // In these cases, the member `success` of an answer is wrong.
        json!({"case": case, "check": check, "path": "success", "reason": "a reason"})
    });
    json!({"expected_failures": 1, "failures": lines.collect::<Vec<_>>()})
}

fn run(expected: &Value, more: &[&str]) -> (Value, i32) {
    let suite = suite();
    suite.write("expected.json", expected);
    let path = suite.file("expected.json");
    let mut arguments = vec!["--expected", path.to_str().unwrap()];
    arguments.extend(more);
    suite.report(&arguments)
}

#[test]
fn a_known_failure_is_no_failure() {
    let (report, code) = run(&lines(&[("bad", "expect answers")]), &[]);
    assert_eq!(
        (verdicts(&report), code),
        (vec!["bad fail*".into(), "good pass".into(), "other not_applicable".into()], 0)
    );
    assert_eq!(report["totals"]["expected_failure"], 1);
    let checks = report["cases"][0]["checks"].as_array().unwrap();
    let known: Vec<_> = checks.iter().filter(|check| check["known"] == "a reason").collect();
    assert_eq!(known.len(), 1, "{checks:?}");
}

#[test]
fn a_failure_that_is_not_known_fails_the_run() {
    let (report, code) = run(&lines(&[]), &[]);
    assert_eq!((verdicts(&report)[0].as_str(), code), ("bad fail", 1));
    // A known failure of another check has no effect.
    let (report, code) = run(&lines(&[("bad", "leaks")]), &[]);
    assert_eq!((verdicts(&report)[0].as_str(), code), ("bad fail", 1));
}

#[test]
fn a_stale_line_fails_the_run() {
    let known = ("bad", "expect answers");
    let table: [(&[(&str, &str)], &str); 6] = [
        (
            &[known, ("good", "expect answers")],
            "`expect answers` at success of good no longer fails; remove its line",
        ),
        (&[known, ("good", "nope")], "unknown check `nope` of good; known: end, expect answers, frames,"),
        (&[known, ("nope", "expect answers")], "unknown case nope"),
        (&[known, known], "duplicate line for `expect answers` of bad"),
        (&[known, ("other", "expect answers")], "other is not applicable; remove its lines"),
        (&[known, ("bad", "leaks")], "`leaks` at success of bad no longer fails; remove its line"),
    ];
    for (file, wanted) in table {
        let (report, code) = run(&lines(file), &[]);
        let problems = report["problems"].as_array().unwrap();
        assert_eq!((problems.len(), code), (1, 1), "{problems:?}");
        assert!(problems[0].as_str().unwrap().contains(wanted), "{problems:?}");
    }
    let without_reason = json!({"expected_failures": 1, "failures": [
        {"case": "bad", "check": "expect answers", "path": "success", "reason": " "}
    ]});
    assert_eq!(run(&without_reason, &[]).1, 1);
}

/// An entry applies to one path only. A failure of the same check at another path still counts.
#[test]
fn a_line_applies_to_its_path_only() {
    for (path, wanted) in [(Some("id"), " at id of bad"), (None, "`expect answers` of bad")] {
        let mut line = json!({"case": "bad", "check": "expect answers", "reason": "a reason"});
        line["path"] = path.into();
        if path.is_none() {
            line.as_object_mut().unwrap().remove("path");
        }
        let (report, code) = run(&json!({"expected_failures": 1, "failures": [line]}), &[]);
        let problem = report["problems"][0].as_str().unwrap();
        assert!(
            problem.contains(wanted) && problem.ends_with("does not fail there; it fails at success"),
            "{problem}"
        );
        assert_eq!((verdicts(&report)[0].as_str(), code), ("bad fail", 1));
    }
}

/// An entry may name an event, command or dialog. The same failure of another one still counts.
#[test]
fn a_line_applies_to_its_row_only() {
    let run = |row: &str| {
        let line = json!({
            "case": "bad", "check": "expect answers", "path": "success", "row": row, "reason": "a reason"
        });
        run(&json!({"expected_failures": 1, "failures": [line]}), &[])
    };
    assert_eq!(run("abort").1, 0);
    let (report, code) = run("get_state");
    let problem = report["problems"][0].as_str().unwrap();
    assert!(problem.ends_with("success of `abort`"), "{problem}");
    assert_eq!(code, 1);
}

/// An entry remains valid if its case was not played, or if its check is below the level of the run.
#[test]
fn lines_of_cases_that_were_not_played_stay() {
    let stale = lines(&[("good", "expect answers"), ("bad", "expect answers")]);
    assert_eq!(run(&stale, &["--only", "bad"]).1, 0);
    let suite = suite();
    suite.case("soft", &json!({"expect": answers(false, "should")}));
    suite.write("expected.json", &lines(&[("bad", "expect answers"), ("soft", "expect answers")]));
    let path = suite.file("expected.json");
    let (report, code) = suite.report(&["--level", "must", "--expected", path.to_str().unwrap()]);
    assert_eq!((&report["problems"], code), (&json!([]), 0), "{:?}", verdicts(&report));
}

/// A profile names a file of known failures: a file of the suite, or a file beside the profile.
#[test]
fn a_profile_brings_its_known_failures() {
    let suite = suite();
    let mut profile = crate::support::profile(AGENT);
    profile["expected_failures"] = "known".into();
    suite.write("profiles/pi.json", &profile);
    suite.write("expected/known.json", &lines(&[("bad", "expect answers")]));
    assert_eq!(suite.report(&[]).1, 0);
    assert_eq!(suite.report(&["--expected", "none"]).1, 1);
    // Another program is a different agent, which has other known failures.
    assert_eq!(suite.report(&["--", "/bin/sh", "-c", AGENT]).1, 1);
    profile["expected_failures"] = "mine.json".into();
    suite.write("elsewhere/mine-too.json", &profile);
    suite.write("elsewhere/mine.json", &lines(&[("bad", "expect answers")]));
    let mine = suite.file("elsewhere/mine-too.json");
    assert_eq!(suite.report(&["--profile", mine.to_str().unwrap()]).1, 0);
    profile["expected_failures"] = "nowhere".into();
    suite.write("profiles/pi.json", &profile);
    let output = suite.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("unknown file of expected failures `nowhere`"));
}
