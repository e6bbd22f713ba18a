//! Tests of runs: early acknowledgement, concurrent calls, both modes of steering, a prompt that replaces a run.

use serde_json::{Value, json};

use crate::scripted;
use crate::support::trace::{delivered, results};

fn types(frames: &[Value]) -> Vec<&str> {
    frames.iter().map(|frame| frame["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_prompt_is_acknowledged_before_anything_and_a_late_failure_has_its_id() {
    let (mut link, _place) = scripted(json!({"responses": [{"hang_after": -1}], "default": {"text": "ok"}}));
    link.send(json!({"type": "prompt", "id": "a", "message": "one"})).await;
    let frames = link.until_event("agent_start").await;
    assert_eq!(types(&frames), ["response", "agent_start"]);
    link.send(json!({"type": "prompt", "id": "b", "message": "two"})).await;
    let frames = link.until("the failure", |frame| frame["success"] == false).await;
    let of_b: Vec<_> = frames.iter().filter(|frame| frame["id"] == "b").collect();
    assert_eq!(of_b.len(), 2, "{frames:?}");
    assert_eq!((&of_b[0]["success"], &of_b[1]["success"]), (&json!(true), &json!(false)));
    link.data(json!({"type": "abort"})).await;
}

#[tokio::test]
async fn abort_and_prompt_ends_the_run_and_begins_another() {
    let (mut link, _place) = scripted(json!({"responses": [{"hang_after": -1}], "default": {"text": "ok"}}));
    link.send(json!({"type": "prompt", "message": "one"})).await;
    link.until("the answer to begin", |frame| frame["message"]["role"] == "assistant").await;
    link.send(json!({"type": "abort_and_prompt", "id": "b", "message": "two"})).await;
    let ended = link.until_event("agent_end").await;
    assert!(ended.iter().any(|frame| frame["message"]["stopReason"] == "aborted"), "{ended:?}");
    let next = link.until_event("agent_end").await;
    assert_eq!(delivered(&next), ["two"]);
}

/// Runs three calls; the first one waits for the file `go`. Sends steering input while it runs.
async fn steered(mode: &str) -> Vec<String> {
    let call =
        |id: &str, command: &str| json!({"tool": {"id": id, "name": "bash", "args": {"command": command}}});
    let (mut link, place) = scripted(json!({"responses": [{"blocks": [
        call("a", "echo here; until [ -e go ]; do sleep 0.01; done"), call("b", "echo b"), call("c", "echo c"),
    ]}], "default": {"text": "ok"}}));
    link.data(json!({"type": "set_interrupt_mode", "mode": mode})).await;
    link.send(json!({"type": "prompt", "message": "p"})).await;
    let mut frames = link.until_event("tool_execution_update").await;
    link.data(json!({"type": "steer", "message": "s"})).await;
    std::fs::write(place.path().join("go"), "").unwrap();
    frames.extend(link.until_event("agent_end").await);
    assert_eq!(delivered(&frames), ["p", "s"]);
    results(&frames)
}

#[tokio::test]
async fn steering_skips_the_rest_of_a_batch_or_waits_for_its_end() {
    let skipped = "Skipped due to queued user message.";
    assert_eq!(steered("immediate").await[1..], [skipped; 2]);
    assert_eq!(steered("wait").await[1..], ["b\n", "c\n"]);
}
