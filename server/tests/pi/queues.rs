//! Tests of steering, follow-ups, and prompts during a run.

use serde_json::{Value, json};

use crate::support::link::Link;
use crate::support::trace::{check_run, delivered, outline, results};

const BUSY: &str =
    "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.";

/// Returns a script with three calls. The first call waits for the file `go`.
fn three_calls() -> Value {
    json!({"responses": [
        {"blocks": [
            {"tool": {"id": "a", "name": "bash", "args": {"command": "echo here; until [ -e go ]; do sleep 0.01; done"}}},
            {"tool": {"id": "b", "name": "bash", "args": {"command": "touch b"}}},
            {"tool": {"id": "c", "name": "bash", "args": {"command": "touch c"}}},
        ]},
    ], "default": {"text": "ok"}})
}

/// Starts a run, and queues messages while its first tool runs. Returns all frames of the run.
async fn steered(mode: &str) -> (Vec<Value>, Link, tempfile::TempDir) {
    let (mut link, place) = Link::scripted(three_calls());
    link.data(json!({"type": "set_steering_mode", "mode": mode})).await;
    link.data(json!({"type": "set_follow_up_mode", "mode": mode})).await;
    link.send(json!({"id": "p", "type": "prompt", "message": "p"})).await;
    let mut frames = link.until_event("tool_execution_update").await;
    for text in ["s1", "s2"] {
        link.data(json!({"type": "steer", "message": text})).await;
    }
    for text in ["f1", "f2"] {
        link.data(json!({"type": "follow_up", "message": text})).await;
    }
    assert_eq!(link.state().await["pendingMessageCount"], 4);
    std::fs::write(place.path().join("go"), "").unwrap();
    frames.extend(link.until_event("agent_end").await);
    check_run(&frames);
    (frames, link, place)
}

#[tokio::test]
async fn steering_skips_the_rest_of_a_batch_one_at_a_time() {
    let (frames, mut link, place) = steered("one-at-a-time").await;
    assert_eq!(results(&frames)[1..], ["Skipped due to queued user message."; 2]);
    assert!(!place.path().join("b").exists() && !place.path().join("c").exists());
    assert_eq!(delivered(&frames), ["p", "s1", "s2", "f1", "f2"]);
    assert_eq!(outline(&frames).iter().filter(|line| *line == "turn_start").count(), 5);
    assert_eq!(link.state().await["pendingMessageCount"], 0);
}

#[tokio::test]
async fn mode_all_delivers_everything_at_once() {
    let (frames, ..) = steered("all").await;
    assert_eq!(delivered(&frames), ["p", "s1", "s2", "f1", "f2"]);
    assert_eq!(outline(&frames).iter().filter(|line| *line == "turn_start").count(), 3);
}

#[tokio::test]
async fn input_queued_while_idle_waits_for_the_next_prompt() {
    let (mut link, _place) = Link::scripted(json!({"responses": [], "default": {"text": "ok"}}));
    link.data(json!({"type": "steer", "message": "s"})).await;
    link.data(json!({"type": "follow_up", "message": "f"})).await;
    let state = link.state().await;
    assert_eq!((&state["pendingMessageCount"], &state["isStreaming"]), (&json!(2), &json!(false)));
    let frames = link.run("p").await;
    assert_eq!(delivered(&frames), ["p", "s", "f"]);
    assert_eq!(outline(&frames).iter().filter(|line| *line == "turn_start").count(), 2);
}

#[tokio::test]
async fn queues_survive_an_abort_and_a_failure() {
    let (mut link, _place) = Link::scripted(json!({"responses": [
        {"hang_after": -1}, {"error": {"status": 400}},
    ], "default": {"text": "ok"}}));
    link.send(json!({"type": "prompt", "message": "p1"})).await;
    link.until("the answer to begin", |frame| frame["message"]["role"] == "assistant").await;
    link.data(json!({"type": "steer", "message": "s"})).await;
    link.data(json!({"type": "follow_up", "message": "f"})).await;
    link.data(json!({"type": "abort"})).await;
    assert_eq!(link.state().await["pendingMessageCount"], 2);
    // The prompt and the steering input are delivered, then the provider fails; the follow-up stays.
    let frames = link.run("p2").await;
    assert_eq!(delivered(&frames), ["p2", "s"]);
    assert_eq!(link.state().await["pendingMessageCount"], 1);
    assert_eq!(delivered(&link.run("p3").await), ["p3", "f"]);
}

#[tokio::test]
async fn a_new_session_empties_the_queues_and_keeps_the_modes() {
    let (mut link, _place) = Link::scripted(json!({"responses": [], "default": {"text": "ok"}}));
    link.data(json!({"type": "set_steering_mode", "mode": "all"})).await;
    link.data(json!({"type": "steer", "message": "s"})).await;
    link.data(json!({"type": "new_session"})).await;
    let state = link.state().await;
    assert_eq!((&state["pendingMessageCount"], &state["steeringMode"]), (&json!(0), &json!("all")));
    assert_eq!(delivered(&link.run("p").await), ["p"]);
}

