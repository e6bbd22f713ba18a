//! Tests of frames with one wrong member. Such a frame is compared with the expected frame, and only that
//! member is reported.

use serde_json::{Value, json};

use crate::rows::{Lines, assistant, bash, command_and_answer, event, update};
use crate::support::{compared, failure_lines};

fn part(more: Value) -> Lines {
    let mut kind = json!({"type": "text_start", "contentIndex": 0});
    kind.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    vec![update(kind)]
}

fn of_role(role: Option<&str>) -> Lines {
    let mut lines = assistant(json!({"input": 1, "output": 2}));
    let message = lines[0].1["message"].as_object_mut().unwrap();
    match role {
        Some(role) => message.insert("role".to_owned(), json!(role)),
        None => message.remove("role"),
    };
    lines
}

fn state(id: Option<Value>) -> Lines {
    let mut answer = json!({"type": "response", "command": "abort", "success": true});
    if let Some(id) = id {
        answer["id"] = id;
    }
    command_and_answer(json!({"type": "abort"}), answer)
}

#[test]
fn the_member_that_is_wrong_is_named() {
    let table = [
        (
            part(json!({})),
            part(json!({"contentIndex": 1})),
            "should events assistantMessageEvent.contentIndex",
        ),
        (
            part(json!({})),
            part(json!({"contentIndex": "0"})),
            "must events assistantMessageEvent.contentIndex",
        ),
        (part(json!({})), part(json!({"type": "textStart"})), "events assistantMessageEvent.type"),
        (part(json!({})), event(json!({"type": "message_update"})), "events assistantMessageEvent"),
        (of_role(Some("assistant")), of_role(Some("agent")), "events message.role"),
        (of_role(Some("assistant")), of_role(None), "must events message.role"),
        (state(None), state(Some(Value::Null)), "must answers id"),
        (state(None), state(Some(json!("made-up"))), "must answers id"),
    ];
    for (golden, observed, wanted) in table {
        let found = failure_lines(&compared("pi", &golden, &observed));
        assert!(found.iter().any(|said| said.ends_with(wanted)), "{wanted}: {found:?}");
    }
}

fn question(more: Value) -> Lines {
    let mut frame = json!({"type": "extension_ui_request", "id": "u1", "method": "select", "title": "Which?", "options": ["a"]});
    frame.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    vec![('<', frame)]
}

#[test]
fn a_question_with_a_wrong_member_is_compared_with_the_expected_one() {
    let mut renamed = question(json!({"question": "Which?"}));
    renamed[0].1.as_object_mut().unwrap().remove("title");
    let table = [
        (renamed, "must dialogs title"),
        (question(json!({"title": "What?"})), "should dialogs title"),
        (question(json!({"method": "choose"})), "should dialogs method"),
    ];
    for (observed, wanted) in table {
        let found = failure_lines(&compared("pi", &question(json!({})), &observed));
        assert!(found.iter().any(|said| said == wanted), "{wanted}: {found:?}");
    }
    // A dialog with another method and another text is a different question.
    let other = question(json!({"method": "input", "title": "Who?"}));
    let found = failure_lines(&compared("pi", &question(json!({})), &other));
    assert_eq!(found, ["should dialogs", "should dialogs"]);
}

#[test]
fn a_repeated_question_is_reported_as_repeated() {
    let twice = [question(json!({})), question(json!({}))].concat();
    let found = failure_lines(&compared("pi", &question(json!({})), &twice));
    assert!(found.iter().any(|said| said == "must framing id"), "{found:?}");
    let another = [question(json!({})), question(json!({"id": "u2"}))].concat();
    let found = failure_lines(&compared("pi", &question(json!({})), &another));
    assert_eq!(found, ["should dialogs"]);
}

#[test]
fn an_event_of_another_stream_is_compared_with_the_expected_one() {
    let told = |id: &str| {
        [
            event(json!({"type": "subagent_start", "id": "0-a", "agent": "task", "isolated": false})),
            event(json!({"type": "subagent_end", "id": id, "agent": "task", "exitCode": 0})),
        ]
        .concat()
    };
    assert_eq!(failure_lines(&compared("pisces", &told("0-a"), &told("7-z"))), ["should events id"]);
}

