//! Tests of tool calls that need approval.

use agentese_server::config::{ApprovalSettings, Settings};
use serde_json::{Value, json};

use crate::support::link::{Link, builder};

/// Starts an agent whose model reads a file, then runs a command that creates the file `ran`. Calls of `bash` need
/// approval.
fn link_with_approval(timeout_ms: u64) -> (Link, tempfile::TempDir) {
    let call = |name: &str, arguments: Value| json!({"tool": {"name": name, "args": arguments}});
    let script = json!({"responses": [
        {"blocks": [call("read", json!({"path": "known"})), call("bash", json!({"command": "touch ran", "timeout": 9}))]},
    ], "default": {"text": "done"}});
    let (builder, place) = builder(script);
    std::fs::write(place.path().join("known"), "text").unwrap();
    let approval = ApprovalSettings { tools: vec!["bash".to_owned()], timeout_ms };
    let settings = Settings { approval, ..Settings::default() };
    (Link::serving(builder.settings(settings).build()), place)
}

async fn next_question(link: &mut Link) -> Value {
    link.send(json!({"id": "run", "type": "prompt", "message": "go"})).await;
    link.until_event("extension_ui_request").await.pop().unwrap()
}

async fn answer(link: &mut Link, question: &Value, member: &str, value: Value) {
    let mut answer = json!({"type": "extension_ui_response", "id": question["id"]});
    answer[member] = value;
    link.send(answer).await;
}

/// Returns the result of the command as the model receives it, after the end of the run.
async fn call_result(link: &mut Link) -> String {
    let frames = link.until_event("agent_end").await;
    let ends: Vec<_> = frames.iter().filter(|frame| frame["type"] == "tool_execution_end").collect();
    assert_eq!(ends.last().unwrap()["toolName"], "bash");
    ends.last().unwrap()["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_call_waits_for_a_yes_and_other_tools_do_not() {
    let (mut link, place) = link_with_approval(60_000);
    let question = next_question(&mut link).await;
    let read = link.seen.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
    assert_eq!((&read["toolName"], &read["isError"]), (&json!("read"), &json!(false)));
    let mut shown = question.clone();
    shown.as_object_mut().unwrap().shift_remove("id");
    let expected = json!({
        "type": "extension_ui_request", "method": "confirm", "title": "Allow bash?",
        "message": "command: touch ran\ntimeout: 9", "timeout": 60_000,
    });
    assert_eq!(shown, expected);
    assert!(!place.path().join("ran").exists());
    answer(&mut link, &question, "confirmed", json!(true)).await;
    call_result(&mut link).await;
    assert!(place.path().join("ran").exists());
}

#[tokio::test]
async fn any_answer_except_yes_rejects_the_call() {
    for (member, value, why) in [
        ("confirmed", json!(false), "the user rejected it"),
        ("cancelled", json!(true), "the user rejected it"),
        ("value", json!("yes"), "the answer was neither yes nor no"),
    ] {
        let (mut link, place) = link_with_approval(0);
        let question = next_question(&mut link).await;
        assert_eq!(question.get("timeout"), None);
        answer(&mut link, &question, member, value).await;
        assert_eq!(call_result(&mut link).await, format!("The call was not approved: {why}."));
        assert!(!place.path().join("ran").exists());
    }
}

#[tokio::test]
async fn without_an_answer_the_call_is_refused() {
    let (mut link, place) = link_with_approval(1);
    let question = next_question(&mut link).await;
    assert_eq!(call_result(&mut link).await, "The call was not approved: no answer arrived in time.");
    // A late answer has no effect.
    answer(&mut link, &question, "confirmed", json!(true)).await;
    assert_eq!(link.state().await["isStreaming"], false);
    assert!(!place.path().join("ran").exists());
}

#[tokio::test]
async fn disconnected_client_rejects_the_call() {
    let (mut link, place) = link_with_approval(0);
    next_question(&mut link).await;
    let (rest, _) = link.finish().await;
    let end = rest.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
    assert_eq!(
        end["result"]["content"][0]["text"],
        "The call was not approved: the client has disconnected."
    );
    assert!(!place.path().join("ran").exists());
}

#[tokio::test]
async fn abort_withdraws_the_question() {
    let (mut link, place) = link_with_approval(0);
    let question = next_question(&mut link).await;
    assert_eq!(link.request(json!({"type": "abort"})).await["success"], true);
    answer(&mut link, &question, "confirmed", json!(true)).await;
    assert_eq!(link.state().await["isStreaming"], false);
    assert!(!place.path().join("ran").exists());
}
