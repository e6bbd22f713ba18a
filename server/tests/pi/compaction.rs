//! A summary takes the place of what was said long ago.

use agentese_server::config::CompactionSettings;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::link::{Link, builder};
use crate::support::trace::outline;

/// Everything but the last exchange is summarised; on its own the agent compacts above `limit` tokens.
fn link(limit: u64, responses: Value) -> (Link, TempDir) {
    let (builder, place) = builder(json!({"responses": responses}));
    let window = agentese_server::providers::scripted::CONTEXT_WINDOW;
    let compaction =
        CompactionSettings { enabled: true, reserve_tokens: window - limit, keep_recent_tokens: 4 };
    (Link::to(builder.compaction(compaction).build()), place)
}

fn tokens(input: u64, text: &str) -> Value {
    json!({"text": text, "usage": {"input": input, "output": 0}})
}

const NEVER: u64 = 100_000;

#[tokio::test]
async fn a_compaction_that_was_asked_for() {
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
    let again = link.ask(json!({"type": "compact"})).await;
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
async fn an_empty_session_is_compacted_as_well() {
    let (mut link, _place) = link(NEVER, json!([{"text": "Nothing happened."}]));
    let result = link.data(json!({"type": "compact"})).await;
    assert_eq!((&result["summary"], &result["tokensBefore"]), (&json!("Nothing happened."), &json!(0)));
    assert_eq!(link.messages().await.len(), 1);
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
    let answer = link.ask(json!({"type": "compact"})).await;
    assert_eq!(answer["success"], false);
    let error = answer["error"].as_str().unwrap();
    assert!(error.starts_with("Summarization failed: 400 {"), "{error}");
    assert_eq!(link.messages().await.len(), 4);
}

#[tokio::test]
async fn fm_f48_an_abort_stops_a_compaction() {
    let (mut link, _place) = link(NEVER, json!([{"text": "one"}, {"hang_after": -1}, {"text": "two"}]));
    link.run("the first question").await;
    link.send(json!({"id": "c", "type": "compact"})).await;
    assert_eq!(link.state().await["isCompacting"], true);
    link.send(json!({"id": "a", "type": "abort"})).await;
    let mut answers = [link.next().await.unwrap(), link.next().await.unwrap()];
    answers.sort_by_key(|answer| answer["id"].as_str().unwrap().to_owned());
    assert_eq!((&answers[0]["success"], &answers[1]["success"]), (&json!(true), &json!(false)));
    assert_eq!(answers[1]["error"], "Compaction cancelled");
    assert_eq!(link.state().await["isCompacting"], false);
    assert_eq!(link.messages().await.len(), 2);
    link.run("the second question").await;
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
    // The kept answer still says how much it was: there is nothing left to compact, and the prompt runs.
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
async fn fm_f53_what_is_said_during_a_compaction_is_delivered_after_it() {
    let (mut link, _place) = link(
        1000,
        json!([
            tokens(100, "one"), tokens(5000, "two"), {"text": "the summary", "first_ms": 50}, {"text": "a"}, {"text": "b"},
        ]),
    );
    link.run("the first question").await;
    link.run("the second question").await;
    link.until_event("auto_compaction_start").await;
    let state = link.state().await;
    assert_eq!((&state["isCompacting"], &state["isStreaming"]), (&json!(true), &json!(false)));
    for command in [json!({"type": "follow_up", "message": "f"}), json!({"type": "prompt", "message": "p"})] {
        assert_eq!(link.ask(command).await["success"], true);
    }
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
async fn a_summary_that_fails_on_its_own_is_told() {
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
