//! Tests of compaction, which replaces old messages by a summary.

use std::sync::Arc;

use agentese_server::Server;
use agentese_server::config::CompactionSettings;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::clock::{HeldClock, ImpatientClock};
use crate::support::link::{Link, builder};
use crate::support::script;
use crate::support::trace::outline;

/// Starts an agent that compacts automatically above `limit` tokens. It summarises all exchanges except the last one.
fn link(limit: u64, responses: Value) -> (Link, TempDir) {
    let (builder, place) = builder(json!({"responses": responses}));
    let window = agentese_server::providers::scripted::CONTEXT_WINDOW;
    let compaction = CompactionSettings {
        reserve_tokens: window - limit,
        keep_recent_tokens: 4,
        ..CompactionSettings::default()
    };
    (Link::serving(builder.compaction(compaction).build()), place)
}

fn tokens(input: u64, text: &str) -> Value {
    json!({"text": text, "usage": {"input": input, "output": 0}})
}

const NEVER: u64 = 100_000;

#[tokio::test]
async fn requested_compaction() {
    let (mut link, _place) = link(
        NEVER,
        json!([
            {"text": "one"}, {"text": "two"}, {"text": "the summary"}, {"text": "three"},
        ]),
    );
    link.run("the first question").await;
    link.run("the second question").await;
    let seen = link.seen.len();
    let result = link.data(json!({"type": "compact", "customInstructions": "the tests"})).await;
    assert_eq!(link.seen.len(), seen + 1, "no events: {:#?}", &link.seen[seen..]);
    assert_eq!(
        (&result["summary"], &result["tokensBefore"], &result["details"]),
        (&json!("the summary"), &json!(120), &json!({"readFiles": [], "modifiedFiles": []}))
    );
    let messages = link.messages().await;
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["compactionSummary", "user", "assistant"]);
    assert_eq!(messages[0]["summary"], "the summary");
    let again = link.request(json!({"type": "compact"})).await;
    assert_eq!((&again["success"], &again["error"]), (&json!(false), &json!("Already compacted")));
    assert_eq!(
        link.run("the third question").await.last().unwrap()["messages"][1]["content"][0]["text"],
        "three"
    );
    assert_eq!(link.data(json!({"type": "get_session_stats"})).await["userMessages"], 2);
}

#[tokio::test]
async fn a_turn_that_is_cut_in_the_middle_gets_a_summary_of_its_own() {
    let (mut link, place) = link(
        NEVER,
        json!([
            {"text": "one"},
            {"blocks": [{"tool": {"name": "write", "args": {"path": "new.txt", "content": "x"}}}]},
            {"text": "an answer of some length"},
            {"text": "all before"}, {"text": "the beginning of the turn"},
        ]),
    );
    std::fs::write(place.path().join("old.txt"), "x").unwrap();
    link.run("the first question").await;
    link.run("the second question").await;
    let result = link.data(json!({"type": "compact"})).await;
    assert_eq!(
        result["summary"],
        "all before\n\n---\n\n**Turn Context (split turn):**\n\nthe beginning of the turn\n\n<modified-files>\n\
         new.txt\n</modified-files>"
    );
    assert_eq!(result["details"], json!({"readFiles": [], "modifiedFiles": ["new.txt"]}));
    let roles: Vec<_> = link.messages().await.iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["compactionSummary", "assistant"]);
}

#[tokio::test]
async fn empty_history_is_rejected_without_a_request() {
    let (mut link, _place) = link(NEVER, json!([{"text": "one"}, {"text": "two"}]));
    let nothing = "Nothing to compact (session too small)";
    let answer = link.request(json!({"type": "compact"})).await;
    assert_eq!((&answer["success"], &answer["error"]), (&json!(false), &json!(nothing)));
    link.run("the first question").await;
    let answer = link.request(json!({"type": "compact"})).await;
    assert_eq!((&answer["success"], &answer["error"]), (&json!(false), &json!(nothing)));
    // The answer that the summary would have replaced is still available.
    link.run("the second question").await;
    let messages = link.messages().await;
    assert_eq!((messages.len(), &messages[3]["content"][0]["text"]), (4, &json!("two")));
}

