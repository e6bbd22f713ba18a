//! Tests of runs: the played cases, the report, and the exit code.

use agentese::types::Profile;
use agentese_conformance::Suite as Cases;
use agentese_conformance::run::{Progress, RunOptions, run};
use serde_json::{Value, json};

use crate::support::{AGENT, Suite, answers, case, cases, profile, text, verdicts};

#[test]
fn all_is_well() {
    let suite = Suite::new(AGENT);
    suite.case("one", &json!({}));
    suite.case("two", &json!({"needs": ["extensions"]}));
    let output = suite.run(&[]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    assert!(
        said.contains("not applicable  two: the case requires extensions, which the agent lacks\n"),
        "{said}"
    );
    assert!(
        said.contains("2 cases of pi@0.55 against shell in ")
            && said.contains(": 1 pass, 0 fail, 1 not applicable")
    );
    assert!(said.contains("shown by cases that pass: 1 of 28 commands"), "{said}");
    let progress = text(&output.stderr);
    assert!(progress.contains("pass         one (") && !progress.contains('\u{1b}'), "{progress}");
}

#[test]
fn a_failure_shows_the_expected_and_the_found_frame() {
    let suite = Suite::new(AGENT);
    suite.case("bad", &json!({"expect": answers(false, "must")}));
    let output = suite.run(&[]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    for line in [
        "FAIL  expect answers (must) at success: it is answered: frame 1 of 1: `success` is true, expected false\n",
        "      in 1 case: bad\n",
        "               -> {\"id\":\"a\",\"type\":\"abort\"}\n",
        "      expected <- {\"success\":»false«}\n",
        "         found <- {\"id\":\"a\",\"type\":\"response\",\"command\":\"abort\",\"success\":»true«}\n",
        "checks that fail: 1 of ",
    ] {
        assert!(said.contains(line), "{line}{said}");
    }
}

#[test]
fn the_level_selects_the_checks_that_can_fail() {
    let suite = Suite::new(AGENT);
    suite.case("hard", &json!({}));
    suite.case("info", &json!({"expect": answers(false, "info")}));
    suite.case("soft", &json!({"expect": answers(false, "should")}));
    let of = |level: &str| {
        let (report, code) = suite.report(&["--level", level]);
        (verdicts(&report).join(", "), code)
    };
    assert_eq!(of("should"), ("hard pass, info pass, soft fail".to_owned(), 1));
    assert_eq!(of("must"), ("hard pass, info pass, soft pass".to_owned(), 0));
    assert_eq!(of("info"), ("hard pass, info pass, soft fail".to_owned(), 1));
}

#[test]
fn only_selected_cases_are_played() {
    let suite = Suite::new(AGENT);
    for name in ["alpha", "alpha-two", "beta"] {
        suite.case(name, &json!({}));
    }
    let of = |only: &[&str]| {
        let arguments: Vec<&str> = only.iter().flat_map(|only| ["--only", *only]).collect();
        verdicts(&suite.report(&arguments).0).join(", ")
    };
    assert_eq!(of(&["alpha"]), "alpha pass");
    assert_eq!(of(&["alpha*"]), "alpha pass, alpha-two pass");
    assert_eq!(of(&["two", "beta"]), "alpha-two pass, beta pass");
    assert_eq!(of(&["command abort"]), "alpha pass, alpha-two pass, beta pass");
    let output = suite.run(&["--only", "nope"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert_eq!(said, "error: no case matches `nope`; see `list --covers` for names and covered items\n");
}

/// An agent that cannot be judged must never pass.
#[test]
fn a_silent_agent_is_inconclusive() {
    let table = [
        ("echo no such dialect >&2; exit 3", "no output from the agent: exit code 3: no such dialect"),
        ("echo hello; cat >/dev/null", "no frames from the agent: its line `hello` is not JSON: exit code 0"),
        (
            r#"while read -r line; do echo '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}'; done"#,
            "the agent speaks opal@0.1, not pi@0.55",
        ),
    ];
    for (agent, wanted) in table {
        let suite = Suite::new(agent);
        suite.case("one", &json!({}));
        suite.case("two", &json!({"expect": [], "steps": [{"pause_ms": 1}]}));
        let (report, code) = suite.report(&["--timeout", "5"]);
        assert_eq!(verdicts(&report).join(", "), "one inconclusive, two inconclusive");
        assert_eq!((report["cases"][0]["reason"].as_str().unwrap(), code), (wanted, 2));
    }
    let suite = Suite::new(AGENT);
    suite.case("one", &json!({}));
    let (report, code) = suite.report(&["--", "agentese-no-such-program"]);
    assert!(
        report["cases"][0]["reason"].as_str().unwrap().starts_with("the agent does not start: "),
        "{report}"
    );
    assert_eq!(code, 2);
}

#[test]
fn a_case_that_the_suite_cannot_play_is_inconclusive() {
    let suite = Suite::new(AGENT);
    suite.case("bad", &json!({"setup": ["echo broken; exit 4"]}));
    suite.case("good", &json!({}));
    let (report, code) = suite.report(&[]);
    assert_eq!((verdicts(&report).join(", "), code), ("bad inconclusive, good pass".to_owned(), 2));
    let reason = report["cases"][0]["reason"].as_str().unwrap();
    assert_eq!(reason, "the setup command `echo broken; exit 4` failed: exit status: 4: broken");
}

#[test]
fn a_case_has_its_time() {
    // The agent answers the probe, which sends other commands, but sends nothing in the case.
    let agent =
        r#"while read -r line; do case "$line" in *abort*) ;; *) echo '{"type":"agent_start"}';; esac; done"#;
    let suite = Suite::new(agent);
    suite.case("slow", &json!({}));
    let (report, code) = suite.report(&["--timeout", "0.4"]);
    assert_eq!((verdicts(&report).join(", "), code), ("slow fail".to_owned(), 1));
    let checks = report["cases"][0]["checks"].as_array().unwrap();
    let scenario = checks.iter().find(|check| check["check"] == "scenario").unwrap();
    assert_eq!(scenario["says"], "the case took longer than 0.4 s; the agent sent no line");
}

#[test]
fn a_wrong_command_line_is_one_line_and_exit_code_2() {
    let suite = Suite::new(AGENT);
    suite.case("one", &json!({}));
    let table: [(&[&str], &str); 6] = [
        (&["--level", "perhaps"], "invalid value 'perhaps' for '--level <LEVEL>'"),
        (&["--jobs", "0"], "invalid value '0' for '--jobs <N>'"),
        (&["--timeout", "-1"], "unexpected argument '-1'"),
        (&["--profile", "nope"], "unknown profile `nope`"),
        (&["--expected", "/nope.json"], "cannot read /nope.json"),
        (&["--only", "[a"], "invalid pattern `[a`: "),
    ];
    for (arguments, wanted) in table {
        let output = suite.run(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with("error: ") && said.contains(wanted), "{said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    }
}

/// Results are in the order of the cases, independent of the order in which the cases end. A case that must
/// run alone does so.
#[tokio::test]
async fn cases_are_played_concurrently_and_reported_in_order() {
    let profile: Profile = serde_json::from_value(profile(AGENT)).unwrap();
    let slow =
        json!({"steps": [{"send": {"id": "a", "type": "abort"}}, {"wait": {"id": "a"}}, {"pause_ms": 300}]});
    let mut alone = slow.clone();
    alone["alone"] = true.into();
    let cases = cases(&[
        ("a-alone", alone.clone()),
        ("b-slow", slow),
        ("c", json!({})),
        ("d", json!({})),
        ("e-alone", alone),
    ]);
    let options = RunOptions { jobs: 3, ..RunOptions::default() };
    let mut playing: Vec<String> = Vec::new();
    let mut most = 0;
    let mut told = Vec::new();
    let ran = run(&Cases::embedded(), &profile, &cases, &options, &mut |progress| match progress {
        Progress::Started(name) => {
            playing.push(name.to_owned());
            most = most.max(playing.len());
            let is_alone = playing.iter().any(|name| name.ends_with("alone"));
            assert!(!is_alone || playing.len() == 1, "{playing:?}");
        }
        Progress::Finished(ran) => {
            playing.retain(|name| *name != ran.judgement.case.name);
            told.push(ran.judgement.case.name.clone());
        }
    })
    .await;
    let names: Vec<&str> = ran.iter().map(|ran| ran.judgement.case.name.as_str()).collect();
    assert_eq!(names, ["a-alone", "b-slow", "c", "d", "e-alone"]);
    assert_eq!((told.len(), most), (5, 3));
    assert!(
        told.iter().position(|name| name == "c") < told.iter().position(|name| name == "b-slow"),
        "{told:?}"
    );
    assert!(ran.iter().all(|ran| ran.took.is_some()));
}

/// The number one has a singular noun, and each verdict has the same name everywhere.
#[test]
fn one_case_is_one_case_and_a_failure_is_called_fail() {
    let suite = Suite::new(AGENT);
    suite.case("bad", &json!({"expect": answers(false, "must")}));
    let output = suite.run(&["--only", "bad"]);
    let (said, progress) = (text(&output.stdout), text(&output.stderr));
    assert!(said.contains("1 case of pi@0.55 against shell in ") && said.contains(": 1 fail\n"), "{said}");
    assert!(progress.contains("] fail         bad ("), "{progress}");
    assert_eq!(suite.report(&["--only", "bad"]).0["cases"][0]["verdict"], "fail");
}

/// A program that repeats its input is not an agent, so it is not judged.
#[test]
fn an_echo_is_no_agent() {
    let suite = Suite::new("exec cat");
    suite.case("one", &json!({}));
    let output = suite.run(&[]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let line = "inconclusive  no case could be judged: not an agent: the program echoes its input\n";
    assert!(said.contains(line), "{said}");
}

/// `--only` takes several patterns at once.
#[test]
fn several_patterns_may_follow_only() {
    let suite = Suite::new(AGENT);
    for name in ["alpha", "beta", "gamma"] {
        suite.case(name, &json!({}));
    }
    assert_eq!(verdicts(&suite.report(&["--only", "al*", "gamma"]).0), ["alpha pass", "gamma pass"]);
}

/// A relative path in a profile's command starts at the folder of the profile, in any working directory.
#[test]
fn a_relative_program_is_resolved_beside_the_profile() {
    use std::os::unix::fs::PermissionsExt as _;
    let suite = Suite::new("exit 1");
    suite.case("one", &json!({}));
    suite.write_text("agents/bin/agent", &format!("#!/bin/sh\n{AGENT}\n"));
    std::fs::set_permissions(suite.file("agents/bin/agent"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut own = profile("");
    for command in [json!(["./bin/agent"]), json!(["sh", "${PROFILE}/bin/agent"])] {
        own["command"] = command;
        suite.write("agents/mine.json", &own);
        for (folder, file) in [("", "agents/mine.json"), ("cases", "../agents/mine.json")] {
            let mut run = suite.command(&["--profile", file]);
            let output = run.current_dir(suite.file(folder)).output().unwrap();
            let said = text(&output.stdout) + &text(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{}: {said}", own["command"]);
        }
    }
}

/// After a failed wait, only answers to sent commands are reported as missing, and the wait is the first
/// finding.
#[test]
fn answers_to_unsent_commands_are_not_missing() {
    // The agent answers the first command only.
    let suite = Suite::new(
        r#"while read -r line; do case "$line" in *'"a"'*) echo '{"id":"a","type":"response","command":"abort","success":true}';; *detect*) echo '{"type":"response","command":"abort","success":true}';; esac; done"#,
    );
    let send = |id: &str| json!({"send": {"id": id, "type": "abort"}});
    let wait = |id: &str, ms: u64| json!({"wait": {"id": id}, "timeout_ms": ms});
    let steps = json!([send("a"), wait("a", 20_000), send("b"), wait("b", 300), send("c"), wait("c", 300)]);
    let frames = json!([{"id": "a"}, {"id": "b"}, {"id": "c"}]);
    let expect =
        json!([{"check": "all", "says": "all are answered", "of": {"type": "response"}, "frames": frames}]);
    suite.case("broken", &json!({"steps": steps, "expect": expect}));
    let line = |dir: &str, frame: Value| json!({"t": 1, "dir": dir, "line": frame.to_string()}).to_string();
    let mut golden = vec![json!({"transcript": 1, "agent": "pi"}).to_string()];
    for id in ["a", "b", "c"] {
        golden.push(line("c2s", json!({"id": id, "type": "abort"})));
        golden.push(line("s2c", json!({"id": id, "type": "response", "command": "abort", "success": true})));
    }
    golden.push(json!({"t": 2, "dir": "ctl", "event": "exit", "code": 0}).to_string());
    suite.write_text("transcripts/pi/broken.jsonl", &(golden.join("\n") + "\n"));
    let (report, code) = suite.report(&[]);
    assert_eq!((verdicts(&report), code), (vec!["broken fail".to_owned()], 1));
    let checks = report["cases"][0]["checks"].as_array().unwrap();
    // Returns the checks with this outcome, each with the id of the missing frame.
    let of = |outcome: &str| -> Vec<(String, Value)> {
        let found = checks.iter().filter(|check| check["outcome"] == outcome);
        let missed = |check: &Value| {
            let frame = check["expected"]["line"].as_str().unwrap_or("null");
            let frame: Value = serde_json::from_str(frame).unwrap();
            (check["check"].as_str().unwrap().to_owned(), frame["id"].clone())
        };
        found.map(missed).collect()
    };
    assert_eq!(checks[0]["check"], "scenario");
    assert_eq!(of("failed"), [("scenario".to_owned(), Value::Null), ("answers".to_owned(), "b".into())]);
    assert_eq!(of("unclear"), [("expect all".to_owned(), Value::Null)]);
}

/// A run in which few cases are judged is reported as such, and `--min-coverage` can make it fail.
#[test]
fn low_coverage_is_reported_and_may_fail_the_run() {
    let suite = Suite::new(AGENT);
    suite.case("one", &json!({}));
    for name in ["two", "three", "four"] {
        suite.case(name, &json!({"needs": ["extensions"]}));
    }
    let (report, code) = suite.report(&[]);
    let note = "only 25 % of the cases were judged; the others are not applicable or inconclusive";
    assert_eq!((report["notes"][0].as_str(), code), (Some(note), 0));
    let (report, code) = suite.report(&["--min-coverage", "26"]);
    let note = "only 25 % of the cases were judged; --min-coverage requires 26 %";
    assert_eq!((report["notes"][0].as_str(), code, &report["exit_code"]), (Some(note), 2, &json!(2)));
    assert_eq!(suite.report(&["--min-coverage", "25"]).1, 0);
    assert!(
        text(&suite.run(&["--min-coverage", "26"]).stdout)
            .contains("NOTE  only 25 % of the cases were judged; --min-coverage requires 26 %")
    );
}

/// A command that the profile claims and no case sends is reported.
#[test]
fn claimed_commands_without_a_case_are_reported() {
    let suite = Suite::new(AGENT);
    let mut claiming = profile(AGENT);
    claiming["claims"]["commands"] = json!(["abort", "get_state"]);
    suite.write("profiles/pi.json", &claiming);
    suite.case("one", &json!({}));
    let note = "claimed, but not exercised by any applicable case: get_state";
    assert_eq!(suite.report(&[]).0["notes"], json!([note]));
}

#[test]
fn a_summary_is_one_line_and_of_its_schema() {
    let suite = Suite::new(AGENT);
    suite.case("bad", &json!({"expect": answers(false, "must")}));
    suite.case("good", &json!({}));
    let file = suite.file("summary.json");
    let output = suite.run(&["--summary", file.to_str().unwrap()]);
    let summary: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let schema = serde_json::from_str(agentese::schema::format("suite-summary").unwrap()).unwrap();
    jsonschema::validate(&schema, &summary).unwrap();
    assert_eq!((&summary["passed"], &summary["cases"]), (&json!(false), &json!({"shown": 1, "of": 2})));
    let said = text(&output.stdout);
    let line = said.lines().last().unwrap();
    assert!(
        line.contains("does not pass pi@0.55 at level should") && line.contains("1 of 2 cases"),
        "{line}"
    );
}

/// `--show` prints the lines of a case before the report. The case may come from a file.
#[test]
fn a_case_from_a_file_is_shown_and_kept() {
    let suite = Suite::new(AGENT);
    suite.case("other", &json!({}));
    suite.write("mine.json", &case("mine", &json!({})));
    let (mine, log) = (suite.file("mine.json"), suite.file("asked.jsonl"));
    let arguments =
        ["--only", mine.to_str().unwrap(), "--show", "--keep", "--model-log", log.to_str().unwrap()];
    let output = suite.run(&arguments);
    let (said, progress) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}{progress}");
    let wanted = "mine\n  -> {\"id\":\"a\",\"type\":\"abort\"}\n  <- {\"id\":\"a\",\"type\":\"response\",\"command\":\"abort\",\"success\":true}\n";
    assert!(said.starts_with(wanted) && said.contains("1 case of pi@0.55"), "{said}");
    let kept = progress.lines().find_map(|line| line.strip_prefix("mine was played in ")).unwrap();
    assert!(std::path::Path::new(kept).join("work").is_dir(), "{kept}");
    std::fs::remove_dir_all(kept).unwrap();
}
