use std::path::Path;

use serde_json::json;

use super::*;

fn transcript(lines: &[&str], end: &Value) -> Transcript {
    let mut text = json!({"transcript": 1, "agent": "a"}).to_string();
    for line in lines {
        text += &format!("\n{}", json!({"dir": "s2c", "line": line}));
    }
    text += &format!("\n{end}");
    Transcript::parse(Path::new("t"), &text).unwrap()
}

fn findings(expect: Value, lines: &[&str]) -> Vec<Finding> {
    let case = json!({
        "scenario": 1, "name": "n", "dialect": "pi@0.55", "title": "t", "level": "must", "steps": [],
        "expect": expect,
    });
    let case: Scenario = serde_json::from_value(case).unwrap();
    check(&case, &transcript(lines, &json!({"dir": "ctl", "event": "exit", "code": 3})))
}

/// Returns the message and the path of a failed check, or `None` if the check holds.
fn message_and_path(expectation: Value, lines: &[&str]) -> Option<(String, String)> {
    match findings(json!([expectation]), lines).remove(0).outcome {
        Outcome::Held => None,
        Outcome::Failed(mismatch) => Some((mismatch.message, mismatch.path)),
        other => panic!("{other:?}"),
    }
}

fn frames(of: Value, frames: Value) -> Value {
    json!({"check": "c", "says": "s", "of": of, "frames": frames})
}

const LINES: &[&str] = &[
    r#"{"type":"response","id":"a"}"#,
    r#"{"type":"event","delta":"on"}"#,
    "loose talk",
    r#"{"type":"response","id":"b","data":{"n":1}}"#,
    r#"{"type":"event","delta":"e"}"#,
];

#[test]
fn only_the_expected_frames_are_accepted() {
    let response = json!({"type": "response"});
    let table = [
        (json!([{"id": "a"}, {"id": "b"}]), None),
        (json!([{"id": "b"}, {"id": "a"}]), Some(("s: frame 1 of 2: `id` is \"a\", expected \"b\"", "id"))),
        (json!([{"id": "a"}]), Some(("s: 2 frames instead of 1", ""))),
        (json!([{}, {}, {}]), Some(("s: 2 of 3 frames; `{\"type\":\"response\"}` is missing", ""))),
        (json!([{}, {"data": {"n": 2}}]), Some(("s: frame 2 of 2: `data.n` is 1, expected 2", "data.n"))),
        (json!([{"data": {"$has": false}}, {"data": {"n": {"$not": 2}}}]), None),
    ];
    for (wanted, expected) in table {
        let expected = expected.map(|(message, path): (&str, &str)| (message.to_owned(), path.to_owned()));
        assert_eq!(message_and_path(frames(response.clone(), wanted.clone()), LINES), expected, "{wanted}");
    }
}

#[test]
fn a_line_that_is_no_json_is_a_string() {
    let odd = json!({"$not": {"type": {"$has": true}}});
    assert_eq!(message_and_path(frames(odd.clone(), json!(["loose talk"])), LINES), None);
    assert!(message_and_path(frames(odd, json!([])), LINES).is_some());
}

#[test]
fn pieces_make_a_text() {
    let text = |text: &str| json!({"check": "c", "says": "s", "of": {"type": "event"}, "path": "delta", "text": text});
    let failed = |message: &str| Some((message.to_owned(), "delta".to_owned()));
    assert_eq!(message_and_path(text("one"), LINES), None);
    assert_eq!(message_and_path(text("one two"), LINES), failed("s: the text ends before ` two`"));
    assert_eq!(message_and_path(text("on"), LINES), failed("s: `e` is not the continuation of the text: ``"));
    assert_eq!(
        message_and_path(text("eon"), LINES),
        failed("s: `on` is not the continuation of the text: `eon`")
    );
}