#[tokio::test]
async fn second_compaction_summarizes_messages_kept_by_the_first() {
    let (mut link, _place) = link(
        NEVER,
        json!([
            {"text": "one"}, {"text": "two"}, {"text": "the summary"}, {"text": "ok"}, {"text": "three"},
            {"text": "the second summary"},
        ]),
    );
    link.run("the first question").await;
    link.run("the second question").await;
    link.data(json!({"type": "compact"})).await;
    link.run("go").await;
    // A second compaction would keep everything that the first one kept.
    assert_eq!(link.request(json!({"type": "compact"})).await["success"], false);
    let outline = |messages: Vec<Value>| -> Vec<String> {
        let text = |message: &Value| match message["summary"].as_str() {
            Some(summary) => summary.to_owned(),
            None => message["content"][0]["text"].as_str().unwrap().to_owned(),
        };
        messages.iter().map(text).collect()
    };
    assert_eq!(outline(link.messages().await), ["the summary", "the second question", "two", "go", "ok"]);
    link.run("the third question").await;
    let result = link.data(json!({"type": "compact"})).await;
    assert_eq!(result["summary"], "the second summary");
    assert_eq!(outline(link.messages().await), ["the second summary", "the third question", "three"]);
}

#[tokio::test]
async fn fm_f67_usage_before_a_compaction_causes_no_second_one() {
    let refused = json!({"error": {"status": 400, "type": "invalid_request_error", "message": "no"}});
    let denied = json!({"error": {"status": 401, "type": "authentication_error", "message": "no"}});
    let (mut link, _place) = link(
        1000,
        json!([
            tokens(100, "one"), tokens(1001, "two"), {"text": "the summary"}, refused, denied, tokens(100, "five"),
        ]),
    );
    link.run("the first question").await;
    link.run("the second question").await;
    link.until_event("auto_compaction_end").await;
    // A name follows the compaction; otherwise another compaction would have work to do.
    link.data(json!({"type": "set_session_name", "name": "a name"})).await;
    let seen = link.seen.len();
    for question in ["the third question", "the fourth question", "the fifth question"] {
        link.run(question).await;
        assert_eq!(link.state().await["isCompacting"], false, "{question}");
    }
    let compacted = |frame: &&Value| frame["type"].as_str().is_some_and(|kind| kind.starts_with("auto_comp"));
    assert_eq!(link.seen[seen..].iter().find(compacted), None);
    let messages = link.messages().await;
    assert_eq!((messages.len(), &messages[0]["summary"]), (9, &json!("the summary")));
    assert_eq!(messages[8]["content"][0]["text"], "five");
}

