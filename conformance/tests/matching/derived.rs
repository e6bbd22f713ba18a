//! Tests of golden transcripts that were derived from documents. Such a transcript contains only some frames
//! and members, and an agent may send more.

use agentese_conformance::matching::ComparisonResult;
use agentese_conformance::transcript::Transcript;
use serde_json::{Value, json};

use crate::support::{case, compared_in, failure_lines, transcript};

fn event(event: Value) -> (char, Value) {
    ('<', json!({"type": "event", "event": event}))
}

fn message(more: Value) -> Value {
    let mut message = json!({"contents": [], "id": "m-1", "timestamp": 1.5, "role": "assistant"});
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    message
}

fn end(more: Value) -> (char, Value) {
    event(json!({"type": "message_end", "message": message(more)}))
}

fn written(lines: &[(char, Value)]) -> Transcript {
    let mut transcript = transcript(lines);
    transcript.header.extra.insert("origin".to_owned(), json!("derived from the document"));
    transcript
}

fn held_against(golden: &Transcript, observed: &[(char, Value)]) -> ComparisonResult {
    compared_in("operator", &case(Vec::new()), golden, &transcript(observed))
}

#[test]
fn additional_members_must_fit_their_declaration() {
    let golden = written(&[end(json!({}))]);
    let check = |more: Value, expected: &[&str]| {
        assert_eq!(failure_lines(&held_against(&golden, &[end(more)])), expected);
    };
    check(json!({"stop_reason": "stop"}), &[]);
    check(json!({"stop_reason": 1}), &["should events message.stop_reason"]);
    check(json!({"usage": "much"}), &["should events message.usage"]);
    // Values that the transcript contains are compared.
    check(json!({"role": "user"}), &["should events message.role"]);
    // A recording contains everything that the agent sent, so additions are differences.
    let recorded = transcript(&[end(json!({}))]);
    let found = held_against(&recorded, &[end(json!({"stop_reason": "stop"}))]);
    assert_eq!(failure_lines(&found), ["should events message.stop_reason"]);
}

#[test]
fn additional_events_are_allowed_if_the_document_shows_none_of_their_type() {
    let start = || event(json!({"type": "agent_start"}));
    let turn = || event(json!({"type": "turn_start"}));
    let golden = written(&[start(), end(json!({}))]);
    let check = |observed: &[(char, Value)], expected: &[&str]| {
        assert_eq!(failure_lines(&held_against(&golden, observed)), expected);
    };
    check(&[start(), turn(), end(json!({}))], &[]);
    check(&[start(), start(), end(json!({}))], &["should events"]);
    // The set of events is open, so an unknown event is permitted.
    check(&[start(), event(json!({"type": "unheard_of"})), end(json!({}))], &[]);
    check(&[turn(), end(json!({}))], &["should events"]);
}
