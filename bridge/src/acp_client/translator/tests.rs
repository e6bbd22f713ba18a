//! Tests of the conversion of a turn's updates.

use serde_json::json;

use super::*;

fn update(json: Value) -> AcpUpdate {
    serde_json::from_value(json).unwrap()
}

fn names(events: &[RemoteEvent]) -> Vec<String> {
    let name = |event: &RemoteEvent| match event {
        RemoteEvent::AnswerUpdated(event) => format!("{event:?}"),
        RemoteEvent::AnswerEnded(answer) => {
            format!("answered {} {:?}", answer.content.len(), answer.stop_reason)
        }
        RemoteEvent::ToolStarted(call) => {
            format!("began {} {}", call.name, Value::from(call.arguments.clone()))
        }
        RemoteEvent::ToolEnded(id, output) => format!("ended {id} {} {}", output.all_text(), output.is_error),
        other => format!("{other:?}"),
    };
    events.iter().map(name).map(|text| text.split([' ', '(']).take(4).collect::<Vec<_>>().join(" ")).collect()
}

fn all(turns: &mut UpdateTranslator, updates: &[Value]) -> Vec<RemoteEvent> {
    updates.iter().flat_map(|json| turns.translate(update(json.clone()))).collect()
}

#[test]
fn an_answer_ends_when_a_call_of_it_begins() {
    let mut turns = UpdateTranslator::default();
    let events = all(
        &mut turns,
        &[
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "I look."}}),
            json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "ls", "kind": "execute", "status": "pending"}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "in_progress", "rawInput": {"command": "ls"}}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed",
                "content": [{"type": "content", "content": {"type": "text", "text": "a.rs"}}]}),
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Done."}}),
        ],
    );
    assert_eq!(
        names(&events),
        [
            "Start",
            "TextStart",
            "TextDelta \"I look.\")",
            "TextEnd",
            "ToolCallStart { id: \"c\",",
            "ToolCallDelta \"{\\\"command\\\":\\\"ls\\\"}\")",
            "ToolCallEnd",
            "answered 2 ToolUse",
            "began execute {\"command\":\"ls\"}",
            "ended c a.rs false",
            "Start",
            "TextStart",
            "TextDelta \"Done.\")",
        ]
    );
    let (events, aborted) = turns.end_turn(Ok(AcpPromptEnd::new(AcpStopReason::EndTurn)));
    assert_eq!((names(&events), aborted), (vec!["TextEnd".to_owned(), "answered 1 Stop".to_owned()], false));
}

#[test]
fn calls_side_by_side_belong_to_one_answer() {
    let mut turns = UpdateTranslator::default();
    let call = |id: &str, status: &str| json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": id, "status": status});
    let events = all(&mut turns, &[call("a", "pending"), call("b", "pending")]);
    assert_eq!(names(&events), ["Start"]);
    let mut began = call("a", "in_progress");
    began["sessionUpdate"] = "tool_call_update".into();
    let events = all(&mut turns, &[began, call("late", "in_progress")]);
    let answered = events.iter().filter(|event| matches!(event, RemoteEvent::AnswerEnded(_))).count();
    let begun: Vec<_> = events.iter().filter(|event| matches!(event, RemoteEvent::ToolStarted(_))).collect();
    assert_eq!((answered, begun.len()), (1, 2), "{events:#?}");
}

#[test]
fn a_failed_or_stopped_turn_reports_its_reason() {
    let ended = |ended| {
        let (events, aborted) = UpdateTranslator::default().end_turn(ended);
        let Some(RemoteEvent::AnswerEnded(answer)) = events.into_iter().last() else { panic!("no answer") };
        (answer.stop_reason, answer.error_message, aborted)
    };
    assert_eq!(ended(Err("no key".to_owned())), (StopReason::Error, Some("no key".to_owned()), false));
    let cancelled = ended(Ok(AcpPromptEnd::new(AcpStopReason::Cancelled)));
    assert_eq!(cancelled, (StopReason::Aborted, Some(ABORTED.to_owned()), true));
    assert_eq!(ended(Ok(AcpPromptEnd::new(AcpStopReason::Refusal))).0, StopReason::Error);
    assert!(UpdateTranslator::default().end_turn(Ok(AcpPromptEnd::new(AcpStopReason::EndTurn))).0.is_empty());
}

#[test]
fn a_turn_without_updates_has_an_empty_answer() {
    let mut turns = UpdateTranslator::default();
    turns.start_turn();
    let (events, _) = turns.end_turn(Ok(AcpPromptEnd::new(AcpStopReason::EndTurn)));
    assert_eq!(names(&events), ["answered 0 Stop"]);
    turns.start_turn();
    all(
        &mut turns,
        &[json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "ls", "status": "completed"})],
    );
    assert!(turns.end_turn(Ok(AcpPromptEnd::new(AcpStopReason::EndTurn))).0.is_empty());
}

#[test]
fn cached_tokens_and_reasoning_are_counted_once() {
    let counted = |usage: Value| {
        let usage = tokens(&serde_json::from_value(usage).unwrap());
        [usage.input, usage.output, usage.cache_read, usage.cache_write]
    };
    // Input and output contain the parts, or both parts are apart, or one of them.
    for (total, input, output) in [(1100, 1000, 100), (1100, 400, 70), (1100, 400, 100), (1100, 1000, 70)] {
        let usage = json!({"totalTokens": total, "inputTokens": input, "outputTokens": output,
            "thoughtTokens": 30, "cachedReadTokens": 500, "cachedWriteTokens": 100});
        assert_eq!(counted(usage), [400, 100, 500, 100], "{input} {output}");
    }
    assert_eq!(counted(json!({"totalTokens": 3, "inputTokens": 1, "outputTokens": 2})), [1, 2, 0, 0]);
    let without_total = json!({"inputTokens": 1, "outputTokens": 2, "cachedReadTokens": 3});
    assert_eq!(counted(without_total), [1, 2, 3, 0]);
}
