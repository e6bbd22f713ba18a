//! Runs: acknowledged first, calls side by side, both ways of steering, a prompt in place of a run.

use serde_json::{Value, json};

use agentese::omp::Omp;

use crate::scripted;
use crate::support::link::{Link, builder};
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

/// The pieces of the one answer that a revision tells, up to the end of the text or to where the answer stops coming.
async fn pieces(revision: &str, answer: Value) -> Vec<String> {
    let (builder, _place) = builder(json!({"responses": [answer]}));
    let mut link = Link::speaking_in::<Omp>(revision, builder);
    link.send(json!({"type": "prompt", "message": "p"})).await;
    let piece = |frame: &Value| frame["assistantMessageEvent"]["delta"].as_str().map(str::to_owned);
    let told =
        link.until("the last piece", |frame| piece(frame).is_some_and(|text| text.contains("t39"))).await;
    told.iter().filter_map(piece).collect()
}

#[tokio::test]
async fn from_13_19_on_an_answer_is_told_twenty_times_a_second() {
    let text = json!({"text_repeat": {"chunk": "t{i}", "n": 40}});
    let whole: String = (0..40).map(|at| format!("t{at}")).collect();
    // The second answer just stops coming: nothing of it is kept back.
    for answer in [json!({"blocks": [text]}), json!({"blocks": [text], "hang_after": 40})] {
        let old = pieces("omp@12.7", answer.clone()).await;
        assert_eq!((old.len(), old.concat()), (40, whole.clone()));
        let new = pieces("omp@13.19", answer).await;
        // Those that come within 50 ms of the first are one, unless the machine is very busy.
        assert_eq!((new[0].as_str(), new.concat()), ("t0", whole.clone()));
        assert!(new.len() < 20, "{new:?}");
    }
}

/// Three calls of which the first waits for the file `go`; steering comes while it runs.
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
async fn steering_skips_what_is_left_of_a_batch_or_waits_for_its_end() {
    let skipped = "Skipped due to queued user message.";
    assert_eq!(steered("immediate").await[1..], [skipped; 2]);
    assert_eq!(steered("wait").await[1..], ["b\n", "c\n"]);
}