/// The id of an event's session differs between runs, but the event is the same.
#[test]
fn an_event_of_a_session_is_compared_with_the_expected_one() {
    let told = |session: &str, call: &str| -> Lines {
        let event =
            |params: Value| ('<', json!({"jsonrpc": "2.0", "method": "agent/event", "params": params}));
        let begin = json!({"type": "tool_execution_start", "session_id": session, "tool": "read_file", "args": {}, "meta": "m", call: "c"});
        vec![event(json!({"type": "message_delta", "session_id": session, "delta": "Hello"})), event(begin)]
    };
    let found = failure_lines(&compared("opal", &told("one", "call_id"), &told("two", "tool_call_id")));
    assert_eq!(found, ["must events call_id"]);
}

/// A missing flag for a truncated text is reported before the different text.
#[test]
fn a_missing_cut_flag_is_reported_before_the_text() {
    let result = |text: &str, details: Value| {
        event(json!({"type": "tool_execution_end", "toolCallId": "c", "toolName": "bash", "isError": false,
            "result": {"content": [{"type": "text", "text": text}], "details": details}}))
    };
    let facts = json!({"truncation": {"truncated": true, "totalLines": 9}});
    let found =
        failure_lines(&compared("pi", &result("the end", facts), &result("the beginning", json!({}))));
    assert!(found[0].contains("details"), "{found:?}");
}

#[test]
fn another_event_is_no_near_miss() {
    let golden = part(json!({}));
    let other = part(json!({"type": "toolcall_start", "contentIndex": 3}));
    let found = failure_lines(&compared("pi", &golden, &other));
    assert_eq!(found, ["should events", "should events"]);
}

/// Undeclared events and members are permitted, because clients ignore them.
#[test]
fn undeclared_events_and_members_are_ignored() {
    let run = |more: bool| {
        let mut update = json!({"type": "tool_execution_update", "toolCallId": "t", "toolName": "bash", "args": {},
            "partialResult": {"content": [{"type": "text", "text": "a"}], "details": {}}});
        let mut lines = vec![(
            '<',
            json!({"type": "tool_execution_start", "toolCallId": "t", "toolName": "bash", "args": {}}),
        )];
        if more {
            update["elapsed"] = json!(3);
            lines.push(('<', json!({"type": "com.example.progress", "percent": 50})));
        }
        lines.push(('<', update));
        lines.push((
            '<',
            json!({"type": "tool_execution_end", "toolCallId": "t", "toolName": "bash", "isError": false,
            "result": {"content": [{"type": "text", "text": "ab"}], "details": {}}}),
        ));
        lines
    };
    assert_eq!(failure_lines(&compared("pi", &run(false), &run(true))), Vec::<String>::new());
    // A declared member is compared.
    let mut renamed = run(false);
    renamed[1].1["toolName"] = json!("sh");
    assert_eq!(failure_lines(&compared("pi", &run(false), &renamed)), ["should tool-updates toolName"]);
}

fn cut(lines: std::ops::Range<u32>, total: u32) -> Lines {
    let text: String = lines.clone().map(|line| format!("{line}\n")).collect();
    let facts = json!({"truncated": true, "totalLines": total, "outputLines": lines.len()});
    event(json!({"type": "tool_execution_end", "toolCallId": "t", "toolName": "bash", "isError": false,
        "result": {"content": [{"type": "text", "text": text}], "details": {"truncation": facts}}}))
}

/// A truncated text must be a piece of the same whole text, whose size must be equal.
#[test]
fn another_cut_is_a_cut_of_the_same() {
    let golden = cut(100..200, 200);
    assert_eq!(failure_lines(&compared("pi", &golden, &cut(150..200, 200))), Vec::<String>::new());
    let other = |observed: Lines| failure_lines(&compared("pi", &golden, &observed));
    assert_eq!(other(cut(150..200, 201)), ["should events result.details.truncation.totalLines"]);
    assert_eq!(other(cut(500..600, 200)), ["should events result.content[0].text"]);
    let long = "one line\n".repeat(20);
    let of = |output: &str| bash(json!({"truncated": true, "output": output}));
    let short = |output: &str| failure_lines(&compared("pi", &of(&long), &of(output)));
    assert_eq!(short(&"one line\n".repeat(10)), Vec::<String>::new());
    assert_eq!(short("line\n"), ["should answers data.output"]);
}

/// A session may be stored in another folder, but its path must be absolute.
#[test]
fn another_folder_is_a_whole_path() {
    let of = |file: &str| crate::rows::data("get_state", json!({"sessionFile": file}));
    for (file, holds) in [("/c/d.jsonl", true), ("d.jsonl", false), ("", false)] {
        assert_eq!(failure_lines(&compared("pi", &of("/a/b.jsonl"), &of(file))).is_empty(), holds, "{file}");
    }
}
