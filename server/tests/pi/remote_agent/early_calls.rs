//! Tests of calls that start before the answer that contains them.

use super::*;

#[tokio::test]
async fn early_call_is_reported_once_and_is_in_its_answer() {
    let second = ToolCall::new("c2", "their_tool", Map::new());
    let ended = |id: &str| RemoteEvent::ToolEnded(id.to_owned(), ToolOutput::text(format!("of {id}")));
    let mut remote_events = tool_call_events();
    remote_events.extend([
        RemoteEvent::ToolStarted(second.clone()),
        ended("c1"),
        RemoteEvent::AnswerUpdated(StreamEvent::Start),
        RemoteEvent::AnswerEnded(Box::new(answer(vec![second.clone().into()], StopReason::ToolUse))),
        RemoteEvent::ToolStarted(second),
        ended("c2"),
    ]);
    remote_events.extend(answer_events("done"));
    let (mut link, _, _place) = served_pair(vec![run_events(remote_events)]);
    // The first call has not ended when the second one starts.
    link.send(json!({"id": "run", "type": "prompt", "message": "hello"})).await;
    let events = link.until_event("agent_end").await;
    let calls = events.iter().filter(|event| event["toolCallId"].is_string());
    let calls: Vec<_> = calls.map(|event| format!("{} {}", event["type"], event["toolCallId"])).collect();
    let event_line = |what: &str, id: &str| format!("\"tool_execution_{what}\" \"{id}\"");
    let expected = [("start", "c1"), ("update", "c1"), ("start", "c2"), ("end", "c1"), ("end", "c2")];
    assert_eq!(calls, expected.map(|(what, id)| event_line(what, id)));
    let turns = events.iter().filter(|event| event["type"] == "turn_end");
    let results = |turn: &Value| turn["toolResults"][0]["content"][0]["text"].clone();
    assert_eq!(turns.map(results).collect::<Vec<_>>(), [json!("of c1"), json!("of c2"), Value::Null]);
    let messages = link.data(json!({"type": "get_messages"})).await;
    let expected = ["user", "assistant", "toolResult", "assistant", "toolResult", "assistant"];
    assert_eq!(roles(&messages["messages"]), expected);
}
