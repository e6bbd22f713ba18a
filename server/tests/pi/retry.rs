//! Tests of retries after answers that failed temporarily.

use std::sync::Arc;
use std::time::Duration;

use agentese_server::Server;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::clock::{EndlessClock, HeldClock, ImpatientClock};
use crate::support::link::Link;
use crate::support::script;
use crate::support::trace::outline;

fn overloaded() -> Value {
    json!({"error": {"status": 529, "type": "overloaded_error", "message": "Overloaded"}})
}

const OVERLOADED: &str = r#"529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;

fn link_with_short_pauses(responses: Value) -> (Link, ImpatientClock, TempDir) {
    let (clock, place) = (ImpatientClock::default(), tempfile::tempdir().unwrap());
    let builder = Server::builder().cwd(place.path()).temp_dir(place.path());
    let builder = builder.clock(Arc::new(clock.clone())).script(script(json!({"responses": responses})));
    (Link::serving(builder.build()), clock, place)
}

fn link_with_endless_pauses(responses: Value) -> (Link, TempDir) {
    let place = tempfile::tempdir().unwrap();
    let builder = Server::builder().cwd(place.path()).temp_dir(place.path()).clock(Arc::new(EndlessClock));
    (Link::serving(builder.script(script(json!({"responses": responses}))).build()), place)
}

/// Sends a prompt. Returns all frames up to the response to a state query, which is sent after the event `last`.
async fn prompt(link: &mut Link, last: &str) -> Vec<Value> {
    link.send(json!({"id": "p", "type": "prompt", "message": "go"})).await;
    link.until_event(last).await
}

const FAILED: [&str; 8] = [
    "agent_start",
    "turn_start",
    "start user",
    "end user",
    "start assistant",
    "end assistant",
    "turn_end",
    "agent_end",
];

