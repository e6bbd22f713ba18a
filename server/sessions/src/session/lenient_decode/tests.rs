//! Tests with one unusual message between two normal messages.

use std::sync::Arc;

use super::super::load::load;
use super::super::{Session, SessionOptions};
use super::*;
use crate::runtime::{NumberedIds, SystemClock};
use crate::session::Entry;

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;

fn answer() -> Value {
    json!({
        "role": "assistant", "content": [{"type": "text", "text": "words"}], "api": "a", "provider": "p",
        "model": "m", "stopReason": "stop", "timestamp": 5,
        "usage": {"input": 10, "output": 5, "cacheRead": 1, "cacheWrite": 2, "totalTokens": 18,
                  "cost": {"input": 0.1, "output": 0.2, "cacheRead": 0, "cacheWrite": 0, "total": 0.3}},
    })
}

/// Returns a normal answer in which one member has another value. Without a value, the member is removed.
fn changed(pointer: &str, value: Option<Value>) -> Value {
    let mut answer = answer();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = answer.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    match value {
        Some(value) => drop(parent.insert(name.to_owned(), value)),
        None => drop(parent.shift_remove(name)),
    }
    answer
}

fn entry(id: &str, parent: Option<&str>, message: &Value) -> Value {
    json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:01.000Z", "message": message})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1})
}

/// Returns a session with these lines, and the stored text of each line.
fn session(lines: &[Value]) -> (Session, Vec<String>) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let loaded = load(format!("{HEADER}\n{text}").into_bytes(), || "new".to_owned()).unwrap().unwrap();
    assert_eq!(loaded.repairs.damaged_lines, 0, "{text}");
    let kept = loaded.entries.iter().map(|entry: &Entry| entry.json().to_string()).collect();
    let start = SessionOptions::new("/w", Arc::new(SystemClock), Arc::new(NumberedIds::default()));
    let mut session = Session::in_memory(start);
    session.replace_entries(loaded.entries);
    (session, kept)
}

/// Reads a message from between two others and returns it. Checks that all three messages are read, and that the stored
/// texts are unchanged.
#[track_caller]
fn read(message: &Value) -> Value {
    let lines = [
        entry("a", None, &user("before")),
        entry("b", Some("a"), message),
        entry("c", Some("b"), &user("after")),
    ];
    let (session, kept) = session(&lines);
    assert_eq!(kept, lines.map(|line| line.to_string()), "{message}");
    assert_eq!(session.messages().len(), 3, "{message}");
    let read = serde_json::to_value(&*session.messages()[1]).unwrap();
    // Clients can read it.
    decode::<AgentMessage>(&read.to_string()).unwrap_or_else(|error| panic!("{error}: {read}"));
    session.stats();
    read
}

