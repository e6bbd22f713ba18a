//! Tests of differences between pi 1.5 and pi 0.55: the extent of a run, failures with retries, and the end of input.

use std::sync::Arc;

use agentese::pi::Pi;
use agentese::serve::ServeEnd;
use agentese_server::config::{CompactionSettings, RetrySettings};
use serde_json::{Value, json};

use crate::support::clock::{EndlessClock, ImpatientClock};
use crate::support::link::{Link, builder};

fn link(dialect: &str, script: Value) -> (Link, tempfile::TempDir) {
    let (builder, place) = builder(script);
    (Link::for_revision::<Pi>(dialect, builder), place)
}

fn one_answer() -> Value {
    json!({"responses": [{"text": "Hello"}], "default": {"text": "ok"}})
}

#[tokio::test]
async fn complete_output_is_in_structured_data() {
    let call = json!({"tool": {"id": "long", "name": "bash", "args": {"command": "seq 30000"}}});
    let (mut link, _place) =
        link("pi@1.5", json!({"responses": [{"blocks": [call]}], "default": {"text": "ok"}}));
    link.send(json!({"type": "prompt", "message": "go"})).await;
    let frames = link.until_event("agent_settled").await;
    let result = &frames.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap()["result"];
    let (shown, data) = (result["content"][0]["text"].as_str().unwrap(), &result["structuredContent"]);
    assert!(shown.len() < 60_000, "{}", shown.len());
    assert_eq!(
        (&data["truncated"], data["output"].as_str().unwrap().lines().count()),
        (&json!(false), 30_000)
    );
}

#[tokio::test]
async fn summary_retry_is_reported() {
    let broken = json!({"error": {"status": 500, "type": "api_error", "message": "Internal"}});
    let compaction = CompactionSettings { keep_recent_tokens: 4, ..CompactionSettings::default() };
    let script = json!({"responses": [
        {"text": "one"}, {"text": "two"}, broken, broken, {"text": "the summary"},
    ]});
    let clock = ImpatientClock::default();
    let (builder, _place) = builder(script);
    let retry = RetrySettings { max_retries: 3, ..RetrySettings::default() };
    let builder = builder.compaction(compaction).retry(retry).clock(Arc::new(clock.clone()));
    let mut link = Link::for_revision::<Pi>("pi@1.5", builder);
    for question in ["the first question", "the second question"] {
        link.send(json!({"type": "prompt", "message": question})).await;
        link.until_event("agent_settled").await;
    }
    let before = link.seen.len();
    let result = link.data(json!({"type": "compact"})).await;
    assert_eq!(result["summary"], "the summary");
    let retry_events = |from: usize, seen: &[Value]| -> Vec<Value> {
        let about = |frame: &&Value| frame["type"].as_str().unwrap().starts_with("summarization_retry");
        seen[from..].iter().filter(about).cloned().collect()
    };
    let planned = |attempt: u64| {
        let retries = retry_events(before, &link.seen);
        let planned = retries.iter().filter(|frame| frame["type"] == "summarization_retry_scheduled");
        planned.clone().nth(attempt as usize - 1).unwrap().clone()
    };
    for attempt in [1, 2] {
        let frame = planned(attempt);
        assert_eq!([&frame["attempt"], &frame["maxAttempts"]], [attempt, 3], "{frame}");
        assert_eq!(frame["delayMs"], 2000 << (attempt - 1), "{frame}");
        assert!(frame["errorMessage"].as_str().unwrap().contains("Internal"), "{frame}");
    }
    let kinds: Vec<_> = retry_events(before, &link.seen).iter().map(|frame| frame["type"].clone()).collect();
    let pair = ["summarization_retry_scheduled", "summarization_retry_attempt_start"];
    assert_eq!(kinds, [&pair[..], &pair[..], &["summarization_retry_finished"]].concat());
    let again = retry_events(before, &link.seen)[1].clone();
    assert_eq!((&again["source"], &again["reason"]), (&json!("compaction"), &json!("manual")));
}