/// Returns invalid summaries, each with the expected error.
fn invalid_summaries() -> [(Value, &'static str); 6] {
    [
        (json!({"text": ""}), "the model's answer has no text"),
        (json!({"text": " \n\t"}), "the model's answer has no text"),
        (json!({"blocks": [{"thinking": "a long thought"}]}), "the model's answer has no text"),
        (
            json!({"blocks": [{"thinking": "a thought that took all"}], "stop": "length"}),
            "the summary was cut off at the output limit",
        ),
        (
            json!({"text": "## Goal\nThe user wa", "stop": "length"}),
            "the summary was cut off at the output limit",
        ),
        (
            json!({"blocks": [{"text": "I look."}, {"tool": {"name": "read", "args": {"path": "x"}}}]}),
            "the model called a tool instead of writing a summary",
        ),
    ]
}

#[tokio::test]
async fn an_empty_or_cut_off_summary_is_refused_and_replaces_nothing() {
    for (answer, reason) in invalid_summaries() {
        let (mut link, _place) =
            link(NEVER, json!([{"text": "one"}, {"text": "two"}, answer, {"text": "three"}]));
        link.run("the first question").await;
        link.run("the second question").await;
        let before = link.messages().await;
        let refused = link.request(json!({"type": "compact"})).await;
        let error = format!("Summarization failed: {reason}");
        assert_eq!((&refused["success"], &refused["error"]), (&json!(false), &json!(error)));
        assert_eq!(link.messages().await, before, "{reason}");
        link.run("the third question").await;
    }
}

#[tokio::test]
async fn invalid_automatic_summary_is_reported_and_replaces_nothing() {
    for (answer, reason) in invalid_summaries() {
        let (mut link, _place) = link(1000, json!([tokens(100, "one"), tokens(5000, "two"), answer]));
        link.run("the first question").await;
        link.run("the second question").await;
        let end = link.until_event("auto_compaction_end").await.pop().unwrap();
        let error = format!("Auto-compaction failed: Summarization failed: {reason}");
        assert_eq!((&end["result"], &end["errorMessage"]), (&Value::Null, &json!(error)));
        assert_eq!(link.messages().await.len(), 4, "{reason}");
    }
}

#[tokio::test]
async fn fm_f67_an_overflow_after_a_retried_529_is_compacted() {
    let overflow = json!({"error": {"status": 400, "type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"}});
    let overloaded = json!({"error": {"status": 529, "type": "overloaded_error", "message": "Overloaded"}});
    for (summary, ending) in [("the summary", true), ("", false)] {
        let responses = json!([
            {"text": "one"}, {"text": "two"}, overloaded, overflow, {"text": summary}, {"text": "fits"},
        ]);
        let place = tempfile::tempdir().unwrap();
        let builder = Server::builder().cwd(place.path()).temp_dir(place.path());
        let compaction = CompactionSettings { keep_recent_tokens: 4, ..CompactionSettings::default() };
        let builder = builder.clock(Arc::new(ImpatientClock::default())).compaction(compaction);
        let mut link = Link::serving(builder.script(script(json!({"responses": responses}))).build());
        link.run("the first question").await;
        link.run("the second question").await;
        let seen = link.seen.len();
        link.send(json!({"type": "prompt", "message": "the third question"})).await;
        link.until_event("auto_compaction_end").await;
        if ending {
            link.until_event("agent_end").await;
        } else {
            link.until_event("auto_retry_end").await;
        }
        let events: Vec<_> = outline(&link.seen[seen..])
            .into_iter()
            .filter(|line| line.starts_with("auto_") || line == "agent_end")
            .collect();
        let failed =
            ["agent_end", "auto_retry_start", "agent_end", "auto_compaction_start", "auto_compaction_end"];
        let rest: &[&str] = if ending { &["auto_retry_end", "agent_end"] } else { &["auto_retry_end"] };
        assert_eq!(events, [&failed[..], rest].concat());
        let end = link.seen.iter().rfind(|frame| frame["type"] == "auto_retry_end").unwrap();
        assert_eq!((&end["success"], &end["attempt"]), (&json!(ending), &json!(1)));
        assert_eq!(link.state().await["isStreaming"], false);
        if ending {
            assert_eq!(link.messages().await.last().unwrap()["content"][0]["text"], "fits");
        }
    }
}

#[tokio::test]
async fn a_refusal_without_a_known_reason_is_an_overflow_only_if_the_conversation_nearly_fills_the_context() {
    let window = agentese_server::providers::scripted::CONTEXT_WINDOW;
    for (status, message) in [(400, "novel words"), (413, ""), (413, "Request Entity Too Large")] {
        let refused =
            json!({"error": {"status": status, "type": "invalid_request_error", "message": message}});
        for (hundredths, compacts) in [(69, false), (71, true)] {
            let responses = json!([
                tokens(window * hundredths / 100, "one"), refused, {"text": "the summary"}, {"text": "fits"},
            ]);
            let (mut link, _place) = link(window * 9 / 10, responses);
            link.run("the first question").await;
            link.send(json!({"type": "prompt", "message": "the second question"})).await;
            link.until_event("agent_end").await;
            if compacts {
                link.until_event("agent_end").await;
            }
            let events = outline(&link.seen);
            let started = link.seen.iter().find(|frame| frame["type"] == "auto_compaction_start");
            assert_eq!(
                started.map(|frame| &frame["reason"]),
                compacts.then_some(&json!("overflow")),
                "{events:?}"
            );
            let messages = link.messages().await;
            let stop = &messages.last().unwrap()["stopReason"];
            assert_eq!(stop, if compacts { "stop" } else { "error" }, "{status} {message}");
        }
    }
}

#[tokio::test]
async fn a_message_that_alone_is_too_large_is_named_with_the_way_back() {
    let overflow = json!({"error": {"status": 400, "type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"}});
    let unexplained = json!({"error": {"status": 413, "type": "x", "message": "x"}});
    for refused in [overflow, unexplained] {
        let (mut link, _place) = link(
            190_000,
            json!([{"text": "one"}, refused, {"text": "the summary"}, refused, {"text": "two"}]),
        );
        link.run("the first question").await;
        let long = "word ".repeat(120_000);
        link.send(json!({"type": "prompt", "message": long})).await;
        link.until("the end", |frame| frame["type"] == "auto_compaction_end" && frame["willRetry"] == false)
            .await;
        let failed = link.seen.iter().filter(|frame| frame["message"]["stopReason"] == "error");
        let texts: Vec<&str> = failed.filter_map(|frame| frame["message"]["errorMessage"].as_str()).collect();
        assert!(!texts.is_empty());
        for text in texts {
            assert!(text.contains("The message \"word word"), "{text}");
            assert!(text.contains("alone takes about 150000 tokens"), "{text}");
            assert!(text.contains("Go back to before it (fork or branch the session"), "{text}");
        }
        link.run("a short question").await;
    }
}

#[tokio::test]
async fn a_summary_that_fails_changes_nothing() {
    let (mut link, _place) = link(
        NEVER,
        json!([
            {"text": "one"}, {"text": "two"}, {"error": {"status": 400, "type": "invalid_request_error", "message": "no"}},
        ]),
    );
    link.run("the first question").await;
    link.run("the second question").await;
    let answer = link.request(json!({"type": "compact"})).await;
    assert_eq!(answer["success"], false);
    let error = answer["error"].as_str().unwrap();
    assert!(error.starts_with("Summarization failed: 400 {"), "{error}");
    assert_eq!(link.messages().await.len(), 4);
}

#[tokio::test]
async fn fm_f48_an_abort_stops_a_compaction() {
    let (mut link, _place) =
        link(NEVER, json!([{"text": "one"}, {"text": "two"}, {"hang_after": -1}, {"text": "three"}]));
    link.run("the first question").await;
    link.run("the second question").await;
    link.send(json!({"id": "c", "type": "compact"})).await;
    assert_eq!(link.state().await["isCompacting"], true);
    link.send(json!({"id": "a", "type": "abort"})).await;
    let mut answers = [link.next().await.unwrap(), link.next().await.unwrap()];
    answers.sort_by_key(|answer| answer["id"].as_str().unwrap().to_owned());
    assert_eq!((&answers[0]["success"], &answers[1]["success"]), (&json!(true), &json!(false)));
    assert_eq!(answers[1]["error"], "Compaction cancelled");
    assert_eq!(link.state().await["isCompacting"], false);
    assert_eq!(link.messages().await.len(), 4);
    link.run("the third question").await;
}

#[tokio::test]
async fn a_prompt_during_a_compaction_runs_after_it() {
    let (mut link, _place) = link(
        NEVER,
        json!([
            {"text": "one"}, {"text": "two"}, {"text": "the summary", "first_ms": 20}, {"text": "three"},
        ]),
    );
    link.run("the first question").await;
    link.run("the second question").await;
    link.send_raw(b"{\"id\":\"c\",\"type\":\"compact\"}\n{\"id\":\"p\",\"type\":\"prompt\",\"message\":\"the third question\"}\n").await;
    let frames = link.until_event("agent_end").await;
    assert_eq!(outline(&frames)[..3], ["response compact", "response prompt", "agent_start"]);
    assert_eq!(link.messages().await.len(), 5);
}

#[tokio::test]
async fn fm_f52_a_compaction_ends_the_run_first() {
    let (mut link, _place) = link(
        NEVER,
        json!([
            {"text": "one"}, {"blocks": [{"text": ["two", "never"]}], "hang_after": 1}, {"text": "the summary"},
        ]),
    );
    link.run("the first question").await;
    link.send(json!({"type": "prompt", "message": "the second question"})).await;
    link.until("text", |frame| frame["assistantMessageEvent"]["delta"] == "two").await;
    link.send(json!({"id": "c", "type": "compact"})).await;
    let frames = link.until("the answer", |frame| frame["id"] == "c").await;
    assert_eq!(outline(&frames), ["end assistant", "turn_end", "agent_end", "response compact"]);
    assert_eq!(frames.last().unwrap()["success"], true);
}

#[tokio::test]
async fn a_conversation_that_grows_too_long_is_compacted_after_the_run() {
    let (mut link, _place) = link(
        1000,
        json!([
            tokens(100, "one"), tokens(1001, "two"), {"text": "the summary"}, tokens(100, "three"),
        ]),
    );
    link.run("the first question").await;
    link.run("the second question").await;
    let frames = link.until_event("auto_compaction_end").await;
    assert_eq!(frames[0], json!({"type": "auto_compaction_start", "reason": "threshold"}));
    let end = &frames[1];
    assert_eq!((&end["aborted"], &end["willRetry"]), (&json!(false), &json!(false)));
    assert_eq!(
        (&end["result"]["summary"], &end["result"]["tokensBefore"]),
        (&json!("the summary"), &json!(1001))
    );
    assert_eq!(link.state().await["isCompacting"], false);
    // The usage of the kept answer still exceeds the limit. There is no further content to compact, and the
    // prompt runs.
    link.send(json!({"id": "p", "type": "prompt", "message": "the third question"})).await;
    let frames = link.until_event("agent_end").await;
    assert_eq!(
        outline(&frames)[..4],
        ["response prompt", "auto_compaction_start", "auto_compaction_end", "agent_start"]
    );
    assert_eq!(
        frames[2],
        json!({"type": "auto_compaction_end", "result": null, "aborted": false, "willRetry": false})
    );
}

#[tokio::test]
async fn without_auto_compaction_nothing_is_compacted() {
    let (mut link, _place) = link(1000, json!([tokens(5000, "one"), tokens(5000, "two")]));
    assert_eq!(link.state().await["autoCompactionEnabled"], true);
    link.data(json!({"type": "set_auto_compaction", "enabled": false})).await;
    assert_eq!(link.state().await["autoCompactionEnabled"], false);
    link.run("the first question").await;
    link.run("the second question").await;
    assert!(link.seen.iter().all(|frame| frame["type"] != "auto_compaction_start"));
}

#[tokio::test]
async fn fm_f53_input_during_a_compaction_is_delivered_after_it() {
    let (clock, place) = (HeldClock::default(), tempfile::tempdir().unwrap());
    let builder = Server::builder().cwd(place.path()).temp_dir(place.path()).clock(Arc::new(clock.clone()));
    let window = agentese_server::providers::scripted::CONTEXT_WINDOW;
    let compaction = CompactionSettings {
        reserve_tokens: window - 1000,
        keep_recent_tokens: 4,
        ..CompactionSettings::default()
    };
    let responses = json!([
        tokens(100, "one"), tokens(5000, "two"), {"text": "the summary", "first_ms": 1}, {"text": "a"}, {"text": "b"},
    ]);
    let builder = builder.compaction(compaction).script(script(json!({"responses": responses})));
    let mut link = Link::serving(builder.build());
    link.run("the first question").await;
    link.run("the second question").await;
    link.until_event("auto_compaction_start").await;
    let state = link.state().await;
    assert_eq!((&state["isCompacting"], &state["isStreaming"]), (&json!(true), &json!(false)));
    for command in [json!({"type": "follow_up", "message": "f"}), json!({"type": "prompt", "message": "p"})] {
        assert_eq!(link.request(command).await["success"], true);
    }
    clock.release();
    let frames = link.until_event("agent_end").await;
    assert_eq!(outline(&frames)[..2], ["auto_compaction_end", "agent_start"]);
    assert_eq!(crate::support::trace::delivered(&frames), ["p", "f"]);
}

#[tokio::test]
async fn fm_f67_an_overflow_is_compacted_and_tried_again_once() {
    let overflow = json!({"error": {"status": 400, "type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"}});
    let (mut link, _place) = link(
        NEVER,
        json!([
            {"text": "one"}, overflow, {"text": "the summary"}, {"text": "fits"}, {"text": "again"}, overflow, {"text": "s"}, overflow,
        ]),
    );
    link.run("the first question").await;
    link.send(json!({"type": "prompt", "message": "the second question"})).await;
    link.until_event("agent_end").await;
    let frames = link.until_event("agent_end").await;
    assert_eq!(
        outline(&frames),
        [
            "auto_compaction_start",
            "auto_compaction_end",
            "agent_start",
            "turn_start",
            "start assistant",
            "end assistant",
            "turn_end",
            "agent_end"
        ]
    );
    assert_eq!((&frames[0]["reason"], &frames[1]["willRetry"]), (&json!("overflow"), &json!(true)));
    let texts = link.messages().await;
    assert_eq!(texts.last().unwrap()["content"][0]["text"], "fits");
    assert!(texts.iter().all(|message| message["stopReason"] != "error"), "{texts:#?}");

    link.run("the third question").await;
    link.send(json!({"type": "prompt", "message": "the fourth question"})).await;
    link.until("the first try", |frame| frame["type"] == "auto_compaction_end").await;
    let frames = link.until_event("auto_compaction_end").await;
    let end = frames.last().unwrap();
    assert_eq!((&end["result"], &end["willRetry"]), (&Value::Null, &json!(false)));
    assert!(end["errorMessage"].as_str().unwrap().contains("too long"), "{end}");
    assert_eq!(link.state().await["isStreaming"], false);
}

#[tokio::test]
async fn fm_f48_an_abort_stops_an_automatic_compaction() {
    let (mut link, _place) =
        link(1000, json!([tokens(100, "one"), tokens(5000, "two"), {"hang_after": -1}, {"text": "x"}]));
    link.run("the first question").await;
    link.run("the second question").await;
    link.until_event("auto_compaction_start").await;
    link.send(json!({"id": "a", "type": "abort"})).await;
    let frames = link.until("the answer", |frame| frame["id"] == "a").await;
    assert_eq!(outline(&frames), ["auto_compaction_end", "response abort"]);
    assert_eq!((&frames[0]["aborted"], &frames[0]["result"]), (&json!(true), &Value::Null));
    assert_eq!(link.messages().await.len(), 4);
}

#[tokio::test]
async fn failed_automatic_summary_is_reported() {
    let (mut link, _place) = link(
        1000,
        json!([
            tokens(100, "one"), tokens(5000, "two"), {"error": {"status": 400, "message": "no"}},
        ]),
    );
    link.run("the first question").await;
    link.run("the second question").await;
    let end = link.until_event("auto_compaction_end").await.pop().unwrap();
    let error = end["errorMessage"].as_str().unwrap();
    assert!(error.starts_with("Auto-compaction failed: Summarization failed: 400"), "{error}");
    assert_eq!((&end["aborted"], &end["result"]), (&json!(false), &Value::Null));
}

/// The only exchange is larger than the limit, so there is no earlier message that could be summarised.
#[tokio::test]
async fn compaction_without_work_has_a_reason() {
    let (builder, _place) = builder(json!({"responses": [tokens(10_000, "one")], "default": {"text": "ok"}}));
    let window = agentese_server::providers::scripted::CONTEXT_WINDOW;
    let compaction = CompactionSettings {
        reserve_tokens: window - 1000,
        keep_recent_tokens: 100_000,
        ..CompactionSettings::default()
    };
    let mut link = Link::serving(builder.compaction(compaction).build());
    link.send(json!({"type": "prompt", "message": "a question"})).await;
    let end = link.until_event("auto_compaction_end").await.pop().unwrap();
    assert_eq!((&end["result"], &end["aborted"]), (&Value::Null, &json!(false)));
    assert_eq!(end["errorMessage"], "Auto-compaction failed: Nothing to compact (session too small)");
}
