//! The fast parse and the full parse have the same result.

use agentese::types::AgentMessage;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::session::entry::Entry;

const USAGE: &str = r#"{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0,"output":0.5,"cacheRead":0,"cacheWrite":0,"total":0.5}}"#;

fn answer(content: &str) -> String {
    format!(
        r#"{{"role":"assistant","content":{content},"api":"a","provider":"p","model":"m","usage":{USAGE},"stopReason":"stop","timestamp":5}}"#
    )
}

fn messages() -> Vec<String> {
    let call = r#"{"type":"toolCall","id":"c","name":"read","arguments":{"path":"a\"b","n":[1,-2.5,{}]}}"#;
    vec![
        r#"{"role":"user","content":"wörds \n\u00e4 \"x\"","timestamp":1}"#.to_owned(),
        r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","data":"aa","mimeType":"image/png"}],"timestamp":1}"#.to_owned(),
        answer(r#"[{"type":"text","text":"a long text that is looked at in more than one step, \\ and \" in it"}]"#),
        answer(&format!(r#"[{{"type":"thinking","thinking":"t","thinkingSignature":"s"}},{call}]"#)),
        r#"{"role":"toolResult","toolCallId":"c","toolName":"read","content":[],"details":{"x":[null]},"isError":false,"timestamp":7}"#.to_owned(),
        r#"{"role":"bashExecution","command":"ls","output":"o","exitCode":0,"cancelled":false,"truncated":true,"timestamp":7}"#.to_owned(),
    ]
}

fn line(message: &str) -> String {
    format!(
        r#"{{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-02T03:04:05.678Z","message":{message}}}"#
    )
}

#[test]
fn usual_messages_are_parsed_and_have_the_declared_shape() {
    for message in messages() {
        let line = line(&message);
        let preview = fast_parse(&line).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(
            (preview.id, preview.parent_id, preview.timestamp),
            ("b", Some("a"), "2026-01-02T03:04:05.678Z")
        );
        assert_eq!((&line[preview.message.clone()], preview.has_declared_shape), (message.as_str(), true));
        let spaced = serde_json::to_string(&serde_json::from_str::<Value>(&line).unwrap()).unwrap();
        assert_eq!(
            fast_parse(&spaced.replace("\":", "\": ")).map(|preview| preview.has_declared_shape),
            Some(true),
            "{spaced}"
        );
    }
}

#[test]
fn unusual_lines_are_left_to_the_full_parse() {
    let usual = line(&messages()[0]);
    assert!(fast_parse(&usual).is_some());
    for (what, instead) in [
        ("\"id\":\"b\"", "\"id\":7"),
        ("\"id\":\"b\"", "\"id\":\"\""),
        ("\"id\":\"b\"", "\"id\":\"b\",\"id\":\"c\""),
        ("\"id\":\"b\"", "\"id\":\"\\u0062\""),
        ("\"id\":\"b\",", ""),
        ("\"parentId\":\"a\",", ""),
        ("\"type\":\"message\",", ""),
        ("\"type\":\"message\"", "\"type\":\"custom\""),
        ("\"timestamp\":1}", "\"timestamp\":1e3}"),
        ("\"timestamp\":1}", "\"timestamp\":01}"),
        ("\"timestamp\":1}", "\"timestamp\":1.}"),
        ("\"timestamp\":1}", "\"timestamp\":1,}"),
        ("\"timestamp\":1}", "\"timestamp\":1]"),
        ("\"timestamp\":1}", "\"timestamp\":tru}"),
        ("\"role\":\"user\",", ""),
        ("\\n", "\\x"),
        ("\\n", "\n"),
        ("\\u00e4", "\\ud83d"),
        ("\\u00e4", "\\u00"),
        ("\\u00e4", "\\u+0e4"),
    ] {
        let line = usual.replacen(what, instead, 1);
        assert!(line != usual && fast_parse(&line).is_none(), "{line}");
    }
    for cut in 0..usual.len() {
        assert!(usual.get(..cut).is_none_or(|part| fast_parse(part).is_none()), "{cut}");
    }
    assert!(fast_parse(&format!("{usual} x")).is_none());
    assert!(fast_parse(&line(&"[".repeat(100_000))).is_none());
}

/// Generates a value that a test puts in place of another value.
fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-9i64..9).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z\"\\\\\u{e4}\n]{0,20}".prop_map(Value::from),
        Just(json!("stop")),
        Just(json!([])),
        Just(json!({})),
        Just(json!([{"type": "text", "text": "x"}])),
        Just(json!([{"type": "other"}, 5])),
        Just(json!({"type": "toolCall", "id": "c"})),
    ]
}

/// Adds the JSON pointers of all values inside a value to `out`.
fn pointers(value: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| pointers(value, &format!("{at}/{name}"), out));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, value)| pointers(value, &format!("{at}/{index}"), out));
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn the_fast_parse_agrees_with_the_full_parse(
        which in 0usize..6, at in any::<prop::sample::Index>(), value in odd(), renames in any::<bool>(),
    ) {
        let mut changed: Value = serde_json::from_str(&line(&messages()[which])).unwrap();
        let mut all = Vec::new();
        pointers(&changed, "", &mut all);
        let pointer = at.get(&all);
        if renames && let Some((above, name)) = pointer.rsplit_once('/') {
            if let Some(Value::Object(members)) = changed.pointer_mut(above) {
                members.shift_remove(name);
                members.insert("another".to_owned(), value);
            }
        } else if let Some(target) = changed.pointer_mut(pointer) {
            *target = value;
        }
        let line = changed.to_string();
        let members = crate::session::members::Members::read(&line).ok();
        if let Some(preview) = fast_parse(&line) {
            let members = members.unwrap();
            prop_assert_eq!(members.raw("message").unwrap(), &line[preview.message.clone()]);
            if preview.has_declared_shape {
                let message = serde_json::from_str::<AgentMessage>(&line[preview.message.clone()]);
                prop_assert!(message.is_ok(), "{} {:?}", line, message);
            }
            let full = Entry::from_line_full(&line);
            let quick = Entry::from_line(line.clone());
            let facts = |entry: &Entry| {
                let message = entry.message().map(|message| (*message).clone());
                let text = entry.message_text().map(|text| text.as_str().to_owned());
                (entry.id().clone(), entry.parent_id().cloned(), entry.time(), entry.body().clone(), message, text)
            };
            prop_assert_eq!(full.as_ref().map(facts), quick.as_ref().map(facts));
        }
    }
}