#[tokio::test]
async fn abort_ends_the_pause_before_a_summary_retry() {
    let broken = json!({"error": {"status": 500, "type": "api_error", "message": "Internal"}});
    let compaction = CompactionSettings { keep_recent_tokens: 4, ..CompactionSettings::default() };
    let script = json!({"responses": [{"text": "one"}, {"text": "two"}, broken]});
    let (builder, _place) = builder(script);
    let builder =
        builder.compaction(compaction).retry(RetrySettings::default()).clock(Arc::new(EndlessClock));
    let mut link = Link::for_revision::<Pi>("pi@1.5", builder);
    for question in ["the first question", "the second question"] {
        link.send(json!({"type": "prompt", "message": question})).await;
        link.until_event("agent_settled").await;
    }
    link.send(json!({"id": "c", "type": "compact"})).await;
    link.until_event("summarization_retry_scheduled").await;
    link.send(json!({"type": "abort"})).await;
    let frames = link.until("the answer", |frame| frame["id"] == "c").await;
    let kinds: Vec<_> = frames.iter().map(|frame| frame["type"].as_str().unwrap()).collect();
    let at = |kind: &str| kinds.iter().position(|it| *it == kind).unwrap();
    assert!(at("summarization_retry_finished") < at("compaction_end"), "{kinds:?}");
    assert_eq!(frames[at("compaction_end")]["aborted"], true);
    assert_eq!(frames.last().unwrap()["success"], false);
}

#[tokio::test]
async fn run_lasts_until_agent_settled() {
    let failed = json!({"error": {"status": 529, "type": "overloaded_error", "message": "Overloaded"}});
    for (dialect, streaming) in [("pi@1.5", true), ("pi", false)] {
        let (builder, _place) = builder(json!({"responses": [failed.clone()]}));
        let builder = builder.retry(RetrySettings::default()).clock(Arc::new(EndlessClock));
        let mut link = Link::for_revision::<Pi>(dialect, builder);
        link.send(json!({"type": "prompt", "message": "go"})).await;
        link.until_event("auto_retry_start").await;
        assert_eq!(link.state().await["isStreaming"], streaming, "{dialect}");
        // Input at this point needs a delivery.
        let more = link.request(json!({"type": "prompt", "message": "more"})).await;
        assert_eq!(more["success"], !streaming, "{dialect}: {more}");
        link.data(json!({"type": "abort"})).await;
        assert_eq!(link.state().await["isStreaming"], false, "{dialect}");
    }
}

#[tokio::test]
async fn command_ended_by_a_signal_has_a_code() {
    let (mut link, _place) = link("pi@1.5", one_answer());
    let killed = link.data(json!({"type": "bash", "command": "echo partial; kill -9 $$"})).await;
    let expected = json!({"output": "partial\n", "exitCode": 137, "cancelled": false, "truncated": false});
    assert_eq!(killed, expected);
    let kept = link.messages().await;
    assert_eq!((&kept[0]["exitCode"], &kept[0]["cancelled"]), (&json!(137), &json!(false)), "{kept:?}");
}

#[tokio::test]
async fn session_with_a_missing_directory_is_rejected() {
    for (dialect, goes) in [("pi@1.5", false), ("pi", true)] {
        let (mut link, place) = link(dialect, one_answer());
        let path = place.path().join("old.jsonl");
        let header = json!({"type": "session", "version": 1, "id": "old", "timestamp": "2026-01-02T03:04:05.678Z",
                            "cwd": "/nowhere/at/all"});
        std::fs::write(&path, format!("{header}\n")).unwrap();
        let answer = link.request(json!({"type": "switch_session", "sessionPath": path})).await;
        assert_eq!(answer["success"], goes, "{answer}");
        if !goes {
            assert!(answer["error"].as_str().unwrap().contains("/nowhere/at/all does not exist"), "{answer}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{header}\n"), "it is as it was");
        }
    }
}

#[tokio::test]
async fn command_stopped_by_the_end_of_input_has_no_response() {
    let (mut link, _place) = link("pi@1.5", one_answer());
    link.send(json!({"id": "b", "type": "bash", "command": "echo on; sleep 60"})).await;
    link.until_event("bash_execution_update").await;
    link.send(json!({"id": "m", "type": "get_messages"})).await;
    let (rest, ended) = link.finish().await;
    assert_eq!(ended, ServeEnd::EndOfInput);
    let ids: Vec<_> = rest.iter().map(|frame| &frame["id"]).collect();
    assert_eq!(ids, ["m"], "{rest:?}");
}

#[tokio::test]
async fn initial_session_has_the_configured_name() {
    let (builder, _place) = builder(one_answer());
    let mut link = Link::for_revision::<Pi>("pi@1.5", builder.session_name("from outside"));
    assert_eq!(link.state().await["sessionName"], "from outside");
    let entries = link.data(json!({"type": "get_entries"})).await;
    assert_eq!(entries["entries"][0]["type"], "session_info", "{entries}");
    // The name belongs to that session only.
    link.data(json!({"type": "new_session"})).await;
    assert!(link.state().await.get("sessionName").is_none());
}

