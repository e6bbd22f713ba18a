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