#[tokio::test]
async fn fm_f50_a_prompt_while_streaming_without_policy_is_refused_once() {
    let (mut link, _place) = Link::scripted(
        json!({"responses": [{"blocks": [{"text": ["a", "b"]}], "hang_after": 1}], "default": {"text": "ok"}}),
    );
    link.send(json!({"id": "p", "type": "prompt", "message": "p"})).await;
    link.until_event("message_update").await;
    let before = link.state().await;
    let refused = link.request(json!({"type": "prompt", "message": "again"})).await;
    assert_eq!((&refused["success"], &refused["error"]), (&json!(false), &json!(BUSY)));
    assert_eq!(link.state().await, before);
    // One answer for each, within the same run.
    for (behavior, text) in [("steer", "s"), ("followUp", "f")] {
        link.data(json!({"type": "prompt", "message": text, "streamingBehavior": behavior})).await;
    }
    assert_eq!(link.state().await["pendingMessageCount"], 2);
    link.data(json!({"type": "abort"})).await;
    check_run(&link.seen);
    let answers = |id: &str| link.seen.iter().filter(|frame| frame["id"] == id).count();
    assert_eq!((answers("p"), answers(refused["id"].as_str().unwrap())), (1, 1));
}

#[tokio::test]
async fn fm_f51_of_two_prompts_in_one_write_the_second_is_refused() {
    let (mut link, _place) = Link::scripted(json!({"responses": [], "default": {"text": "ok"}}));
    let prompt = |id: &str| format!("{}\n", json!({"id": id, "type": "prompt", "message": id}));
    link.send_raw(format!("{}{}", prompt("a"), prompt("b")).as_bytes()).await;
    let frames = link.until_event("agent_end").await;
    check_run(&frames);
    assert_eq!(delivered(&frames), ["a"]);
    let answers: Vec<_> = frames.iter().filter(|frame| frame["type"] == "response").collect();
    assert_eq!(answers.len(), 2);
    assert_eq!((&answers[0]["id"], &answers[0]["success"]), (&json!("a"), &json!(true)));
    assert_eq!((&answers[1]["id"], &answers[1]["error"]), (&json!("b"), &json!(BUSY)));
}

#[tokio::test]
async fn a_streaming_behavior_while_idle_makes_a_plain_prompt() {
    let (mut link, _place) = Link::scripted(json!({"responses": [], "default": {"text": "ok"}}));
    for behavior in ["steer", "followUp"] {
        link.send(json!({"type": "prompt", "message": behavior, "streamingBehavior": behavior})).await;
        let frames = link.until_event("agent_end").await;
        assert_eq!(delivered(&frames), [behavior]);
    }
}

#[tokio::test]
async fn fm_f54_equal_and_empty_texts_and_images_are_each_delivered_once() {
    let (mut link, _place) = Link::scripted(json!({"responses": [], "default": {"text": "ok"}}));
    link.data(json!({"type": "set_steering_mode", "mode": "all"})).await;
    let image = json!({"type": "image", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==", "mimeType": "image/png"});
    for message in [
        json!({"type": "steer", "message": "same"}),
        json!({"type": "steer", "message": "same"}),
        json!({"type": "steer", "message": ""}),
        json!({"type": "steer", "message": "", "images": [image]}),
    ] {
        link.data(message).await;
    }
    assert_eq!(link.state().await["pendingMessageCount"], 4);
    let frames = link.run("").await;
    assert_eq!(delivered(&frames), ["", "same", "same", "", ""]);
    let last = frames.iter().rfind(|frame| frame["message"]["role"] == "user").unwrap();
    assert_eq!(last["message"]["content"], json!([{"type": "text", "text": ""}, image]));
    assert_eq!(link.state().await["pendingMessageCount"], 0);
}

#[tokio::test]
async fn the_queue_modes_are_a_closed_set() {
    let (mut link, _place) = Link::scripted(json!({"responses": []}));
    for command in ["set_steering_mode", "set_follow_up_mode"] {
        for mode in [json!("bogus"), json!(7), Value::Null] {
            let refused = link.request(json!({"type": command, "mode": mode})).await;
            assert_eq!((&refused["success"], &refused["command"]), (&json!(false), &json!(command)));
            assert!(refused["error"].as_str().unwrap().contains("mode"), "{refused}");
        }
    }
    let state = link.state().await;
    assert_eq!(
        (&state["steeringMode"], &state["followUpMode"]),
        (&json!("one-at-a-time"), &json!("one-at-a-time"))
    );
}
