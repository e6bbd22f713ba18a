//! Tests of questions that a server sends to its client.

use std::sync::Arc;
use std::time::Duration;

use agentese::pi::{InputReceipt, NotifyNotice, Pi, PromptParams, SelectDialog, Service};
use agentese::serve::{Call, CommandError, Options};
use serde_json::json;

use crate::service::{start, within};

/// Service that sends a question, and reports the answer in its response.
struct AskingService {
    timeout: Option<Duration>,
}

impl Service for AskingService {
    async fn prompt(
        &self,
        _: PromptParams,
        call: Call<Pi, Option<InputReceipt>>,
    ) -> Result<Option<InputReceipt>, CommandError> {
        call.emitter().notify(NotifyNotice::new("asking"));
        let dialog = SelectDialog::new("Go?", vec!["Yes".to_owned(), "No".to_owned()]);
        let answer: Option<String> = call.emitter().ask(dialog, self.timeout).await;
        Err(CommandError::new(answer.map_or("nothing".to_owned(), |value| format!("{value:?}"))))
    }
}

#[tokio::test]
async fn a_question_waits_for_its_own_answer() {
    let mut wire = start::<Pi, AskingService>(Arc::new(AskingService { timeout: None }), Options::default());
    let notice = wire.request(r#"{"id":1,"type":"prompt","message":"x"}"#).await;
    assert_eq!((&notice["method"], &notice["message"]), (&json!("notify"), &json!("asking")));
    let question = wire.receive().await;
    assert_eq!((&question["type"], &question["method"]), (&json!("extension_ui_request"), &json!("select")));
    let id = question["id"].as_str().unwrap().to_owned();
    // Answers to other questions are ignored (F127), and so is an answer without an id.
    wire.send(r#"{"type":"extension_ui_response","id":"forged","value":"No"}"#).await;
    wire.send(r#"{"type":"extension_ui_response","value":"No"}"#).await;
    wire.send(&json!({"type": "extension_ui_response", "id": id, "value": "Yes"}).to_string()).await;
    wire.send(&json!({"type": "extension_ui_response", "id": id, "value": "twice"}).to_string()).await;
    assert_eq!(wire.receive().await["error"], "\"Yes\"");
}

#[tokio::test]
async fn a_question_resolves_to_none_after_its_timeout() {
    let asks = AskingService { timeout: Some(Duration::from_millis(20)) };
    let mut wire = start::<Pi, AskingService>(Arc::new(asks), Options::default());
    wire.request(r#"{"id":1,"type":"prompt","message":"x"}"#).await;
    let question = wire.receive().await;
    assert_eq!(wire.receive().await["error"], "nothing");
    // The late answer is ignored.
    let id = question["id"].as_str().unwrap();
    wire.send(&json!({"type": "extension_ui_response", "id": id, "value": "late"}).to_string()).await;
    assert_eq!(wire.request(r#"{"id":2,"type":"nope"}"#).await["id"], 2);
}

#[tokio::test]
async fn the_end_of_input_dismisses_open_questions() {
    let mut wire = start::<Pi, AskingService>(Arc::new(AskingService { timeout: None }), Options::default());
    wire.request(r#"{"id":1,"type":"prompt","message":"x"}"#).await;
    wire.receive().await;
    tokio::io::AsyncWriteExt::shutdown(&mut wire.writer).await.unwrap();
    assert_eq!(wire.receive().await["error"], "nothing");
    within("the end", wire.served).await.unwrap();
}

#[tokio::test]
async fn an_answer_that_is_too_long_or_broken_ends_the_question() {
    let mut options = Options::default();
    options.max_line = 1000;
    let mut wire = start::<Pi, AskingService>(Arc::new(AskingService { timeout: None }), options);
    for (number, value) in
        [(1, "\"".to_owned() + &"x".repeat(5000) + "\""), (2, "\"x".to_owned()), (3, "[".repeat(200))]
    {
        wire.request(&format!(r#"{{"id":{number},"type":"prompt","message":"x"}}"#)).await;
        let question = wire.receive().await;
        let id = question["id"].as_str().unwrap();
        wire.send(&format!(r#"{{"type":"extension_ui_response","id":"{id}","value":{value}}}"#)).await;
        // Both the line and the prompt are answered, in any order.
        let answers = [wire.receive().await, wire.receive().await];
        let of_prompt = answers.iter().find(|answer| answer["command"] == "prompt");
        assert_eq!(of_prompt.map(|answer| &answer["error"]), Some(&json!("nothing")), "{answers:?}");
        assert!(answers.iter().any(|answer| answer["command"] == "parse"), "{answers:?}");
    }
}

#[tokio::test]
async fn a_broken_line_that_names_no_question_ends_none() {
    let mut wire = start::<Pi, AskingService>(Arc::new(AskingService { timeout: None }), Options::default());
    wire.request(r#"{"id":1,"type":"prompt","message":"x"}"#).await;
    let question = wire.receive().await;
    let id = question["id"].as_str().unwrap();
    assert_eq!(wire.request("{\"type\":").await["command"], "parse");
    // A frame that names a command is not an answer, independent of its id.
    assert_eq!(wire.request(&json!({"type": "nope", "id": id}).to_string()).await["command"], "nope");
    wire.send(&json!({"type": "extension_ui_response", "id": id, "value": "Yes"}).to_string()).await;
    assert_eq!(wire.receive().await["error"], "\"Yes\"");
}

/// Only the line's own id identifies a question, never an id inside a quoted text. This also applies to
/// unreadable lines.
#[tokio::test]
async fn a_broken_line_ends_the_question_that_it_names_itself() {
    let mut options = Options::default();
    options.max_line = 2000;
    let mut wire = start::<Pi, AskingService>(Arc::new(AskingService { timeout: None }), options);
    wire.request(r#"{"id":1,"type":"prompt","message":"x"}"#).await;
    let question = wire.receive().await;
    let id = question["id"].as_str().unwrap();
    let long = "x".repeat(3000);
    for quoting in [
        // A broken command, broken text, and another answer that quote the id.
        format!(r#"{{"id":"2","type":"prompt","message":"about \"{id}\" {{"id":"{id}"}}"#),
        format!(r#"{{"type":"extension_ui_response","value":["{id}"#),
        format!(r#"{{"type":"extension_ui_response","value":{{"id":"{id}"}},"#),
        format!(r#"DEBUG {{"type":"extension_ui_response","id":"{id}","value":"#),
        // Skipped lines: a command, the answer to another question, and text that is no frame.
        format!(r#"{{"id":"3","type":"prompt","message":"{long}"}}"#),
        format!(r#"{{"type":"extension_ui_response","id":"another","value":"{long}"}}"#),
        long.clone(),
    ] {
        assert_eq!(wire.request(&quoting).await["command"], "parse", "{quoting:.80}");
    }
    // If the id of a skipped answer is not visible, the oldest question is the best guess.
    wire.send(&format!(r#"{{"type":"extension_ui_response","value":"{long}","id":"{id}"}}"#)).await;
    let answers = [wire.receive().await, wire.receive().await];
    assert!(answers.iter().any(|answer| answer["error"] == "nothing"), "{answers:?}");
}
