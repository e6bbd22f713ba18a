//! Calls that start before their answer.

use super::*;

#[tokio::test]
async fn a_call_that_begins_before_its_answer_is_told_once_and_stands_in_it() {
    let second = ToolCall::new("c2", "their_tool", Map::new());
    let ended = |id: &str| Deed::ToolEnded(id.to_owned(), ToolOutput::text(format!("of {id}")));
    let mut deeds = calls();
    deeds.extend([
        Deed::ToolBegan(second.clone()),
        ended("c1"),
        Deed::Grew(StreamEvent::Start),
        Deed::Answered(Box::new(answer(vec![second.clone().into()], StopReason::ToolUse))),
        Deed::ToolBegan(second),
        ended("c2"),
    ]);
    deeds.extend(says("done"));
    let (mut link, _, _place) = pair(vec![run(deeds)]);
    // The first call has not ended when the second one starts.
    link.send(json!({"id": "run", "type": "prompt", "message": "hello"})).await;
    let events = link.until_event("agent_end").await;
    let calls = events.iter().filter(|event| event["toolCallId"].is_string());
    let calls: Vec<_> = calls.map(|event| format!("{} {}", event["type"], event["toolCallId"])).collect();
    let told = |what: &str, id: &str| format!("\"tool_execution_{what}\" \"{id}\"");
    let expected = [("start", "c1"), ("update", "c1"), ("start", "c2"), ("end", "c1"), ("end", "c2")];
    assert_eq!(calls, expected.map(|(what, id)| told(what, id)));
    let turns = events.iter().filter(|event| event["type"] == "turn_end");
    let results = |turn: &Value| turn["toolResults"][0]["content"][0]["text"].clone();
    assert_eq!(turns.map(results).collect::<Vec<_>>(), [json!("of c1"), json!("of c2"), Value::Null]);
    let messages = link.data(json!({"type": "get_messages"})).await;
    let expected = ["user", "assistant", "toolResult", "assistant", "toolResult", "assistant"];
    assert_eq!(roles(&messages["messages"]), expected);
}
