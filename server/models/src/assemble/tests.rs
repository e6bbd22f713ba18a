use agentese::types::{InputKind, ModelBuilder, ModelCostBuilder};
use serde_json::json;

use super::*;

fn model() -> Model {
    let free = || price::number(0.0);
    let cost =
        ModelCostBuilder { input: free(), output: free(), cache_read: free(), cache_write: free() }.build();
    ModelBuilder {
        id: "m".to_owned(),
        name: "M".to_owned(),
        api: "api".to_owned(),
        provider: "p".to_owned(),
        base_url: "".to_owned(),
        reasoning: true,
        input: vec![InputKind::Text],
        context_window: 1000,
        max_tokens: 100,
        cost,
    }
    .build()
}

fn call(assembler: &mut Assembler, text: &str) {
    assembler.apply(StreamEvent::ToolCallStart { id: "c".into(), name: "bash".into() });
    assembler.apply(StreamEvent::ToolCallDelta(text.into()));
    assembler.apply(StreamEvent::ToolCallEnd);
}

#[test]
fn blocks_grow_one_after_the_other() {
    let mut assembler = Assembler::new(&model(), 7);
    assert_eq!(assembler.apply(StreamEvent::ThinkingStart), Some(Update::ThinkingStart { index: 0 }));
    assembler.apply(StreamEvent::ThinkingDelta("hm".into()));
    assembler.apply(StreamEvent::ThinkingEnd { signature: Some("sig".into()) });
    assembler.apply(StreamEvent::TextStart);
    assert_eq!(
        assembler.apply(StreamEvent::TextDelta("hi".into())),
        Some(Update::TextDelta { index: 1, delta: "hi".into() })
    );
    assembler.apply(StreamEvent::TextEnd);
    call(&mut assembler, r#"{"command": "ls"}"#);
    let answer = assembler.done(FinishReason::ToolUse);
    assert!(answer.unusable.is_empty());
    assert_eq!(
        serde_json::to_value(&answer.message.content).unwrap(),
        json!([
            {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
            {"type": "text", "text": "hi"},
            {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": "ls"}},
        ])
    );
}

#[test]
fn details_of_the_provider_are_included_on_request() {
    let counts = TokenCounts { cache_write_hour: Some(4), reasoning: Some(2), ..TokenCounts::default() };
    for kept in [true, false] {
        let mut assembler = Assembler::new(&model(), 7).with_details(kept);
        assembler.apply(StreamEvent::Id("msg_1".into()));
        assembler.apply(StreamEvent::Usage(counts));
        assembler.apply(StreamEvent::RawStopReason("end_turn".into()));
        let message = serde_json::to_value(assembler.done(FinishReason::Stop).message).unwrap();
        let found = [
            &message["responseId"],
            &message["rawStopReason"],
            &message["usage"]["cacheWrite1h"],
            &message["usage"]["reasoning"],
            &message["usage"]["cost"]["totalFromProvider"],
        ];
        let expected = json!(["msg_1", "end_turn", 4, 2, false]);
        assert_eq!(json!(found), if kept { expected } else { json!([null, null, null, null, null]) });
    }
}

#[test]
fn a_call_whose_arguments_are_not_whole_is_not_executed() {
    for (text, reason, expected) in [
        (r#"{"command": "echo hel"#, FinishReason::Length, Some("output limit")),
        (r#"{"command": "echo hello"}"#, FinishReason::Length, None),
        (r#"{"command": "echo hel"#, FinishReason::ToolUse, Some("cut off before their end")),
        (r#"{"command": "echo hel"#, FinishReason::Stop, Some("cut off before their end")),
        (r#"{"command": "echo hello"}"#, FinishReason::ToolUse, None),
        (r#""{\"command\": \"ls\"}""#, FinishReason::ToolUse, None),
        ("[1]", FinishReason::ToolUse, Some("not a JSON object")),
        ("nonsense", FinishReason::ToolUse, Some("not valid JSON")),
        ("", FinishReason::Length, None),
        ("", FinishReason::ToolUse, None),
    ] {
        let mut assembler = Assembler::new(&model(), 7);
        call(&mut assembler, text);
        let answer = assembler.done(reason);
        let found = answer
            .unusable
            .first()
            .map(|call| (call.id.as_str(), call.reason.contains(expected.unwrap_or(" "))));
        assert_eq!(found, expected.map(|_| ("c", true)), "{text}: {:?}", answer.unusable);
    }
}

#[test]
fn fm_f66_calls_stay_apart_and_their_arguments_are_objects() {
    let mut assembler = Assembler::new(&model(), 7);
    for (id, text) in
        [("c", "{}"), ("c", "[1]"), ("", "nonsense"), ("", r#"{"a": "\ud800"}"#), ("c", "{\"b\": [1, 2")]
    {
        assembler.apply(StreamEvent::ToolCallStart { id: id.into(), name: "bash".into() });
        assembler.apply(StreamEvent::ToolCallDelta(text.into()));
        assembler.apply(StreamEvent::ToolCallEnd);
    }
    for _ in 0..1000 {
        call(&mut assembler, "{}");
    }
    let message = assembler.done(FinishReason::ToolUse).message;
    let calls: Vec<_> = message
        .content
        .iter()
        .filter_map(|block| match block {
            AssistantBlock::ToolCall(call) => Some((call.id.as_str(), json!(call.arguments))),
            _ => None,
        })
        .collect();
    assert_eq!(
        calls[..5],
        [
            ("c", json!({})),
            ("c_2", json!({})),
            ("call_3", json!({})),
            ("call_4", json!({"a": "\u{fffd}"})),
            ("c_5", json!({"b": [1, 2]})),
        ]
    );
    let ids: std::collections::HashSet<_> = calls.iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), 1005);
}

#[test]
fn marks_belong_to_the_block_that_is_open() {
    let mut assembler = Assembler::new(&model(), 7);
    assembler.apply(StreamEvent::Signature("lost".into()));
    for event in [
        StreamEvent::ThinkingStart,
        StreamEvent::Signature("early".into()),
        StreamEvent::Redacted,
        StreamEvent::ThinkingEnd { signature: None },
        StreamEvent::TextStart,
        StreamEvent::Signature("text".into()),
        StreamEvent::TextEnd,
    ] {
        assembler.apply(event);
    }
    assembler.apply(StreamEvent::ToolCallStart { id: "c".into(), name: "bash".into() });
    assembler.apply(StreamEvent::Signature("call".into()));
    let message = assembler.done(FinishReason::Stop).message;
    assert_eq!(
        serde_json::to_value(&message.content).unwrap(),
        json!([
            {"type": "thinking", "thinking": "", "thinkingSignature": "early", "redacted": true},
            {"type": "text", "text": "", "textSignature": "text"},
            {"type": "toolCall", "id": "c", "name": "bash", "arguments": {}, "thoughtSignature": "call"},
        ])
    );
}

#[test]
fn deltas_without_their_block_change_nothing() {
    let mut assembler = Assembler::new(&model(), 7);
    assert_eq!(assembler.apply(StreamEvent::TextDelta("lost".into())), None);
    assembler.apply(StreamEvent::TextStart);
    assert_eq!(assembler.apply(StreamEvent::ThinkingDelta("lost".into())), None);
    assert_eq!(assembler.apply(StreamEvent::ToolCallEnd), None);
    let answer = assembler.aborted("Request was aborted.");
    assert_eq!(answer.message.stop_reason, StopReason::Aborted);
    assert_eq!(serde_json::to_value(&answer.message.content).unwrap(), json!([{"type": "text", "text": ""}]));
}
