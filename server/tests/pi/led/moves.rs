//! Switches between sessions of the remote agent, and input without a queue.

use agentese::operator::Operator;

use super::*;

#[tokio::test]
async fn sessions_are_moved_there_and_taken_over() {
    let (mut link, other, _place) = pair(vec![run(says("one")), run(says("two"))]);
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
    assert_eq!(other.asked()[2..], ["fork 1 second", "new", "compact Some(\"short\")"]);
    // An unsupported command is rejected with the reason.
    let answer = link.ask(json!({"type": "bash", "command": "true"})).await;
    assert_eq!(answer["error"], "the agent behind this one cannot run commands of the user");
}

#[tokio::test]
async fn a_fork_stops_what_is_going_on_before_the_other_agent_is_asked() {
    let begun = [vec![Deed::RunBegan], says("two")[..3].to_vec()].concat();
    let (mut link, other, _place) = pair(vec![run(says("one")), begun]);
    link.run("first").await;
    let points = link.data(json!({"type": "get_fork_messages"})).await;
    link.send(json!({"id": "run", "type": "prompt", "message": "second"})).await;
    link.until_event("message_update").await;
    *other.when_stopped.lock().unwrap() =
        vec![Deed::RunOver { will_retry: false }, Deed::Rested { aborted: true }];
    link.data(json!({"type": "fork", "entryId": points["messages"][0]["entryId"]})).await;
    assert_eq!(other.asked()[2..], ["abort", "fork 0 first"]);
    let ends = link.seen.iter().filter(|frame| frame["type"] == "agent_end").count();
    assert_eq!(ends, 2, "both runs are over: {:?}", link.seen);
}

/// Returns the ids of the reported messages in order.
fn ids(link: &Link) -> Vec<Value> {
    let told = link.seen.iter().map(|frame| frame.get("event").unwrap_or(frame));
    let ended = told.filter(|event| event["type"] == "message_end");
    ended.map(|event| event["message"]["id"].clone()).filter(Value::is_string).collect()
}

#[tokio::test]
async fn the_other_agent_goes_back_only_to_before_a_message_of_the_user() {
    let mut first = calls();
    first.push(Deed::ToolEnded("c1".to_owned(), ToolOutput::text("whole")));
    first.extend(says("one"));
    let (builder, other, _place) = led(vec![run(first), run(says("two"))]);
    let mut link = Link::speaking::<Operator>(builder);
    for words in ["first", "second"] {
        link.data(json!({"type": "prompt", "text": words})).await;
    }
    let ids = ids(&link);
    let [call, result, one, two] = &ids[..] else { panic!("{ids:?}") };
    // The session is already at this entry.
    link.data(json!({"type": "fork", "entry_id": two})).await;
    for entry in [call, result] {
        let refused = link.ask(json!({"type": "fork", "entry_id": entry})).await;
        assert_eq!(refused["error"], "the agent can only go back to before a message of the user");
    }
    assert_eq!(other.asked().len(), 2, "{:?}", other.asked());
    link.data(json!({"type": "fork", "entry_id": one})).await;
    assert_eq!(other.asked()[2..], ["fork 1 second"]);
}

#[tokio::test]
async fn words_that_the_queues_have_no_room_for_are_not_handed_over() {
    let (mut link, other, _place) = pair(vec![vec![Deed::RunBegan]]);
    link.send(json!({"type": "prompt", "message": "hello"})).await;
    link.until_event("agent_start").await;
    let long = "x".repeat(33 << 20);
    link.data(json!({"type": "steer", "message": long})).await;
    assert_eq!(other.asked().len(), 2);
    for command in [
        json!({"type": "steer", "message": long}),
        json!({"type": "follow_up", "message": long}),
        json!({"type": "prompt", "message": long, "streamingBehavior": "steer"}),
    ] {
        let refused = link.ask(command).await;
        let error = refused["error"].as_str().unwrap();
        assert!(error.contains("wait already"), "{error}");
    }
    assert_eq!(other.asked().len(), 2, "the other agent does not have them");
}

/// Returns the remote events for queued input, followed by an event that proves their processing.
fn told_of(words: &str) -> [Deed; 2] {
    let failed = Deed::Failed { who: "x".to_owned(), doing: String::new(), error: "no".to_owned() };
    [user(words), failed]
}

#[tokio::test]
async fn words_that_no_run_follows_stand_in_the_conversation_when_the_other_agent_compacts_or_is_gone() {
    let compacts = Deed::CompactionBegan(agentese::types::CompactionReason::Threshold);
    for behind in [Deed::Gone("it left".to_owned()), compacts] {
        let (mut link, other, _place) = pair(Vec::new());
        other.does([user("later"), behind]);
        link.until_event("message_end").await;
        let messages = link.data(json!({"type": "get_messages"})).await;
        assert_eq!(roles(&messages["messages"]), ["user"]);
    }
}

#[tokio::test]
async fn words_that_no_run_follows_stay_behind_in_the_session_that_is_left() {
    let (mut link, other, _place) = pair(vec![run(says("hi"))]);
    other.does(told_of("later"));
    link.until_event("extension_error").await;
    link.data(json!({"type": "new_session"})).await;
    assert_eq!(link.data(json!({"type": "get_state"})).await["messageCount"], 0);
    let events = link.run("go").await;
    assert_eq!(roles(&events.last().unwrap()["messages"]), ["user", "assistant"]);
}
