//! Tests of switches between sessions of the remote agent, and of input that the agent cannot queue.

use agentese::operator::Operator;

use super::*;

#[tokio::test]
async fn session_switches_are_forwarded_and_adopted() {
    let (mut link, other, _place) =
        served_pair(vec![run_events(answer_events("one")), run_events(answer_events("two"))]);
    link.run("first").await;
    link.run("second").await;
    let points = link.data(json!({"type": "get_fork_messages"})).await;
    let second = points["messages"][1]["entryId"].clone();
    *other.history.lock().unwrap() = vec![UserMessage::new(InputContent::Text("first".to_owned()), 0).into()];
    let forked = link.data(json!({"type": "fork", "entryId": second})).await;
    assert_eq!((&forked["text"], &forked["cancelled"]), (&json!("second"), &json!(false)));
    assert_eq!(link.data(json!({"type": "get_state"})).await["messageCount"], 1);
    other.history.lock().unwrap().clear();
    link.data(json!({"type": "new_session"})).await;
    assert_eq!(link.data(json!({"type": "get_state"})).await["messageCount"], 0);
    let made = link.data(json!({"type": "compact", "customInstructions": "short"})).await;
    assert_eq!(made["summary"], "so far");
    assert_eq!(other.calls()[2..], ["fork 1 second", "new", "compact Some(\"short\")"]);
    // An unsupported command is rejected with the reason.
    let answer = link.request(json!({"type": "bash", "command": "true"})).await;
    assert_eq!(answer["error"], "the remote agent cannot run commands of the user");
}

#[tokio::test]
async fn fork_stops_the_current_work_before_the_remote_request() {
    let unfinished_run = [vec![RemoteEvent::RunStarted], answer_events("two")[..3].to_vec()].concat();
    let (mut link, other, _place) = served_pair(vec![run_events(answer_events("one")), unfinished_run]);
    link.run("first").await;
    let points = link.data(json!({"type": "get_fork_messages"})).await;
    link.send(json!({"id": "run", "type": "prompt", "message": "second"})).await;
    link.until_event("message_update").await;
    *other.abort_events.lock().unwrap() =
        vec![RemoteEvent::RunEnded { will_retry: false }, RemoteEvent::Settled { aborted: true }];
    link.data(json!({"type": "fork", "entryId": points["messages"][0]["entryId"]})).await;
    assert_eq!(other.calls()[2..], ["abort", "fork 0 first"]);
    let ends = link.seen.iter().filter(|frame| frame["type"] == "agent_end").count();
    assert_eq!(ends, 2, "both runs are over: {:?}", link.seen);
}

/// Returns the ids of the reported messages in order.
fn ids(link: &Link) -> Vec<Value> {
    let events = link.seen.iter().map(|frame| frame.get("event").unwrap_or(frame));
    let ended = events.filter(|event| event["type"] == "message_end");
    ended.map(|event| event["message"]["id"].clone()).filter(Value::is_string).collect()
}

#[tokio::test]
async fn remote_fork_ends_before_a_user_message() {
    let mut first = tool_call_events();
    first.push(RemoteEvent::ToolEnded("c1".to_owned(), ToolOutput::text("whole")));
    first.extend(answer_events("one"));
    let (builder, other, _place) =
        builder_with_remote(vec![run_events(first), run_events(answer_events("two"))]);
    let mut link = Link::for_dialect::<Operator>(builder);
    for words in ["first", "second"] {
        link.data(json!({"type": "prompt", "text": words})).await;
    }
    let ids = ids(&link);
    let [call, result, one, two] = &ids[..] else { panic!("{ids:?}") };
    // The session is already at this entry.
    link.data(json!({"type": "fork", "entry_id": two})).await;
    for entry in [call, result] {
        let refused = link.request(json!({"type": "fork", "entry_id": entry})).await;
        assert_eq!(refused["error"], "the agent can only return to a position before a user message");
    }
    assert_eq!(other.calls().len(), 2, "{:?}", other.calls());
    link.data(json!({"type": "fork", "entry_id": one})).await;
    assert_eq!(other.calls()[2..], ["fork 1 second"]);
}

#[tokio::test]
async fn input_beyond_the_queue_limit_is_not_forwarded() {
    let (mut link, other, _place) = served_pair(vec![vec![RemoteEvent::RunStarted]]);
    link.send(json!({"type": "prompt", "message": "hello"})).await;
    link.until_event("agent_start").await;
    let long = "x".repeat(33 << 20);
    link.data(json!({"type": "steer", "message": long})).await;
    assert_eq!(other.calls().len(), 2);
    for command in [
        json!({"type": "steer", "message": long}),
        json!({"type": "follow_up", "message": long}),
        json!({"type": "prompt", "message": long, "streamingBehavior": "steer"}),
    ] {
        let refused = link.request(command).await;
        let error = refused["error"].as_str().unwrap();
        assert!(error.contains("are queued"), "{error}");
    }
    assert_eq!(other.calls().len(), 2, "the other agent does not have them");
}

/// Returns the remote events for queued input. A last event shows that the earlier ones were processed.
fn queued_input_events(input: &str) -> [RemoteEvent; 2] {
    let failed = RemoteEvent::ExtensionFailed {
        extension: "x".to_owned(),
        event: String::new(),
        error: "no".to_owned(),
    };
    [user_event(input), failed]
}

#[tokio::test]
async fn input_without_a_run_is_in_the_conversation_after_compaction_or_disconnection() {
    let compacts = RemoteEvent::CompactionStarted(agentese::types::CompactionReason::Threshold);
    for behind in [RemoteEvent::Disconnected("it left".to_owned()), compacts] {
        let (mut link, other, _place) = served_pair(Vec::new());
        other.emit([user_event("later"), behind]);
        link.until_event("message_end").await;
        let messages = link.data(json!({"type": "get_messages"})).await;
        assert_eq!(roles(&messages["messages"]), ["user"]);
    }
}

#[tokio::test]
async fn input_without_a_run_stays_in_the_previous_session() {
    let (mut link, other, _place) = served_pair(vec![run_events(answer_events("hi"))]);
    other.emit(queued_input_events("later"));
    link.until_event("extension_error").await;
    link.data(json!({"type": "new_session"})).await;
    assert_eq!(link.data(json!({"type": "get_state"})).await["messageCount"], 0);
    let events = link.run("go").await;
    assert_eq!(roles(&events.last().unwrap()["messages"]), ["user", "assistant"]);
}
