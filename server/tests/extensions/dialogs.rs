//! Tests of questions of extensions to the user.

use std::time::Duration;

use serde_json::{Value, json};

use super::host::{agent, limited, plain, runs};
use crate::support::process::Place;

/// Returns a frame as text without its random id.
fn without_id(mut frame: Value) -> String {
    let id = frame.as_object_mut().unwrap().shift_remove("id").unwrap();
    let id = id.as_str().unwrap();
    assert_eq!((id.len(), id.matches('-').count()), (36, 4), "{id} can be guessed");
    frame.to_string()
}

#[test]
fn user_answer_reaches_the_extension() {
    let place = Place::new();
    let mut agent = agent(&place, &["ui"], plain());
    let cases = [
        (
            "/ask-select",
            r#"{"type":"extension_ui_request","method":"select","title":"Pick a colour","options":["red","green","blue"]}"#,
            "value",
            json!("green"),
            r#"select="green""#,
        ),
        (
            "/ask-confirm",
            r#"{"type":"extension_ui_request","method":"confirm","title":"Sure?","message":"This deletes things."}"#,
            "confirmed",
            json!(true),
            "confirm=true",
        ),
        (
            "/ask-confirm",
            r#"{"type":"extension_ui_request","method":"confirm","title":"Sure?","message":"This deletes things."}"#,
            "confirmed",
            json!(false),
            "confirm=false",
        ),
        (
            "/ask-input",
            r#"{"type":"extension_ui_request","method":"input","title":"Your name","placeholder":"type here"}"#,
            "value",
            json!("Ada"),
            r#"input="Ada""#,
        ),
        (
            "/ask-input-bare",
            r#"{"type":"extension_ui_request","method":"input","title":"Bare"}"#,
            "value",
            json!(""),
            r#"input="""#,
        ),
        (
            "/ask-editor",
            r#"{"type":"extension_ui_request","method":"editor","title":"Edit this","prefill":"line 1\nline 2"}"#,
            "value",
            json!("new\ntext"),
            r#"editor="new\ntext""#,
        ),
        (
            "/ask-editor-bare",
            r#"{"type":"extension_ui_request","method":"editor","title":"Empty editor"}"#,
            "value",
            json!("x"),
            r#"editor="x""#,
        ),
    ];
    for (command, question, member, answer, notice) in cases {
        agent.prompt(command);
        let dialog = agent.next_dialog();
        assert_eq!(without_id(dialog.clone()), question);
        // The command continues, and the prompt is accepted.
        let accepted = agent.until("the answer", |frame| frame["id"] == command).pop().unwrap();
        assert_eq!(accepted["success"], true);
        agent.answer(&dialog, member, answer);
        assert_eq!(agent.next_notice(), notice);
    }
    assert_eq!(agent.finish().0.code(), Some(0));
}

