//! Tests of the player's actions on an agent's process.

use agentese_conformance::player::{PlayError, PlayOptions, play};
use serde_json::{Value, json};

use crate::long::LONG;
use crate::{case, outline, run, shell};

#[tokio::test]
async fn lines_go_both_ways_and_the_end_is_noted() {
    let agent =
        shell(r#"while read -r line; do echo "{\"type\":\"said\",\"was\":$line}"; done; printf half"#);
    let case = case(json!([
        {"send": {"id": 1, "dir": "${WORK}"}},
        {"wait": {"type": "said"}, "capture": {"ID": "was.id"}},
        {"raw": "{\"n\":${ID}}", "eol": "\r\n"},
        {"wait": {"type": "said", "was": {"n": 1}}},
        {"bytes": ["eyJi", "Ijoy", "fQo="], "pause_ms": 5},
        {"wait": {"was": {"b": 2}}},
        {"note": "now ${ID}"}, {"shell": "echo out; echo err >&2"},
        {"close_stdin": true}, {"wait_exit_ms": 5000},
    ]));
    let played = run(&case, &agent).await;
    assert_eq!(played.broke_off, None);
    assert_eq!(
        outline(&played),
        [
            r#"c2s {"id":1,"dir":"/work-dir"}"#,
            r#"s2c {"type":"said","was":{"id":1,"dir":"/work-dir"}}"#,
            r#"c2s {"n":1} "\r\n""#,
            "s2c {\"type\":\"said\",\"was\":{\"n\":1}\r}",
            r#"c2s {"b":2}"#,
            r#"s2c {"type":"said","was":{"b":2}}"#,
            "note now 1",
            "note $ echo out; echo err >&2\nout\nerr\n",
            "ctl stdin_closed",
            r#"s2c half """#,
            "ctl exited 0",
            "ctl exit 0",
        ]
    );
}

#[tokio::test]
async fn the_environment_has_only_the_variables_of_the_profile() {
    let agent = shell(r#"env | sort | while read -r line; do echo "{\"env\":\"$line\"}"; done"#);
    let mut case = case(json!([{"wait_exit_ms": 5000}]));
    case.environment = Some([("EXTRA".to_owned(), "${MODEL}".to_owned())].into());
    case.model = Some(serde_json::from_value(json!({"responses": []})).unwrap());
    let names: Vec<_> = outline(&run(&case, &agent).await)
        .iter()
        .filter_map(|line| {
            line.strip_prefix("s2c {\"env\":\"").map(|line| line.trim_end_matches("\"}").to_owned())
        })
        // Variables that a shell sets by itself are skipped.
        .filter(|line| !["PWD=", "SHLVL=", "_=", "OLDPWD="].iter().any(|own| line.starts_with(own)))
        .collect();
    assert_eq!(names, ["EXTRA=http://127.0.0.1:4010", "HOME=/home-dir", "PATH=/usr/bin:/bin"]);
}

#[tokio::test]
async fn files_are_laid_out_with_the_cases_over_the_profiles() {
    let mut agent = shell(
        "cat ../home/.agent/settings.json ../home/.agent/models.json | tr -d ' \\n'; echo; \
         cat a/b.txt; ls ..; ls -A ../home/.agent; wc -c <bytes",
    );
    agent.settings =
        serde_json::from_value(json!({"file": "settings.json", "value": {"a": {"x": 1}, "b": 2}})).unwrap();
    agent.models =
        serde_json::from_value(json!({"file": "models.json", "value": {"url": "${MODEL}"}})).unwrap();
    agent.files = serde_json::from_value(json!({"agent/gone": "x", "work/a/b.txt": "profile"})).unwrap();
    let mut case = case(json!([{"wait_exit_ms": 5000}]));
    case.settings = serde_json::from_value(json!({"a": {"y": 2}})).unwrap();
    case.files = serde_json::from_value(json!({
        "work/a/b.txt": "of ${CASE} ${unknown}\n", "agent/gone": {"absent": true}, "work/bytes": {"base64": "AAEC"},
    }))
    .unwrap();
    let lines = outline(&run(&case, &agent).await);
    assert_eq!(
        lines[..lines.len() - 2],
        [
            r#"s2c {"a":{"x":1,"y":2},"b":2}{"url":"http://127.0.0.1:4010"}"#,
            "s2c of c ${unknown}",
            "s2c home",
            "s2c tmp",
            "s2c work",
            "s2c models.json",
            "s2c settings.json",
            "s2c 3",
        ]
    );
}

#[tokio::test]
async fn a_wait_that_times_out_ends_the_case_and_the_agent() {
    let agent = shell("cat >/dev/null");
    let steps = json!([{"wait": {"type": "never"}, "timeout_ms": 50}, {"send": {"not": "sent"}}]);
    let played = run(&case(steps), &agent).await;
    let reason = r#"step 0: no frame like {"type":"never"} within 50 ms: timeout"#;
    assert_eq!(played.broke_off.as_deref(), Some(reason));
    assert_eq!(outline(&played), ["ctl player_error", "ctl stdin_closed", "ctl exit 0"]);
}

#[tokio::test]
async fn a_wait_ends_with_the_agent() {
    let agent = shell("exit 3");
    // The time limit of the case is far longer than that of the test.
    let case = case(json!([{"wait": {"type": "never"}, "timeout_ms": 3_600_000}]));
    let played = tokio::time::timeout(LONG, run(&case, &agent)).await.expect("it waits on");
    assert!(played.broke_off.unwrap().ends_with("the agent's stdout has ended"));
}

#[tokio::test]
async fn writing_to_an_ended_agent_is_only_recorded() {
    let agent = shell("exec <&-; echo '{\"type\":\"closed\"}'; sleep 0.2");
    let steps = json!([{"wait": {"type": "closed"}}, {"send": {"a": 1}}, {"wait_exit_ms": 60_000}]);
    let played = run(&case(steps), &agent).await;
    assert_eq!(played.broke_off, None);
    assert_eq!(outline(&played)[1..4], [r#"c2s {"a":1}"#, "ctl player_error", "ctl exited 0"]);
}

#[tokio::test]
async fn an_optional_wait_that_times_out_is_skipped() {
    let agent = shell("read -r line; echo '{\"type\":\"said\"}'");
    let steps = json!([
        {"wait": {"type": "never"}, "timeout_ms": 50, "optional": true}, {"send": {}}, {"wait": {"type": "said"}},
    ]);
    assert_eq!(run(&case(steps), &agent).await.broke_off, None);
}

/// The agent ignores the end of its input and SIGTERM, so SIGKILL ends it. Its child processes end with it.
#[tokio::test]
async fn a_stuck_agent_is_killed_with_its_child_processes() {
    let agent = shell(
        "trap '' TERM; sleep 1000 & echo \"{\\\"child\\\":$!}\"; while :; do read -r line || sleep 0.1; done",
    );
    let mut case = case(
        json!([{"wait": {"child": {"$has": true}}, "capture": {"CHILD": "child"}}, {"note": "${CHILD}"}]),
    );
    case.exit_grace_ms = Some(50);
    let played = run(&case, &agent).await;
    let lines = outline(&played);
    assert_eq!(lines[2..], ["ctl stdin_closed", "ctl signal SIGTERM", "ctl exit -9"], "{lines:?}");
    let child = lines[1].strip_prefix("note ").unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
}

#[tokio::test]
async fn a_signal_ends_the_agent_and_is_recorded() {
    let agent = shell(
        "trap 'echo \"{\\\"type\\\":\\\"bye\\\"}\"; exit 143' TERM; echo '{\"type\":\"up\"}'; while :; do sleep 0.05; done",
    );
    let steps = json!([{"wait": {"type": "up"}}, {"signal": "SIGTERM"}, {"wait": {"type": "bye"}}, {"wait_exit_ms": 60_000}]);
    let played = run(&case(steps), &agent).await;
    assert_eq!(
        outline(&played),
        [
            r#"s2c {"type":"up"}"#,
            "ctl signal SIGTERM",
            r#"s2c {"type":"bye"}"#,
            "ctl exited 143",
            "ctl exit 143"
        ]
    );
}

#[tokio::test]
async fn waits_count_peek_and_look_from_the_start() {
    let agent = shell("for i in 1 2 3; do echo \"{\\\"n\\\":$i,\\\"k\\\":\\\"x\\\"}\"; done; cat >/dev/null");
    let steps = json!([
        {"wait": {"k": "x"}, "count": 2, "capture": {"A": "n"}},
        {"wait": {"k": "x"}, "peek": true, "capture": {"B": "n"}},
        {"wait": {"k": "x"}, "from": "start", "capture": {"C": "n"}},
        {"wait": {"k": "x"}, "capture": {"D": "n"}},
        {"note": "${A} ${B} ${C} ${D}"},
        {"quiet_ms": 20, "skip": true},
        {"wait": {"k": "x"}, "timeout_ms": 30, "optional": true},
    ]);
    let played = run(&case(steps), &agent).await;
    assert_eq!(played.broke_off, None);
    assert_eq!(outline(&played)[3..5], ["note 2 3 1 3", "ctl player_error"]);
}

/// Two megabytes are sent in both directions at once. Neither side must wait for the other.
#[tokio::test]
async fn long_lines_do_not_block() {
    let agent = shell("head -c 2000000 /dev/zero | tr '\\0' y; echo; cat | wc -c");
    let steps = json!([
        {"raw": "@@", "repeat": {"token": "@@", "text": "x", "n": 2_000_000}}, {"close_stdin": true},
        {"wait_exit_ms": 10000},
    ]);
    let played = run(&case(steps), &agent).await;
    assert!(outline(&played).contains(&"s2c 2000001".to_owned()));
    assert!(played.recording.text().len() < 2000);
}

/// If the client does not read, the agent blocks as soon as the pipe is full. It continues when the client
/// reads again.
#[tokio::test]
async fn an_agent_is_left_unread_until_reading_goes_on() {
    let agent = shell(
        r#"read -r line; head -c 300000 /dev/zero | tr '\0' y; echo; touch done; echo '{"type":"done"}'; cat >/dev/null"#,
    );
    let steps = json!([
        {"hold_reading": true}, {"send": {"go": true}},
        {"wait": {"type": "done"}, "timeout_ms": 300, "optional": true}, {"shell": "ls"},
        {"resume_reading": true}, {"wait": {"type": "done"}}, {"shell": "ls"},
        {"hold_reading": true}, {"wait_exit_ms": 20},
    ]);
    let played = run(&case(steps), &agent).await;
    assert_eq!(played.broke_off, None);
    let lines = outline(&played);
    let small: Vec<&str> = lines.iter().map(String::as_str).filter(|line| line.len() < 100).collect();
    assert_eq!(
        small,
        [
            "ctl reading_held",
            r#"c2s {"go":true}"#,
            "ctl player_error",
            "note $ ls\n",
            "ctl reading_resumed",
            r#"s2c {"type":"done"}"#,
            "note $ ls\ndone\n",
            "ctl reading_held",
            "ctl still_running",
            "ctl reading_resumed",
            "ctl stdin_closed",
            "ctl exit 0",
        ]
    );
    assert_eq!(lines.iter().find(|line| line.starts_with("s2c yy")).map(String::len), Some(300_004));
}

/// Pieces of this size split characters, but the line is recorded as a whole.
#[tokio::test]
async fn a_line_goes_in_pieces_of_a_size() {
    let agent = shell("exec cat");
    let steps = json!([
        {"raw": "{\"a\":\"€😀\"}", "piece_bytes": 1, "pause_ms": 1}, {"wait": {"a": "€😀"}},
        {"raw": "{\"b\":1}", "piece_bytes": 0}, {"wait": {"b": 1}},
    ]);
    let played = run(&case(steps), &agent).await;
    assert_eq!(played.broke_off, None);
    assert_eq!(outline(&played)[..2], ["c2s {\"a\":\"€😀\"}", "s2c {\"a\":\"€😀\"}"]);
}

#[tokio::test]
async fn an_unplayable_case_is_reported_before_the_agent_starts() {
    let agent = shell("touch started");
    let table = [
        (json!([{"wait": {"a": {"$foo": 1}}}]), "step 0: unknown pattern operator `$foo`"),
        (json!([{"bytes": ["?"]}]), "step 0: invalid symbol 63, offset 0."),
    ];
    for (steps, wanted) in table {
        let error = play(&case(steps), &agent, &PlayOptions::default()).await.unwrap_err();
        assert_eq!(error.to_string(), wanted);
    }
    let mut absent = shell("");
    absent.command = Some(vec!["agentese-there-is-no-such-program".to_owned()]);
    let error = play(&case(json!([])), &absent, &PlayOptions::default()).await.unwrap_err();
    assert!(matches!(error, PlayError::Spawn(_)), "{error}");
    let mut setup = case(json!([]));
    setup.setup = Some(vec!["echo broken; exit 4".to_owned()]);
    let error = play(&setup, &agent, &PlayOptions::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "the setup command `echo broken; exit 4` failed: exit status: 4: broken");
}

/// The step waits for the request itself, not for a fixed time.
#[tokio::test]
async fn a_step_waits_for_a_request_to_the_model() {
    // The agent sends a request to its model when it gets the command, and reports nothing.
    let ask = r#"python3 -c 'import os, sys, urllib.request as http; http.urlopen(http.Request(os.environ["MODEL"] + "/v1/messages", sys.argv[1].encode())).read()'"#;
    let body = |text: &str| json!({"model": "m", "max_tokens": 1, "stream": true, "messages": [{"role": "user", "content": text}]});
    let agent = shell(&format!(
        "read -r line; {ask} '{}'; {ask} '{}'; read -r line; echo '{{\"type\":\"over\"}}'",
        body("first"),
        body("second")
    ));
    let model: agentese::types::ModelScript = serde_json::from_value(json!({"responses": []})).unwrap();
    let with = |steps: Value| {
        let mut case = case(steps);
        case.environment = Some([("MODEL".to_owned(), "${MODEL}".to_owned())].into());
        case.model = Some(model.clone());
        case
    };
    let second = json!({"model_asked": 1, "fits": {"$contains": "second"}});
    let steps = json!([{"send": {"go": 1}}, {"model_asked": 1}, second, {"send": {"on": 1}}, {"wait": {"type": "over"}}]);
    let played = run(&with(steps), &agent).await;
    assert_eq!((played.broke_off, played.requests.len()), (None, 2));

    let never =
        json!([{"send": {"go": 1}}, {"model_asked": 1, "fits": {"$contains": "third"}, "timeout_ms": 2000}]);
    let reason = r#"step 1: the model received 0 of 1 request like {"$contains":"third"} within 2000 ms"#;
    assert_eq!(run(&with(never), &agent).await.broke_off.as_deref(), Some(reason));

    // If the agent plays the script itself, the suite receives no requests.
    let mut embedded = shell("read -r line; echo '{\"type\":\"over\"}'");
    embedded.claims = serde_json::from_value(json!({"embedded_model": true})).unwrap();
    let steps = json!([{"model_asked": 1}, {"send": {"on": 1}}, {"wait": {"type": "over"}}]);
    assert_eq!(run(&with(steps), &embedded).await.broke_off, None);

    let error = play(&case(json!([{"model_asked": 1}])), &agent, &PlayOptions::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "step 0 waits for a request to the model, but the case has no model");
}

/// Agent that asks two questions, and sends back the answers. It counts its starts in a file.
const ASKS: &str = r#"echo start >>starts; read -r line
echo '{"id":7,"method":"ask","params":{"options":[{"kind":"no","id":"n"},{"kind":"yes","id":"y"}]}}'
read -r one; echo "{\"one\":$one}"
echo '{"id":"t","method":"tell"}'; read -r two; echo "{\"two\":$two,\"starts\":$(wc -l <starts)}"
read -r line"#;

#[tokio::test]
async fn questions_are_answered_by_steps_and_by_automatic_replies() {
    let mut case = case(json!([
        {"send": {"go": 1}}, {"wait": {"method": "ask"}},
        {"reply": {"result": {"chosen": {"$from": ["params.options.kind=yes.id"]}}}},
        {"wait": {"one": {"id": 7, "result": {"chosen": "y"}}}},
        {"wait": {"two": {"id": "t", "error": {"code": 1}}}},
    ]));
    case.replies = serde_json::from_value(json!([
        {"to": {"method": "ask"}}, {"to": {}, "reply": {"error": {"code": 1, "message": "no"}}},
    ]))
    .unwrap();
    assert_eq!(run(&case, &shell(ASKS)).await.broke_off, None);
}

#[tokio::test]
async fn a_restarted_agent_has_the_same_directory() {
    let mut case = case(json!([
        {"send": {"go": 1}}, {"wait": {"starts": 1}}, {"restart": true},
        {"send": {"go": 2}}, {"wait": {"starts": 2}},
    ]));
    case.replies = serde_json::from_value(json!([{"to": {}, "reply": {"result": {}}}])).unwrap();
    let played = run(&case, &shell(ASKS)).await;
    assert_eq!(played.broke_off, None);
    let ends = outline(&played).iter().filter(|line| line.starts_with("ctl exit")).count();
    assert_eq!(ends, 2, "{:?}", outline(&played));
}

#[tokio::test]
async fn a_case_ends_as_not_applicable_if_a_frame_lacks_a_requirement() {
    let agent = shell(r#"echo '{"can":{"list":false}}'; read -r line; echo '{"more":1}'; read -r line"#);
    let with = |required: Value| {
        case(json!([
            {"wait": {"can": {}}}, {"require": required, "reason": "it cannot list"}, {"send": {"go": 1}},
            {"wait": {"more": 1}},
        ]))
    };
    let lacking = run(&with(json!({"can": {"list": true}})), &agent).await;
    assert_eq!(
        (lacking.not_applicable.as_deref(), lacking.broke_off.as_deref()),
        (Some("it cannot list"), None)
    );
    assert!(!outline(&lacking).iter().any(|line| line.starts_with("c2s")));
    let able = run(&with(json!({"can": {"list": false}})), &agent).await;
    assert_eq!((able.not_applicable, able.broke_off), (None, None));
}
