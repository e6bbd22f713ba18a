//! Tests of invalid input: it is answered in the form of the dialect, and the server continues to read.

use std::sync::Arc;

use agentese::omp::Omp;
use agentese::pi::Pi;
use agentese::serve::Options;
use serde_json::{Value, json};

use crate::service::{SmallOmpService, SmallService, WireClient, start, within};

fn pi() -> WireClient {
    start::<Pi, SmallService>(Arc::default(), Options::default())
}

/// Checks that the server is alive and its state unchanged.
async fn assert_alive(wire: &mut WireClient) {
    let state = wire.request(r#"{"id":"alive","type":"get_state"}"#).await;
    assert_eq!(
        (&state["id"], &state["data"]["steeringMode"]),
        (&json!("alive"), &json!("one-at-a-time")),
        "{state}"
    );
}

fn assert_parse(answer: &Value, part: &str) {
    assert_eq!(
        (&answer["type"], &answer["command"], &answer["success"]),
        (&json!("response"), &json!("parse"), &json!(false)),
        "{answer}"
    );
    let error = answer["error"].as_str().unwrap();
    assert!(error.starts_with("Failed to parse command: ") && error.contains(part), "{error}");
}

#[tokio::test]
async fn lines_that_are_no_json_are_answered_and_reading_goes_on() {
    let mut wire = pi();
    for line in [
        "this is not json",
        r#"{"type":"get_state""#,
        "{'type':'get_state'}",
        r#"{"type":"get_state"} trailing"#,
        r#"{"a":1}{"b":2}"#,
        "NaN",
        r#"{"type":"get_state","x":tru}"#,
    ] {
        let answer = wire.request(line).await;
        assert_parse(&answer, "");
        assert!(answer.get("id").is_none());
        assert_alive(&mut wire).await;
    }
}

/// A blank line or a byte order mark is a parse failure in pi, as in the real agent. A carriage return before the
/// line feed is dropped.
#[tokio::test]
async fn fm_f04_blank_lines_are_answered_in_pi_and_ignored_in_omp() {
    let mut wire = pi();
    for line in ["", "   ", "\r", "\t"] {
        assert_parse(&wire.request(line).await, "");
    }
    assert_eq!(wire.request("{\"id\":1,\"type\":\"get_state\"}\r").await["success"], true);
    let mut wire = pi();
    assert_parse(&wire.request("\u{feff}{\"id\":1,\"type\":\"get_state\"}").await, "");
    assert_alive(&mut wire).await;

    let mut omp = start::<Omp, SmallOmpService>(Arc::default(), Options::default());
    for line in ["\u{feff}", "", "   ", "\r"] {
        omp.send(line).await;
    }
    // The next line is the response to this command.
    assert_eq!(omp.request(r#"{"id":2,"type":"set_interrupt_mode","mode":"wait"}"#).await["id"], 2);
}

/// F07: a line that is not UTF-8 gets a failure response.
#[tokio::test]
async fn fm_f07_invalid_utf8_is_answered() {
    let mut wire = pi();
    wire.write(b"{\"type\":\"get_state\",\"x\":\"\xff\xfe\"}\n").await;
    assert_parse(&wire.receive().await, "utf-8");
    assert_alive(&mut wire).await;
}

/// F12: a line over the limit is answered once and skipped.
#[tokio::test]
async fn fm_f12_a_line_over_the_cap_is_answered_once() {
    let mut options = Options::default();
    options.max_line = 1000;
    let mut wire = start::<Pi, SmallService>(Arc::default(), options);
    let long = format!(r#"{{"id":"x","type":"prompt","message":"{}"}}"#, "x".repeat(500_000));
    wire.send(&long).await;
    assert_parse(&wire.receive().await, "1000");
    assert_alive(&mut wire).await;
}

/// F10: half a surrogate pair is read as the replacement character. It is never sent back.
#[tokio::test]
async fn fm_f10_lone_surrogates_are_replaced() {
    let mut wire = pi();
    let answer = wire.request(r#"{"id":"\ud800","type":"bash","command":"a\ud800b \ud83e\udd80"}"#).await;
    assert_eq!(answer["data"]["output"], "a\u{fffd}b 🦀", "{answer}");
}

/// F11: control characters are escaped in the output.
#[tokio::test]
async fn fm_f11_control_characters_are_escaped() {
    let mut wire = pi();
    wire.send(r#"{"id":1,"type":"bash","command":"\u0000\u001b\u007f"}"#).await;
    let line = wire.receive_text().await;
    assert!(line.contains(r#""output":"\u0000\u001b"#) && !line.bytes().any(|byte| byte < b' '), "{line}");
}

/// F16: deep nesting is rejected, and the server continues.
#[tokio::test]
async fn fm_f16_deep_nesting_is_rejected() {
    let mut wire = pi();
    let deep =
        format!(r#"{{"id":1,"type":"prompt","message":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_parse(&wire.request(&deep).await, "deep");
    assert_alive(&mut wire).await;
}

/// F17: of two members with one name, the last one applies.
#[tokio::test]
async fn fm_f17_the_last_of_two_equal_members_counts() {
    let mut wire = pi();
    let answer = wire
        .request(r#"{"id":1,"type":"prompt","type":"set_session_name","name":"","name":"x","id":2}"#)
        .await;
    assert_eq!(
        (&answer["id"], &answer["command"], &answer["success"]),
        (&json!(2), &json!("set_session_name"), &json!(true))
    );
}

/// F19: a line with JSON that is not an object gets a failure response.
#[tokio::test]
async fn fm_f19_json_that_is_no_object_is_answered() {
    let mut wire = pi();
    for (line, kind) in [
        ("[1,2,3]", "array"),
        ("42", "number"),
        ("\"text\"", "string"),
        ("null", "null"),
        ("true", "boolean"),
        ("[]", "array"),
    ] {
        assert_parse(&wire.request(line).await, kind);
    }
    for line in ["{}", r#"{"id":"x"}"#, r#"{"id":"x","type":5}"#, r#"{"id":"x","type":null}"#] {
        let answer = wire.request(line).await;
        assert_eq!(answer["success"], false, "{answer}");
        assert!(answer["error"].as_str().unwrap().contains("`type`"), "{answer}");
    }
    assert_alive(&mut wire).await;
}

/// F18: a number that no double represents is sent back unchanged, or it is rejected. It is never altered.
#[tokio::test]
async fn fm_f18_numbers_in_ids_come_back_exactly() {
    let mut wire = pi();
    for id in ["9007199254740991", "12345678901234567890", "-0.0", "1.5", "0"] {
        wire.send(&format!(r#"{{"id":{id},"type":"get_state"}}"#)).await;
        let answer = wire.receive().await;
        assert_eq!(answer["id"].to_string(), id, "{answer}");
    }
    // No double represents this number, so it returns in its original form.
    wire.send(r#"{"id":1e400,"type":"get_state"}"#).await;
    assert!(wire.receive_text().await.starts_with(r#"{"id":1e400,"type":"response""#));
}

/// F21: the response to an unknown command names it.
#[tokio::test]
async fn fm_f21_unknown_commands_are_answered() {
    let mut wire = pi();
    let answer = wire.request(r#"{"id":"u1","type":"do_magic"}"#).await;
    assert_eq!(
        answer,
        json!({"id": "u1", "type": "response", "command": "do_magic", "success": false, "error": "Unknown command: do_magic"})
    );
    let mut omp = start::<Omp, SmallOmpService>(Arc::default(), Options::default());
    let answer = omp.request(r#"{"id":"u1","type":"do_magic"}"#).await;
    assert!(answer.get("id").is_none(), "omp drops the id, as in its document: {answer}");
}

#[tokio::test]
async fn ids_are_echoed_exactly_as_they_came() {
    let mut wire = pi();
    for id in
        [json!("a"), json!(7), json!(true), json!([1, "x"]), json!({"k": [null]}), json!(null), json!("")]
    {
        let answer = wire.request(&json!({"id": id, "type": "get_state"}).to_string()).await;
        assert_eq!(answer.get("id"), Some(&id));
    }
    assert!(wire.request(r#"{"type":"get_state"}"#).await.get("id").is_none());
}

#[tokio::test]
async fn a_wrong_or_missing_member_is_named_and_nothing_changes() {
    let mut wire = pi();
    for (line, part) in [
        (r#"{"id":1,"type":"prompt"}"#, "message"),
        (r#"{"id":1,"type":"prompt","message":5}"#, "message"),
        (r#"{"id":1,"type":"prompt","message":"x","images":"nope"}"#, "images"),
        (
            r#"{"id":1,"type":"prompt","message":"x","images":[{"data":"eA==","mimeType":"image/png"}]}"#,
            "type",
        ),
        (r#"{"id":1,"type":"prompt","message":"x","streamingBehavior":"bogus"}"#, "bogus"),
        (r#"{"id":1,"type":"set_steering_mode","mode":"bogus"}"#, "bogus"),
        (r#"{"id":1,"type":"set_steering_mode"}"#, "mode"),
        (r#"{"id":1,"type":"bash","command":null}"#, "command"),
        (r#"{"id":1,"type":"set_auto_compaction","enabled":"yes"}"#, "enabled"),
    ] {
        let answer = wire.request(line).await;
        assert_eq!((&answer["id"], &answer["success"]), (&json!(1), &json!(false)), "{answer}");
        assert_eq!(answer["command"], serde_json::from_str::<Value>(line).unwrap()["type"]);
        assert!(answer["error"].as_str().unwrap().contains(part), "{answer}");
        assert_alive(&mut wire).await;
    }
}

#[tokio::test]
async fn an_unimplemented_command_is_answered_as_such() {
    let mut wire = pi();
    let answer = wire.request(r#"{"id":1,"type":"export_html"}"#).await;
    assert_eq!(
        (&answer["command"], &answer["success"], &answer["id"]),
        (&json!("export_html"), &json!(false), &json!(1))
    );
    assert!(answer["error"].as_str().unwrap().contains("`export_html` is not available"), "{answer}");
}

/// omp and pisces: a handler's failure is named `parse` and has no id, except for documented commands. If an
/// acknowledged prompt fails, a second response follows.
#[tokio::test]
async fn omp_failures_have_the_form_of_the_dialect() {
    let mut omp = start::<Omp, SmallOmpService>(Arc::default(), Options::default());
    let answer = omp.request(r#"{"id":1,"type":"compact"}"#).await;
    assert_eq!(
        answer,
        json!({"type": "response", "command": "parse", "success": false, "error": "Failed to parse command: Already compacted"})
    );
    let answer = omp.request(r#"{"id":2,"type":"prompt","message":"refuse"}"#).await;
    assert_eq!(answer, json!({"id": 2, "type": "response", "command": "prompt", "success": true}));
    assert_eq!(
        omp.receive().await,
        json!({"id": 2, "type": "response", "command": "prompt", "success": false, "error": "no key"})
    );
    let answer = omp.request(r#"{"id":3,"type":"set_interrupt_mode","mode":"never"}"#).await;
    assert_eq!(
        (&answer["id"], &answer["command"]),
        (&json!(3), &json!("set_interrupt_mode")),
        "a value outside its set keeps the id"
    );
    let answer = omp.request(r#"{"id":4,"type":"bash"}"#).await;
    assert_eq!((answer.get("id"), &answer["command"]), (None, &json!("parse")), "a missing member drops it");
}

/// F55: if a handler panics, the command is answered with its id, and the server continues.
#[tokio::test]
async fn fm_f55_a_handler_that_panics_is_answered() {
    let mut wire = pi();
    let answer = wire.request(r#"{"id":1,"type":"prompt","message":"panic"}"#).await;
    assert_eq!(
        (&answer["id"], &answer["command"], &answer["success"]),
        (&json!(1), &json!("prompt"), &json!(false))
    );
    assert_alive(&mut wire).await;
    // The lane of the handler is free again.
    assert_eq!(wire.request(r#"{"id":2,"type":"prompt","message":"refuse"}"#).await["error"], "no key");
}

/// F01, F09, F15: lines that arrive in pieces are processed, and so is a last line without its end.
#[tokio::test]
async fn fm_f15_the_last_line_needs_no_end() {
    let mut wire = pi();
    for byte in "{\"id\":\"é𝄞\u{2028}\",\"type\":\"get_state\"}\n".as_bytes() {
        wire.write(&[*byte]).await;
    }
    assert_eq!(wire.receive().await["id"], "é𝄞\u{2028}");
    wire.write(br#"{"id":"last","type":"get_state"}"#).await;
    tokio::io::AsyncWriteExt::shutdown(&mut wire.writer).await.unwrap();
    assert_eq!(wire.receive().await["id"], "last");
    assert_eq!(within("the end", wire.served).await.unwrap(), agentese::serve::ServeEnd::EndOfInput);
}