#[test]
fn dismissed_dialog_has_no_value() {
    let place = Place::new();
    let mut agent = agent(&place, &["ui"], plain());
    for (command, notice) in [
        ("/ask-select", "select=null"),
        ("/ask-confirm", "confirm=false"),
        ("/ask-input", "input=null"),
        ("/ask-editor", "editor=null"),
    ] {
        agent.prompt(command);
        let dialog = agent.next_dialog();
        agent.answer(&dialog, "cancelled", true);
        assert_eq!(agent.next_notice(), notice);
    }
    // A response with `cancelled: false` is an answer.
    agent.prompt("/ask-select");
    let id = agent.next_dialog()["id"].clone();
    agent.send(json!({"type": "extension_ui_response", "id": id, "cancelled": false, "value": "red"}));
    assert_eq!(agent.next_notice(), r#"select="red""#);
}

#[test]
fn fm_f57_unanswered_dialog_has_its_default_at_its_timeout() {
    let place = Place::new();
    let mut agent = agent(&place, &["ui"], plain());
    // The extension reports an early default value.
    agent.prompt("/ask-timeout 300");
    for (method, notice) in [("select", "select=null"), ("confirm", "confirm=false"), ("input", "input=null")]
    {
        let dialog = agent.next_dialog();
        assert_eq!((dialog["method"].as_str(), dialog["timeout"].as_u64()), (Some(method), Some(300)));
        assert_eq!(agent.next_notice(), notice);
        // Too late, and ignored.
        agent.answer(&dialog, "value", "a");
    }
    // An answer within the time limit applies, independent of the limit's length.
    agent.prompt("/ask-timeout 600000");
    for (member, answer, notice) in [
        ("value", json!("b"), r#"select="b""#),
        ("confirmed", json!(true), "confirm=true"),
        ("value", json!("in time"), r#"input="in time""#),
    ] {
        let dialog = agent.next_dialog();
        agent.answer(&dialog, member, answer);
        assert_eq!(agent.next_notice(), notice);
    }
    assert_eq!(agent.failures(), Vec::<&Value>::new());
}

#[test]
fn fm_f57_unanswered_question_does_not_block_a_run() {
    let place = Place::new();
    let mut agent = limited(&place, &["guard"], runs("touch ran"), json!({"dialogTimeoutMs": 200}));
    agent.prompt("go");
    agent.next_dialog();
    let frames = agent.until_event("agent_end");
    let result = frames.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
    assert_eq!(result["result"]["content"][0]["text"], "Blocked by user");
    assert!(!place.work().join("ran").exists());
}

#[test]
fn time_in_a_dialog_does_not_count_against_the_limit_of_a_hook() {
    let place = Place::new();
    let mut agent = limited(&place, &["guard"], runs("touch ran"), json!({"hookTimeoutMs": 2000}));
    agent.prompt("go");
    let dialog = agent.next_dialog();
    // Longer than the time limit of the hook itself.
    std::thread::sleep(Duration::from_millis(2500));
    agent.answer(&dialog, "value", "Allow");
    let frames = agent.until_event("agent_end");
    assert!(frames.iter().all(|frame| frame["type"] != "extension_error"), "{frames:#?}");
    assert!(place.work().join("ran").exists());
}

#[test]
fn fm_f127_answers_with_wrong_id_or_type_are_ignored() {
    let place = Place::new();
    let mut agent = agent(&place, &["ui"], plain());
    agent.prompt("/ask-select");
    let dialog = agent.next_dialog();
    for id in [json!("00000000-0000-4000-8000-000000000000"), json!(""), json!(7), Value::Null] {
        agent.send(json!({"type": "extension_ui_response", "id": id, "value": "blue"}));
    }
    agent.answer(&dialog, "value", "red");
    // Second answer to the same question.
    agent.answer(&dialog, "value", "green");
    assert_eq!(agent.next_notice(), r#"select="red""#);
    for (command, member, answer, notice) in [
        ("/ask-select", "value", json!("purple"), "select=null"),
        ("/ask-select", "confirmed", json!(true), "select=null"),
        ("/ask-select", "value", json!(7), "select=null"),
        ("/ask-confirm", "value", json!("yes"), "confirm=false"),
        ("/ask-confirm", "confirmed", json!("yes"), "confirm=false"),
        ("/ask-input", "confirmed", json!(true), "input=null"),
        ("/ask-input", "nothing", json!(true), "input=null"),
    ] {
        agent.prompt(command);
        let dialog = agent.next_dialog();
        agent.answer(&dialog, member, answer);
        assert_eq!(agent.next_notice(), notice, "{command} {member}");
    }
    let (status, _, stderr) = agent.finish();
    assert_eq!(status.code(), Some(0));
    assert!(stderr.contains("not among the options"), "{stderr}");
    assert_eq!(stderr.matches("is treated as unanswered").count(), 7, "{stderr}");
}

#[test]
fn question_can_be_withdrawn() {
    let place = Place::new();
    let mut agent = agent(&place, &["ui"], plain());
    agent.prompt("/ask-withdrawn");
    let dialog = agent.next_dialog();
    agent.prompt("/withdraw");
    assert_eq!(agent.next_notice(), "select=null");
    // A withdrawn question does not appear.
    assert_eq!(agent.next_notice(), "confirm=false");
    agent.answer(&dialog, "value", "a");
    agent.request(json!({"type": "get_state"}));
    let shown: Vec<_> = agent.seen.iter().filter(|frame| frame["type"] == "extension_ui_request").collect();
    let methods: Vec<_> = shown.iter().map(|frame| &frame["method"]).collect();
    assert_eq!(methods, ["select", "notify", "notify"]);
    assert_eq!(agent.failures(), Vec::<&Value>::new());
}

#[test]
fn concurrent_questions_are_matched_by_id() {
    let place = Place::new();
    let mut agent = agent(&place, &["ui"], plain());
    agent.prompt("/ask-two");
    let mut dialogs = [agent.next_dialog(), agent.next_dialog()];
    dialogs.sort_by_key(|question| question["title"].to_string());
    let [first, second] = dialogs;
    // The client may send commands before its answer.
    assert_eq!(agent.request(json!({"type": "get_state"}))["data"]["isStreaming"], false);
    agent.answer(&second, "confirmed", true);
    agent.answer(&first, "value", "b");
    assert_eq!(agent.next_notice(), r#"both=["b", true]"#);
}

#[test]
fn fm_f49_abort_does_not_wait_for_a_dialog() {
    let place = Place::new();
    let mut agent = agent(&place, &["guard"], runs("touch ran"));
    agent.prompt("go");
    let dialog = agent.next_dialog();
    agent.send(json!({"id": "abort", "type": "abort"}));
    let frames = agent.until("abort", |frame| frame["id"] == "abort");
    assert_eq!(frames.last().unwrap()["success"], true);
    assert!(frames.iter().any(|frame| frame["type"] == "agent_end"), "{frames:#?}");
    let result = frames.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
    assert_eq!(
        (&result["isError"], &result["result"]["content"][0]["text"]),
        (&json!(true), &json!("Not started: the run was aborted."))
    );
    // The late answer belongs to no question.
    agent.answer(&dialog, "value", "Allow");
    assert_eq!(agent.request(json!({"type": "get_state"}))["data"]["isStreaming"], false);
    assert!(!place.work().join("ran").exists());
    assert_eq!(agent.failures(), Vec::<&Value>::new());
}

#[test]
fn a_guard_lets_through_and_blocks() {
    let place = Place::new();
    let script = json!({"responses": [
        {"blocks": [
            {"tool": {"id": "a", "name": "bash", "args": {"command": "echo one"}}},
            {"tool": {"id": "b", "name": "bash", "args": {"command": "touch two"}}},
            {"tool": {"id": "c", "name": "bash", "args": {"command": "touch three"}}},
        ]},
    ], "default": {"text": "done"}});
    let mut agent = agent(&place, &["guard"], script);
    agent.prompt("go");
    let dialog = agent.next_dialog();
    assert_eq!(dialog["title"], "Allow: echo one");
    agent.answer(&dialog, "value", "Allow");
    let dialog = agent.next_dialog();
    assert_eq!(dialog["title"], "Allow: touch two");
    agent.answer(&dialog, "value", "Block");
    let dialog = agent.next_dialog();
    assert_eq!(dialog["title"], "Allow: touch three");
    agent.answer(&dialog, "cancelled", true);
    agent.until_event("agent_end");
    let ends: Vec<_> = agent.seen.iter().filter(|frame| frame["type"] == "tool_execution_end").collect();
    assert_eq!(
        (&ends[0]["isError"], &ends[0]["result"]["content"][0]["text"]),
        (&json!(false), &json!("one\n"))
    );
    for blocked in &ends[1..] {
        let result = json!({"content": [{"type": "text", "text": "Blocked by user"}], "details": {}});
        assert_eq!((&blocked["isError"], &blocked["result"]), (&json!(true), &result));
    }
    assert_eq!(ends.len(), 3);
    assert!(!place.work().join("two").exists() && !place.work().join("three").exists());
    super::host::check_runs(&agent.seen);
}

#[test]
fn fm_f49_session_switch_ends_the_dialogs_of_the_previous_session() {
    let place = Place::new();
    let mut agent = agent(&place, &["ui"], plain());
    agent.prompt("/ask-input");
    let dialog = agent.next_dialog();
    agent.request(json!({"type": "new_session"}));
    assert_eq!(agent.next_notice(), "input=null");
    agent.answer(&dialog, "value", "late");
    agent.prompt("/ask-input");
    let dialog = agent.next_dialog();
    agent.answer(&dialog, "value", "in time");
    assert_eq!(agent.next_notice(), r#"input="in time""#);
}
