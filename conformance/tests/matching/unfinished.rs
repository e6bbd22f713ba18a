//! Tests of messages that are never completed because a command replaces their run, and of incomplete
//! objects that look complete.

use serde_json::{Value, json};

use crate::rows::{event, rpc};
use crate::support::{compared, failure_lines};

type Lines = Vec<(char, Value)>;

const RECORDED: u64 = 1_795_293_436_469;

fn message(text: &str, time: u64) -> Value {
    let content = if text.is_empty() { json!([]) } else { json!([{"type": "text", "text": text}]) };
    json!({
        "role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m", "stopReason": "stop",
        "timestamp": time, "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}
    })
}

/// Creates a message that starts and grows, but never ends.
fn begun(time: u64) -> Lines {
    let update = |piece: &str, so_far: &str| {
        json!({"type": "message_update", "message": message(so_far, time), "assistantMessageEvent": {
            "type": "text_delta", "contentIndex": 0, "delta": piece, "partial": message(so_far, time)
        }})
    };
    let start = json!({"type": "message_start", "message": message("", time)});
    [start, update("Hel", "Hel"), update("lo", "Hello")].into_iter().flat_map(event).collect()
}

fn check(dialect: &str, golden: &Lines, observed: &Lines, expected: &[&str]) {
    assert_eq!(failure_lines(&compared(dialect, golden, observed)), expected, "\n{golden:?}\n{observed:?}");
}

#[test]
fn a_message_that_never_is_complete_has_a_moment_of_its_own() {
    let later = begun(RECORDED + 86_400_000);
    assert_ne!(begun(RECORDED), later);
    check("omp", &begun(RECORDED), &later, &[]);
    let mut other = later;
    other[0].1["message"]["model"] = json!("n");
    let found = failure_lines(&compared("omp", &begun(RECORDED), &other));
    assert!(found.contains(&"should events message.model".to_owned()), "{found:?}");
}

#[test]
fn snapshots_of_an_unfinished_message_are_compared_with_each_other() {
    let golden = begun(RECORDED);
    let mut other = golden.clone();
    other[1].1["message"]["api"] = json!("b");
    check("omp", &golden, &other, &["should snapshots message.api"]);
    let mut twice = golden.clone();
    let block = twice[1].1["message"]["content"][0].clone();
    twice[1].1["message"]["content"].as_array_mut().unwrap().push(block);
    check("omp", &golden, &twice, &["should snapshots message.content"]);
}

#[test]
fn a_failure_of_json_rpc_may_have_more_members() {
    let error = |more: Value| {
        let mut error = json!({"code": -32602, "message": "wrong"});
        error.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        rpc(json!({"error": error}))
    };
    check("opal", &error(json!({})), &error(json!({"somethingNew": 1})), &[]);
    check("opal", &error(json!({})), &error(json!({"code": -32601})), &["must answers error.code"]);
}

#[test]
fn a_verification_in_tool_details_has_its_own_end_time() {
    let done = |end: u64| {
        let attempt = json!({"startedAt": RECORDED, "endedAt": end, "exitCode": 0});
        event(
            json!({"type": "tool_execution_end", "toolCallId": "t", "toolName": "task", "isError": false, "result": {
                "content": [], "details": {"results": [{"verification": {"attempts": [attempt]}}]}
            }}),
        )
    };
    check("pisces", &done(RECORDED + 5), &done(RECORDED + 86_400_000), &[]);
    // A time in seconds has the wrong unit.
    let place = "must events result.details.results[0].verification.attempts[0].endedAt";
    check("pisces", &done(RECORDED + 5), &done(RECORDED / 1000), &[place]);
}

#[test]
fn the_file_of_a_failed_request_is_named_by_its_moment() {
    let ended = |file: &str| {
        let mut message = message("", RECORDED);
        message["stopReason"] = json!("error");
        message["errorMessage"] = json!(format!("400 no (raw: /h/http-400-requests/{file})"));
        event(json!({"type": "message_end", "message": message}))
    };
    let of = |dialect: &str, file: &str| {
        use agentese_conformance::matching::{Choices, Comparison, compare};
        let transcript = crate::support::transcript;
        let (golden, observed) =
            (transcript(&ended("1795293174038-2v3rx8sr41njj.json")), transcript(&ended(file)));
        let case = crate::support::case(Vec::new());
        // For the recorded agent, undocumented texts are compared too.
        let comparison = Comparison {
            golden: &golden,
            alternatives: &[],
            observed: &observed,
            case: &case,
            same_agent: true,
            choices: &Choices::default(),
        };
        failure_lines(&compare(crate::support::rules(dialect), &comparison))
    };
    assert_eq!(of("omp", "1795552374038-7k1p0s9d8f7g6.json"), Vec::<String>::new());
    assert_eq!(of("omp", "other.txt"), ["should events message.errorMessage"]);
}