#[tokio::test]
async fn fm_f61_second_attempt_succeeds() {
    let (mut link, clock, _place) = link_with_short_pauses(json!([overloaded(), {"text": "recovered"}]));
    let frames = prompt(&mut link, "auto_retry_start").await;
    assert_eq!(outline(&frames)[1..], [&FAILED[..], &["auto_retry_start"]].concat());
    assert_eq!(
        frames.last().unwrap(),
        &json!({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": OVERLOADED})
    );
    let frames = link.until_event("agent_end").await;
    assert_eq!(
        outline(&frames),
        [
            "agent_start",
            "turn_start",
            "start assistant",
            "end assistant",
            "auto_retry_end",
            "turn_end",
            "agent_end"
        ]
    );
    let end = frames.iter().find(|frame| frame["type"] == "auto_retry_end").unwrap();
    assert_eq!(end, &json!({"type": "auto_retry_end", "success": true, "attempt": 1}));
    // The failed answer has left the context.
    assert_eq!(link.messages().await.len(), 2);
    assert_eq!(link.state().await["isStreaming"], false);
    assert_eq!(clock.pauses(), [Duration::from_secs(2)]);
}

#[tokio::test]
async fn fm_f61_failure_is_final_after_three_retries() {
    let mut answers = vec![overloaded(); 4];
    answers.push(json!({"text": "next"}));
    let (mut link, clock, _place) = link_with_short_pauses(json!(answers));
    let frames = prompt(&mut link, "auto_retry_end").await;
    assert_eq!(frames.iter().filter(|frame| frame["type"] == "agent_end").count(), 4);
    assert_eq!(
        frames.last().unwrap(),
        &json!({"type": "auto_retry_end", "success": false, "attempt": 3, "finalError": OVERLOADED})
    );
    assert_eq!(clock.pauses(), [2, 4, 8].map(Duration::from_secs));
    // The last failure stays, and the next prompt restarts the count.
    assert_eq!(link.messages().await.len(), 2);
    let frames = link.run("again").await;
    assert_eq!(frames.iter().filter(|frame| frame["type"] == "auto_retry_start").count(), 0);
}

#[tokio::test]
async fn fm_f47_abort_ends_the_pause_at_once() {
    for command in ["abort_retry", "abort"] {
        let (mut link, _place) = link_with_endless_pauses(json!([overloaded(), {"text": "after"}]));
        prompt(&mut link, "auto_retry_start").await;
        assert_eq!(link.state().await["isStreaming"], false);
        link.send(json!({"id": "a", "type": command})).await;
        let frames = link.until("the answer", |frame| frame["id"] == "a").await;
        assert_eq!(outline(&frames), ["auto_retry_end", format!("response {command}").as_str()]);
        assert_eq!(
            frames[0],
            json!({"type": "auto_retry_end", "success": false, "attempt": 1, "finalError": "Retry cancelled"})
        );
        let frames = link.run("next").await;
        assert_eq!(frames.last().unwrap()["messages"][1]["content"][0]["text"], "after");
    }
}

#[tokio::test]
async fn fm_f53_a_prompt_in_the_pause_is_delivered_with_the_retry() {
    let (clock, place) = (HeldClock::default(), tempfile::tempdir().unwrap());
    let builder = Server::builder().cwd(place.path()).temp_dir(place.path()).clock(Arc::new(clock.clone()));
    let script = script(json!({"responses": [overloaded(), {"text": "both"}]}));
    let mut link = Link::serving(builder.script(script).build());
    prompt(&mut link, "auto_retry_start").await;
    assert_eq!(link.request(json!({"type": "prompt", "message": "also this"})).await["success"], true);
    assert_eq!(link.state().await["pendingMessageCount"], 1);
    clock.release();
    let frames = link.until_event("agent_end").await;
    assert_eq!(
        outline(&frames),
        [
            "agent_start",
            "turn_start",
            "start user",
            "end user",
            "start assistant",
            "end assistant",
            "auto_retry_end",
            "turn_end",
            "agent_end"
        ]
    );
    assert_eq!(link.messages().await.len(), 3);
}

#[tokio::test]
async fn without_retries_a_failure_is_final() {
    let (mut link, _place) = link_with_endless_pauses(json!([overloaded(), {"text": "x"}]));
    link.data(json!({"type": "set_auto_retry", "enabled": false})).await;
    let frames = link.run("go").await;
    assert_eq!(frames.last().unwrap()["messages"][1]["errorMessage"], OVERLOADED);
    assert_eq!(link.request(json!({"type": "abort_retry"})).await["success"], true);
    link.run("next").await;
}

#[tokio::test]
async fn permanent_failure_is_not_retried() {
    let (mut link, _place) = link_with_endless_pauses(json!([{"error": {"status": 400, "message": "no"}}]));
    let frames = link.run("go").await;
    assert_eq!(frames.last().unwrap()["messages"][1]["stopReason"], "error");
}

#[tokio::test]
async fn retry_continues_from_tool_results() {
    let (mut link, _clock, _place) = link_with_short_pauses(json!([
        {"blocks": [{"tool": {"name": "bash", "args": {"command": "echo once >> ran"}}}]},
        overloaded(),
        {"text": "done"},
    ]));
    prompt(&mut link, "auto_retry_end").await;
    link.until_event("agent_end").await;
    let messages = link.messages().await;
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "assistant"]);
}

#[tokio::test]
async fn the_end_of_input_waits_for_the_retry() {
    let (mut link, _clock, _place) = link_with_short_pauses(json!([overloaded(), {"text": "late"}]));
    link.send(json!({"type": "prompt", "message": "go"})).await;
    let (rest, _) = link.finish().await;
    assert_eq!(rest.last().unwrap()["messages"][0]["content"][0]["text"], "late");
}

#[tokio::test]
async fn prompt_in_the_pause_survives_a_cancelled_retry() {
    let (mut link, _place) = link_with_endless_pauses(json!([overloaded(), {"text": "to the second"}]));
    prompt(&mut link, "auto_retry_start").await;
    assert_eq!(link.request(json!({"type": "prompt", "message": "second"})).await["success"], true);
    link.send(json!({"id": "a", "type": "abort_retry"})).await;
    let frames = link.until_event("agent_end").await;
    assert_eq!(crate::support::trace::delivered(&frames), ["second"]);
    assert_eq!(link.messages().await.last().unwrap()["content"][0]["text"], "to the second");
}
