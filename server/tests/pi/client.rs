//! Tests of an agent with the typed client.

use agentese::pi::{Client, Event, StopReason};
use agentese::serve::ServeEnd;
use agentese::transport::memory_pair;
use agentese::types::AgentMessage;
use serde_json::json;

use crate::support::link::builder;
use crate::support::soon;

#[tokio::test]
async fn a_run_through_the_typed_client() {
    let (builder, _place) = builder(json!({"responses": [
        {"blocks": [{"text": "Looking."}, {"tool": {"name": "bash", "args": {"command": "echo found"}}}]},
        {"text": "Found it."},
    ]}));
    let (ours, theirs) = memory_pair(1 << 16);
    let served = tokio::spawn(builder.build().serve(theirs));
    let client = Client::connect(ours);
    let state = soon("the state", client.get_state()).await.unwrap();
    assert!(!state.is_streaming && state.model.as_option().is_some());
    let mut run = soon("the prompt", client.prompt("go")).await.unwrap();
    let mut text = String::new();
    let mut tools = 0;
    let mut last = None;
    while let Some(event) = soon("an event", run.next()).await {
        match event.unwrap() {
            Event::MessageUpdate(update) => {
                if let agentese::types::AssistantMessageEvent::TextDelta(delta) =
                    update.assistant_message_event
                {
                    text.push_str(&delta.delta);
                }
            }
            Event::ToolExecutionEnd(end) => tools += usize::from(!end.is_error),
            Event::AgentEnd(end) => last = end.messages.last().cloned(),
            _ => {}
        }
    }
    assert_eq!((text.as_str(), tools), ("Looking.Found it.", 1));
    assert!(matches!(last, Some(AgentMessage::Assistant(answer)) if answer.stop_reason == StopReason::Stop));
    let busy = soon("the session", client.new_session()).await.unwrap();
    assert!(!busy.cancelled);
    soon("the end", client.close()).await;
    assert_eq!(soon("serving", served).await.unwrap(), ServeEnd::EndOfInput);
}

#[tokio::test]
async fn a_client_that_vanishes_ends_the_work() {
    let (builder, _place) = builder(json!({"responses": [{"hang_after": 0}]}));
    let (ours, theirs) = memory_pair(1 << 16);
    let served = tokio::spawn(builder.build().serve(theirs));
    let client = Client::connect(ours);
    let run = soon("the prompt", client.prompt("go")).await.unwrap();
    soon("an abort", run.abort()).await.unwrap();
    drop((run, client));
    soon("serving", served).await.unwrap();
}