#[test]
fn a_mismatch_shows_the_frames_and_their_predecessors() {
    let wanted = frames(json!({"type": "response"}), json!([{"id": "a"}, {"id": "c"}]));
    let finding = findings(json!([wanted]), LINES).remove(0);
    assert_eq!((finding.check.as_str(), finding.level), ("expect c", CheckLevel::Must));
    let Outcome::Failed(mismatch) = finding.outcome else { panic!() };
    assert_eq!(mismatch.expected.unwrap().line, r#"{"id":"c"}"#);
    assert_eq!(mismatch.found.unwrap().line, LINES[3]);
    assert_eq!(mismatch.before.iter().map(|it| it.line.as_str()).collect::<Vec<_>>(), LINES[..3]);
}

#[test]
fn levels_and_exit_codes() {
    let exit = |code: i64| json!({"check": "e", "says": "ends", "level": "info", "exit": code});
    let finding = findings(json!([exit(3)]), &[]).remove(0);
    assert_eq!((finding.level, finding.outcome), (CheckLevel::Info, Outcome::Held));
    assert_eq!(
        message_and_path(exit(0), &[]),
        Some(("ends: the exit code is 3, not 0".to_owned(), String::new()))
    );
}

#[test]
fn a_wrong_pattern_is_unclear_and_not_held() {
    let finding = findings(json!([frames(json!({"$no": 1}), json!([]))]), LINES).remove(0);
    assert_eq!(finding.outcome, Outcome::Unclear("unknown pattern operator `$no`".to_owned()));
}

#[test]
fn long_lines_are_shortened_in_reports() {
    let long = format!("{{\"type\":\"response\",\"pad\":\"{}\"}}", "ü".repeat(70_000));
    let finding = findings(json!([frames(json!({}), json!([]))]), &[&long]).remove(0);
    let Outcome::Failed(mismatch) = finding.outcome else { panic!() };
    let line = mismatch.found.unwrap().line;
    assert!(line.ends_with(&format!("… ({} bytes)", long.len())));
    assert_eq!(line.chars().take_while(|it| *it != '…').count(), 64 << 10);
}

/// Returns the message of a check of a session with lines in both directions; `None` if it holds.
fn message_of(expectation: Value, lines: &[(&str, Value)]) -> Option<String> {
    let mut text = json!({"transcript": 1, "agent": "a"}).to_string();
    for (dir, line) in lines {
        text += &format!("\n{}", json!({"dir": dir, "line": line.to_string()}));
    }
    let case = json!({
        "scenario": 1, "name": "n", "dialect": "acp@1", "title": "t", "steps": [], "expect": [expectation],
    });
    let case: Scenario = serde_json::from_value(case).unwrap();
    match check(&case, &Transcript::parse(Path::new("t"), &text).unwrap()).remove(0).outcome {
        Outcome::Held => None,
        Outcome::Failed(mismatch) => Some(mismatch.message),
        other => panic!("{other:?}"),
    }
}

fn call(id: &str, status: &str) -> (&'static str, Value) {
    ("s2c", json!({"call": id, "status": status}))
}

#[test]
fn properties_of_all_frames_of_a_kind_are_checked() {
    let calls = json!({"call": {"$has": true}});
    let good = [call("a", "pending"), call("b", "pending"), call("a", "done"), call("a", "done")];
    let of = |more: Value| {
        let mut check = json!({"check": "c", "says": "s", "of": calls});
        check.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        check
    };
    let stages = json!({"progress": "status", "stages": [["pending"], ["done", "failed"]], "same": ["call"]});
    let statuses = json!({"every": {"status": {"$any": ["pending", "done"]}}});
    let after = json!({"of": {"status": "done"}, "after": {"status": "pending"}, "same": ["call"]});
    for held in [&stages, &statuses, &after, &json!({"unique": ["call", "at"], "of": {"status": "pending"}})]
    {
        assert_eq!(message_of(of(held.clone()), &good), None, "{held}");
    }
    for (check, lines, message) in [
        (&stages, vec![call("a", "done"), call("a", "pending")], "s: \"pending\" follows \"done\""),
        (&stages, vec![call("a", "done"), call("a", "failed")], "s: \"failed\" follows \"done\""),
        (&stages, vec![call("a", "lost")], "s: \"lost\" is not a declared value"),
        (&statuses, vec![call("a", "lost")], "s: `status` is \"lost\", expected "),
        (
            &after,
            vec![call("b", "pending"), call("a", "done")],
            "s: no frame like {\"status\":\"pending\"} precedes it",
        ),
        (
            &json!({"unique": ["call"]}),
            vec![call("a", "x"), call("a", "y")],
            "s: `call` occurs a second time",
        ),
    ] {
        let found = message_of(of(check.clone()), &lines).unwrap();
        assert!(found.starts_with(message), "{found}");
    }
}

#[test]
fn frames_belong_to_an_open_request_of_the_client() {
    let during = json!({"check": "c", "says": "s", "of": {"method": "text"}, "during": [{"method": "prompt"}],
        "same": ["params.session"]});
    let prompt = |id: &str, session: &str| {
        ("c2s", json!({"id": id, "method": "prompt", "params": {"session": session}}))
    };
    let piece = |session: &str| ("s2c", json!({"method": "text", "params": {"session": session}}));
    let end = |id: &str| ("s2c", json!({"id": id, "result": {}}));
    let good = [prompt("1", "a"), prompt("2", "b"), piece("b"), piece("a"), end("1"), piece("b"), end("2")];
    assert_eq!(message_of(during.clone(), &good), None);
    for bad in [
        vec![piece("a"), prompt("1", "a")],
        vec![prompt("1", "a"), end("1"), piece("a")],
        vec![prompt("1", "a"), piece("b"), end("1")],
    ] {
        let found = message_of(during.clone(), &bad).unwrap();
        assert_eq!(found, "s: no request \"prompt\" with the same params.session is open");
    }
}