#[test]
fn answers_in_odd_shapes_do_not_vanish() {
    let odd = [
        ("/usage/input", Some(json!(-50)), "/usage/input", json!(0)),
        ("/usage/input", Some(json!(12.5)), "/usage/input", json!(12)),
        ("/usage/input", Some(json!("12")), "/usage/input", json!(12)),
        ("/usage/input", Some(json!("many")), "/usage/input", json!(0)),
        ("/usage/input", Some(json!(null)), "/usage/input", json!(0)),
        ("/usage/input", Some(json!(1e300)), "/usage/input", json!(u64::MAX)),
        ("/usage/input", Some(json!([7])), "/usage/input", json!(0)),
        ("/usage/input", None, "/usage/input", json!(0)),
        ("/usage/output", Some(json!(-0.5)), "/usage/output", json!(0)),
        ("/usage/cacheRead", Some(json!(true)), "/usage/cacheRead", json!(0)),
        ("/usage/cacheWrite", None, "/usage/output", json!(5)),
        ("/usage/totalTokens", Some(json!(-32)), "/usage/totalTokens", json!(0)),
        ("/usage/totalTokens", Some(json!(null)), "/usage/input", json!(10)),
        ("/usage/cost", None, "/usage/cost/total", json!(0)),
        ("/usage/cost", Some(json!(0.25)), "/usage/input", json!(10)),
        ("/usage/cost/total", Some(json!("0.25")), "/usage/cost/total", json!(0.25)),
        ("/usage/cost/total", Some(json!(-0.25)), "/usage/cost/total", json!(-0.25)),
        ("/usage", Some(json!(null)), "/usage/output", json!(0)),
        ("/usage", Some(json!("none")), "/usage/output", json!(0)),
        ("/usage", None, "/usage/cost/input", json!(0)),
        ("/stopReason", Some(json!("end_turn")), "/stopReason", json!("stop")),
        ("/stopReason", Some(json!("max_tokens")), "/stopReason", json!("length")),
        ("/stopReason", Some(json!("tool_use")), "/stopReason", json!("toolUse")),
        ("/stopReason", Some(json!("novel")), "/stopReason", json!("stop")),
        ("/stopReason", Some(json!(7)), "/stopReason", json!("stop")),
        ("/stopReason", None, "/stopReason", json!("stop")),
        ("/timestamp", Some(json!("2026-01-01T00:00:02.000Z")), "/timestamp", json!(1_767_225_602_000_i64)),
        ("/timestamp", Some(json!(5.5)), "/timestamp", json!(5)),
        ("/timestamp", None, "/timestamp", json!(1_767_225_601_000_i64)),
        ("/content", Some(json!("plain")), "/content/0/text", json!("plain")),
        ("/content", Some(json!(null)), "/content", json!([])),
        ("/content", None, "/content", json!([])),
        ("/content", Some(json!({"type": "text", "text": "alone"})), "/content/0/text", json!("alone")),
        ("/content", Some(json!(["words", 7, null])), "/content/1/text", json!("7")),
        (
            "/content",
            Some(json!([{"text": "untyped"}])),
            "/content/0",
            json!({"text": "untyped", "type": "text"}),
        ),
        ("/content", Some(json!([{"type": "novel", "x": 1}])), "/content/0/x", json!(1)),
        ("/content", Some(json!([{"type": "text", "text": null}])), "/content/0/text", json!("")),
        (
            "/content",
            Some(json!([{"type": "thinking", "thinking": "t", "thinkingSignature": null}])),
            "/content/0/thinking",
            json!("t"),
        ),
        (
            "/content",
            Some(json!([{"type": "toolCall", "id": 7, "name": "bash", "arguments": "{\"command\":\"ls\"}"}])),
            "/content/0",
            json!({"type": "toolCall", "id": "7", "name": "bash", "arguments": {"command": "ls"}}),
        ),
        ("/api", None, "/api", json!("")),
        ("/provider", Some(json!(null)), "/provider", json!("")),
        ("/model", Some(json!(4)), "/model", json!("4")),
        ("/errorMessage", Some(json!(null)), "/stopReason", json!("stop")),
        ("/errorMessage", Some(json!({"code": 1})), "/stopReason", json!("stop")),
        ("/role", None, "/role", json!("assistant")),
    ];
    assert!(odd.len() >= 34);
    for (pointer, value, place, expected) in odd {
        let message = changed(pointer, value);
        let read = read(&message);
        assert_eq!(read.pointer(place), Some(&expected), "{message}\nis read as {read}");
        assert_eq!(read["role"], "assistant", "{message}");
    }
}

