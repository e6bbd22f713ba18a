//! Questions of a server to its client.

use std::sync::Arc;
use std::time::Duration;

use agentese::pi::{NotifyNotice, Pi, PromptParams, SelectDialog, Service, WordsTaken};
use agentese::serve::{Call, Options, Refusal};
use serde_json::json;

use crate::service::{start, within};

/// Asks, and tells what it heard in its answer.
struct Asks {
    timeout: Option<Duration>,
}

impl Service for Asks {
    async fn prompt(
        &self,
        _: PromptParams,
        call: Call<Pi, Option<WordsTaken>>,
    ) -> Result<Option<WordsTaken>, Refusal> {
        call.emitter().notify(NotifyNotice::new("asking"));
        let dialog = SelectDialog::new("Go?", vec!["Yes".to_owned(), "No".to_owned()]);
        let answer: Option<String> = call.emitter().ask(dialog, self.timeout).await;
        Err(Refusal::new(answer.map_or("nothing".to_owned(), |value| format!("{value:?}"))))
    }
}

#[tokio::test]
async fn a_question_waits_for_its_own_answer() {
    let mut wire = start::<Pi, Asks>(Arc::new(Asks { timeout: None }), Options::default());
    let notice = wire.ask(r#"{"id":1,"type":"prompt","message":"x"}"#).await;
    assert_eq!((&notice["method"], &notice["message"]), (&json!("notify"), &json!("asking")));
    let question = wire.hear().await;
    assert_eq!((&question["type"], &question["method"]), (&json!("extension_ui_request"), &json!("select")));
    let id = question["id"].as_str().unwrap().to_owned();
    // Answers to other questions are ignored (F127), and so is one without an id.
    wire.say(r#"{"type":"extension_ui_response","id":"forged","value":"No"}"#).await;
    wire.say(r#"{"type":"extension_ui_response","value":"No"}"#).await;
    wire.say(&json!({"type": "extension_ui_response", "id": id, "value": "Yes"}).to_string()).await;
    wire.say(&json!({"type": "extension_ui_response", "id": id, "value": "twice"}).to_string()).await;
    assert_eq!(wire.hear().await["error"], "\"Yes\"");
}

#[tokio::test]
async fn a_question_resolves_to_nothing_when_its_time_is_up() {
    let asks = Asks { timeout: Some(Duration::from_millis(20)) };
    let mut wire = start::<Pi, Asks>(Arc::new(asks), Options::default());
    wire.ask(r#"{"id":1,"type":"prompt","message":"x"}"#).await;
    let question = wire.hear().await;
    assert_eq!(wire.hear().await["error"], "nothing");
    // The late answer is ignored.
    let id = question["id"].as_str().unwrap();
    wire.say(&json!({"type": "extension_ui_response", "id": id, "value": "late"}).to_string()).await;
    assert_eq!(wire.ask(r#"{"id":2,"type":"nope"}"#).await["id"], 2);
}

#[tokio::test]
async fn the_end_of_input_dismisses_open_questions() {
    let mut wire = start::<Pi, Asks>(Arc::new(Asks { timeout: None }), Options::default());
    wire.ask(r#"{"id":1,"type":"prompt","message":"x"}"#).await;
    wire.hear().await;
    tokio::io::AsyncWriteExt::shutdown(&mut wire.writer).await.unwrap();
    assert_eq!(wire.hear().await["error"], "nothing");
    within("the end", wire.served).await.unwrap();
}
