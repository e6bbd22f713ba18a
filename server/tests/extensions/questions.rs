//! Tests of questions that extensions send before an operation of the user, and of their withdrawal.

use serde_json::{Value, json};

use super::host::{agent, check_runs, plain};
use crate::support::process::{Agent, Place};

/// Waits for the first question after `before` earlier questions. Returns it.
#[track_caller]
fn question(agent: &mut Agent, before: usize, title: &str) -> Value {
    let is_one = |frame: &&Value| frame["method"] == "confirm";
    while agent.seen.iter().filter(is_one).count() <= before {
        agent.next().expect("the question comes");
    }
    let dialog = agent.seen.iter().filter(is_one).nth(before).unwrap().clone();
    assert_eq!(dialog["title"], title);
    dialog
}

/// Returns the frames up to the last of the wanted ones. `wanted` contains ids of responses and texts of notices.
fn frames_until(agent: &mut Agent, wanted: &[&str]) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    agent.until("the last of them", |frame| {
        if wanted.iter().any(|wanted| frame["id"] == *wanted || frame["message"] == *wanted) {
            found.push(frame.clone());
        }
        found.len() == wanted.len()
    });
    let place = |frame: &Value| wanted.iter().position(|it| frame["id"] == *it || frame["message"] == *it);
    found.sort_by_key(place);
    found
}

/// Creates a session with one prompt. Returns the id of the prompt's entry.
fn session_with_prompt(agent: &mut Agent) -> Value {
    agent.prompt("quick");
    agent.until_event("agent_end");
    agent.request(json!({"type": "get_fork_messages"}))["data"]["messages"][0]["entryId"].clone()
}

#[test]
fn fm_f49_abort_withdraws_the_question_before_a_prompt() {
    let place = Place::new();
    let mut agent = agent(&place, &["before"], plain());
    agent.prompt("words");
    let dialog = question(&mut agent, 0, "input");
    agent.send(json!({"id": "abort", "type": "abort"}));
    let frames = frames_until(&mut agent, &["words", "abort", "taken back input"]);
    assert_eq!(
        (&frames[0]["success"], &frames[0]["error"], &frames[1]["success"]),
        (&json!(false), &json!("it was aborted before it started"), &json!(true))
    );
    // The late answer belongs to no question, and the next prompt opens a new one.
    agent.answer(&dialog, "confirmed", true);
    agent.prompt("more");
    let dialog = question(&mut agent, 1, "input");
    agent.answer(&dialog, "confirmed", true);
    agent.until_event("agent_end");
    assert_eq!(agent.request(json!({"type": "get_state"}))["data"]["messageCount"], 2);
    assert_eq!((check_runs(&agent.seen), agent.failures()), (1, Vec::new()));
}

#[test]
fn fm_f49_abort_withdraws_the_question_before_a_session_switch() {
    let place = Place::new();
    let mut agent = agent(&place, &["before"], plain());
    let entry = session_with_prompt(&mut agent);
    let before = agent.request(json!({"type": "get_state"}))["data"].clone();
    let other = place.put("work/other.jsonl", "");
    let cases = [
        ("session_before_switch", json!({"id": "c", "type": "new_session"})),
        ("session_before_switch", json!({"id": "c", "type": "switch_session", "sessionPath": other})),
        ("session_before_fork", json!({"id": "c", "type": "fork", "entryId": entry})),
        ("session_before_compact", json!({"id": "c", "type": "compact"})),
    ];
    for (round, (title, command)) in cases.into_iter().enumerate() {
        agent.send(command.clone());
        question(&mut agent, round, title);
        agent.send(json!({"id": "abort", "type": "abort"}));
        let frames = frames_until(&mut agent, &["c", "abort", &format!("taken back {title}")]);
        match frames[0]["success"] == true {
            true => assert_eq!(frames[0]["data"]["cancelled"], true, "{command}"),
            false => assert_eq!(frames[0]["error"], "Compaction cancelled", "{command}"),
        }
        assert_eq!(frames[1]["success"], true);
        assert_eq!(agent.request(json!({"type": "get_state"}))["data"], before, "{command}");
    }
    assert_eq!(agent.failures(), Vec::<&Value>::new());
}

#[test]
fn fm_f49_session_switch_withdraws_the_question_before_a_prompt() {
    let place = Place::new();
    let mut agent = agent(&place, &["before"], plain());
    agent.prompt("words");
    question(&mut agent, 0, "input");
    // The second command does not wait for the answer, but opens its own question.
    agent.send(json!({"id": "first", "type": "new_session"}));
    let frames = frames_until(&mut agent, &["words", "taken back input"]);
    assert_eq!(frames[0]["error"], "it was aborted before it started");
    question(&mut agent, 1, "session_before_switch");
    // The third command does not wait either.
    agent.send(json!({"id": "second", "type": "new_session"}));
    let frames = frames_until(&mut agent, &["first", "taken back session_before_switch"]);
    assert_eq!(frames[0]["data"], json!({"cancelled": true}));
    let dialog = question(&mut agent, 2, "session_before_switch");
    agent.answer(&dialog, "confirmed", true);
    assert_eq!(frames_until(&mut agent, &["second"])[0]["data"], json!({"cancelled": false}));
    assert_eq!(agent.request(json!({"type": "get_state"}))["data"]["messageCount"], 0);
}

#[test]
fn session_switch_keeps_an_earlier_prompt_without_a_question() {
    let place = Place::new();
    let mut agent = agent(&place, &["before"], plain());
    agent.prompt("quick");
    agent.send(json!({"id": "new", "type": "new_session"}));
    let answer = agent.until("the answer", |frame| frame["id"] == "quick").pop().unwrap();
    assert_eq!(answer["success"], true, "{answer}");
    let dialog = question(&mut agent, 0, "session_before_switch");
    agent.answer(&dialog, "confirmed", true);
    assert_eq!(frames_until(&mut agent, &["new"])[0]["data"], json!({"cancelled": false}));
}

#[test]
fn fm_f92_disconnected_client_has_not_answered() {
    let place = Place::new();
    let mut agent = agent(&place, &["before"], plain());
    agent.prompt("words");
    question(&mut agent, 0, "input");
    agent.close_stdin();
    // The started operation finishes as if the question were dismissed.
    let frames = agent.until_event("agent_end");
    assert_eq!(frames.last().unwrap()["messages"][0]["content"][0]["text"], "unsure words");
    while agent.next().is_some() {}
    assert_eq!(agent.wait().code(), Some(0));
    // A pending switch of the session does not happen.
    let mut agent = super::host::agent(&place, &["before"], plain());
    agent.send(json!({"id": "new", "type": "new_session"}));
    question(&mut agent, 0, "session_before_switch");
    agent.close_stdin();
    assert_eq!(frames_until(&mut agent, &["new"])[0]["data"], json!({"cancelled": true}));
    while agent.next().is_some() {}
    assert_eq!(agent.wait().code(), Some(0));
}