#[test]
fn other_messages_in_odd_shapes_do_not_vanish() {
    for (message, place, expected) in [
        (json!({"role": "user", "content": {"type": "text", "text": "x"}}), "/content/0/text", json!("x")),
        (json!({"role": "user", "content": 7, "timestamp": -1}), "/content/0/text", json!("7")),
        (json!({"role": "user", "timestamp": {}}), "/content", json!([])),
        (json!({"role": "user", "content": "x", "timestamp": 1, "attachments": 7}), "/content", json!("x")),
        (json!({"role": "toolResult", "toolCallId": 7, "content": "out"}), "/content/0/text", json!("out")),
        (json!({"toolCallId": "c", "content": [], "isError": "true"}), "/isError", json!(true)),
        (
            json!({"role": "toolResult", "toolCallId": "c", "isError": null, "content": []}),
            "/toolName",
            json!(""),
        ),
        (json!({"role": "bashExecution", "command": "ls", "exitCode": "2"}), "/exitCode", json!(2)),
        (
            json!({"role": "bashExecution", "command": "ls", "exitCode": 1.0, "cancelled": 0}),
            "/cancelled",
            json!(false),
        ),
        (json!({"role": "custom", "content": null, "display": "yes"}), "/customType", json!("")),
        (json!({"role": "branchSummary", "summary": 7}), "/summary", json!("7")),
        (json!({"role": "compactionSummary", "summary": "s", "tokensBefore": -1}), "/tokensBefore", json!(0)),
        (json!({"role": "novel", "x": 1}), "/x", json!(1)),
        (json!({"role": 7, "x": 1}), "/role", json!("unknown")),
        (json!({}), "/role", json!("unknown")),
        (json!("words"), "/content", json!("words")),
        (json!([1]), "/content", json!([1])),
    ] {
        let read = read(&message);
        assert_eq!(read.pointer(place), Some(&expected), "{message}\nis read as {read}");
    }
}

#[test]
fn entries_in_odd_shapes_do_not_vanish() {
    for (change, value) in [
        ("id", None),
        ("id", Some(json!(null))),
        ("id", Some(json!(""))),
        ("id", Some(json!({}))),
        ("parentId", None),
        ("parentId", Some(json!(7.5))),
        ("parentId", Some(json!({}))),
        ("parentId", Some(json!(""))),
        ("timestamp", None),
        ("timestamp", Some(json!(1_767_225_601_000_i64))),
        ("timestamp", Some(json!("yesterday"))),
        ("type", None),
    ] {
        let mut odd = entry("b", Some("a"), &answer());
        match value {
            Some(value) => drop(odd.as_object_mut().unwrap().insert(change.to_owned(), value)),
            None => drop(odd.as_object_mut().unwrap().shift_remove(change)),
        }
        // An entry after one without an id cannot refer to it.
        let mut after = entry("c", Some("b"), &user("after"));
        if change == "id" {
            after.as_object_mut().unwrap().shift_remove("parentId");
        }
        let lines = [entry("a", None, &user("before")), odd.clone(), after];
        let (mut session, kept) = session(&lines);
        assert_eq!(kept, lines.map(|line| line.to_string()));
        let seen = if change == "parentId" && odd["parentId"] == json!(7.5) { 2 } else { 3 };
        assert_eq!(session.messages().len(), seen, "{odd}");
        // A fork writes id and parent of each entry.
        let last = session.append(Arc::new(serde_json::from_value(user("more")).unwrap()));
        let (fork, _) = session.fork(last.as_str(), None).unwrap();
        assert_eq!(fork.messages().len(), seen, "{odd}");
        let again: Vec<Value> =
            fork.entries().iter().map(|entry| serde_json::from_str(entry.json().as_str()).unwrap()).collect();
        let (again, _) = self::session(&again);
        assert_eq!(again.messages().len(), seen, "{odd}");
    }
    let number = [
        entry("a", None, &user("before")),
        json!({"type": "message", "id": 7, "parentId": "a", "message": answer()}),
    ];
    let follows = json!({"type": "message", "id": "c", "parentId": 7, "message": user("after")});
    assert_eq!(session(&[&number[..], &[follows]].concat()).0.messages().len(), 3);
    let note =
        json!({"type": "custom_message", "id": "b", "parentId": "a", "content": {"text": "x"}, "display": 1});
    let (noted, _) = session(&[entry("a", None, &user("before")), note]);
    assert_eq!(serde_json::to_value(&*noted.messages()[1]).unwrap()["content"][0]["text"], "x");
    let compaction =
        json!({"type": "compaction", "id": "b", "parentId": "a", "summary": 7, "tokensBefore": "12.5"});
    let (compacted, _) = session(&[entry("a", None, &user("before")), compaction]);
    assert_eq!(serde_json::to_value(&*compacted.messages()[0]).unwrap()["tokensBefore"], 12);
}