#[tokio::test]
async fn overflowing_answer_is_removed_before_the_compaction_without_a_retry() {
    let too_long = json!({"error": {"status": 400, "type": "invalid_request_error",
                                    "message": "prompt is too long: 250000 tokens > 200000 maximum"}});
    let compaction = CompactionSettings { keep_recent_tokens: 4, ..CompactionSettings::default() };
    let script = json!({"responses": [
        {"text": "one"}, too_long, {"text": "the summary"}, {"text": "two"},
    ]});
    let (builder, _place) = builder(script);
    let mut link = Link::for_revision::<Pi>("pi@1.5", builder.compaction(compaction));
    link.send(json!({"type": "prompt", "message": "the first question"})).await;
    link.until_event("agent_settled").await;
    link.send(json!({"type": "prompt", "message": "the second question"})).await;
    let frames = link.until_event("agent_settled").await;
    let kinds: Vec<_> = frames.iter().map(|frame| frame["type"].as_str().unwrap()).collect();
    let at = |kind: &str| kinds.iter().position(|it| *it == kind).unwrap();
    assert_eq!(frames[at("agent_end")]["willRetry"], false);
    let edit = &frames[at("entry_appended")]["entry"];
    assert_eq!((&edit["type"], &edit["replacement"]), (&json!("context_edit"), &json!(null)), "{edit}");
    assert!(
        at("agent_end") < at("entry_appended") && at("entry_appended") < at("compaction_start"),
        "{kinds:?}"
    );
    let messages = link.messages().await;
    assert!(messages.iter().all(|message| message["stopReason"] != "error"), "{messages:?}");
    assert_eq!(messages.last().unwrap()["content"][0]["text"], "two");
}

#[tokio::test]
async fn command_during_a_run_is_added_after_agent_settled() {
    let call = json!({"tool": {"id": "c", "name": "bash", "args": {"command": "until [ -e go ]; do sleep 0.01; done"}}});
    for (dialect, last) in [("pi@1.5", "bashExecution"), ("pi", "assistant")] {
        let script = json!({"responses": [{"blocks": [call.clone()]}], "default": {"text": "ok"}});
        let (mut link, place) = link(dialect, script);
        link.send(json!({"type": "prompt", "message": "go"})).await;
        link.until_event("tool_execution_start").await;
        link.data(json!({"type": "bash", "command": "echo beside"})).await;
        std::fs::write(place.path().join("go"), "").unwrap();
        let ends: &[&str] = if dialect == "pi" { &["agent_end"] } else { &["agent_end", "agent_settled"] };
        for end in ends {
            if !link.seen.iter().any(|frame| frame["type"] == *end) {
                link.until_event(end).await;
            }
        }
        assert_eq!(link.messages().await.last().unwrap()["role"], last, "{dialect}");
        drop(place);
    }
}

#[tokio::test]
async fn session_switch_ends_commands_of_the_previous_session() {
    for (dialect, ends) in [("pi@1.5", true), ("pi", false)] {
        let (mut link, place) = link(dialect, one_answer());
        let command = "touch begun; until [ -e go ]; do sleep 0.01; done; echo late";
        link.send(json!({"id": "b", "type": "bash", "command": command})).await;
        for _ in 0..100_000 {
            if place.path().join("begun").exists() {
                break;
            }
            link.state().await;
        }
        link.data(json!({"type": "new_session"})).await;
        if !ends {
            std::fs::write(place.path().join("go"), "").unwrap();
        }
        // The response may have arrived already.
        let come = link.seen.iter().find(|frame| frame["id"] == "b").cloned();
        let answer = match come {
            Some(answer) => answer,
            None => link.answer("b").await,
        };
        assert_eq!(answer["data"]["cancelled"], ends, "{dialect}: {answer}");
        assert_eq!(link.messages().await.len(), usize::from(!ends), "{dialect}");
    }
}

#[tokio::test]
async fn thinking_level_set_in_a_run_applies_from_the_next_turn() {
    let call = json!({"tool": {"id": "c", "name": "bash", "args": {"command": "until [ -e go ]; do sleep 0.01; done"}}});
    let script = json!({"responses": [{"blocks": [call]}], "default": {"text": "ok"}});
    let (mut link, place) = link("pi@1.5", script);
    link.send(json!({"type": "prompt", "message": "go"})).await;
    link.until_event("tool_execution_start").await;
    link.data(json!({"type": "set_thinking_level", "level": "high"})).await;
    std::fs::write(place.path().join("go"), "").unwrap();
    link.until_event("agent_settled").await;
    let messages = link.messages().await;
    let levels: Vec<_> = messages.iter().filter_map(|message| message["thinkingLevel"].as_str()).collect();
    assert_eq!(levels, ["medium", "high"], "{messages:?}");
}
